"""At enormous n the uniform theory, derived differently, arrives at each asymptotic formula.

The distance falls like n^(-2 alpha) (one spike), n^(1 - 4 alpha) (the second) and by what the next
spike leaks in; exponents are chosen so that it is below 1e-3 at n = 10^11. This checks nu^2, the
weight w of the constant, the full residual and the degrees that are not learned.
"""

import pytest

import onegrad as og

LARGE = {"n": 10**11, "d": 5 * 10**10, "N": 75 * 10**9, "noise": 0.3, "ridge": 0.05}
pytestmark = pytest.mark.filterwarnings("ignore::onegrad.AssumptionWarning")


def assert_close(problem, theory, tolerance=1e-3):
    uniform, limit = og.predict(problem), og.predict(problem, theory=theory)
    untrained = og.predict(problem, theory="random-features")
    for name in ("train", "test"):
        drop = getattr(untrained, name) - getattr(limit, name)
        distance = abs(getattr(uniform, name) - getattr(limit, name))
        assert distance < tolerance * getattr(limit, name)
        assert distance < 0.02 * drop  # a lost correction would show in the drop


@pytest.mark.parametrize("weights", ["gaussian", "sphere"])
@pytest.mark.parametrize(
    ("activation", "alpha"), [("tanh", 0.2), ("tanh", 0.3), ("softplus", 0.17), ("softplus", 0.33)]
)
def test_staircase(activation, alpha, weights):
    problem = og.Problem(
        **LARGE, activation=activation, teacher="H1 + H2/sqrt(2)", alpha=alpha, weights=weights
    )
    assert_close(problem, "staircase")


@pytest.mark.parametrize("residual", ["labels", "full"])
@pytest.mark.parametrize("eta", [1.0, 3.0])
def test_constant_step(eta, residual):
    problem = og.Problem(**LARGE, activation="tanh", teacher="H1", eta=eta, residual=residual)
    assert_close(problem, "small-step")


@pytest.mark.parametrize("weights", ["gaussian", "sphere"])
@pytest.mark.parametrize("teacher", ["relu", "relu:raw"])
@pytest.mark.parametrize("activation", ["tanh", "relu"])
def test_untrained(activation, teacher, weights):
    problem = og.Problem(**LARGE, activation=activation, teacher=teacher, weights=weights)
    uniform, limit = og.predict(problem), og.predict(problem, theory="random-features")
    assert uniform.train == pytest.approx(limit.train, rel=1e-5)
    assert uniform.test == pytest.approx(limit.test, rel=1e-5)
