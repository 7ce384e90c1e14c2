"""As n grows the uniform theory becomes each published one: same drops, not only same levels."""

import pytest

from onegrad import Problem
from onegrad.theory import predict as theory
from uniform_point import uniform_point

CUBIC = "H1/sqrt(3) + H2/sqrt(6) + H3/sqrt(18)"
TEACHER = "H1 + H2/sqrt(2) + H3/sqrt(6)"


def problem(n, **changes):
    base = {"activation": "tanh", "teacher": TEACHER, "noise": 0.3, "ridge": 0.05}
    return Problem(n=n, d=n // 2, N=2 * n // 3, **(base | changes))


def drops(p, name):
    """Drop of (train, test) from the untrained network: uniform over published theory."""
    ours, ours_0 = uniform_point(p, rtol=1e-8), uniform_point(p.replace(eta=0.0), rtol=1e-8)
    limit, limit_0 = theory(p, theory=name), theory(p, theory="random-features")
    return (
        (ours_0.train - ours.train) / (limit_0.train - limit.train),
        (ours_0.test - ours.test) / (limit_0.test - limit.test),
    )


@pytest.mark.parametrize("activation", ["tanh", "relu", CUBIC])
@pytest.mark.parametrize(
    "changes",
    [{"residual": "labels"}, {"residual": "full"}, {"teacher": "relu:raw", "weights": "sphere"},
     {"teacher": "relu:raw"}],
    ids=str,
)  # fmt: skip
def test_no_step_is_random_features_up_to_one_over_d(activation, changes):
    for n, tolerance in [(10**4, 2e-3), (10**8, 2e-7)]:
        p = problem(n, activation=activation, **changes)
        ours, limit = uniform_point(p, rtol=1e-9), theory(p, theory="random-features")
        assert ours.train == pytest.approx(limit.train, rel=tolerance)
        assert ours.test == pytest.approx(limit.test, rel=tolerance)
        assert ours.squared_loss == pytest.approx(limit.squared_loss, rel=5 * tolerance)


@pytest.mark.parametrize("activation", ["tanh", "relu", CUBIC])
@pytest.mark.parametrize("residual", ["labels", "full"])
def test_constant_step_is_ba_et_al(activation, residual):
    p = problem(10**8, activation=activation, residual=residual, eta=1.5)
    train, test = drops(p, "small-step")
    assert train == pytest.approx(1, abs=3e-5)
    assert test == pytest.approx(1, abs=3e-5)


# the drops approach their limit like a power of n that is small near a threshold
STAIRS = [(0.17, 0.001, 0.01), (0.29, 0.01, 0.01), (0.355, 0.016, 0.03)]  # alpha, tolerances


@pytest.mark.parametrize("activation", ["tanh", "relu", CUBIC])
@pytest.mark.parametrize(("weights", "residual"), [("sphere", 0), ("gaussian", 0), ("gaussian", 1)])
@pytest.mark.filterwarnings("ignore:staircase theory, activation")  # a missing degree is skipped
@pytest.mark.parametrize("stair", STAIRS, ids=["one", "two", "three"])
def test_a_power_of_n_is_the_staircase(activation, weights, residual, stair):
    alpha, tolerance = stair[0], stair[1 + residual]
    kind = {"activation": activation, "weights": weights, "alpha": alpha}
    kind["residual"] = ("labels", "full")[residual]
    far = drops(problem(10**12, **kind), "staircase")
    near = drops(problem(10**9, **kind), "staircase")
    for a, b in zip(far, near, strict=True):
        assert a == pytest.approx(1, abs=tolerance)
        assert abs(a - 1) < 0.6 * abs(b - 1)


def test_the_second_spike_tells_gaussian_weights_from_spherical_ones():
    kind = {"activation": "relu", "teacher": "H1 + H2/sqrt(2)", "alpha": 0.3}
    sphere = problem(10**12, weights="sphere", **kind)
    gaussian = problem(10**12, weights="gaussian", **kind)
    ours = uniform_point(sphere, rtol=1e-8).test - uniform_point(gaussian, rtol=1e-8).test
    limit = theory(sphere, theory="staircase").test - theory(gaussian, theory="staircase").test
    assert abs(limit) > 1e-3
    assert ours == pytest.approx(limit, rel=0.05)
