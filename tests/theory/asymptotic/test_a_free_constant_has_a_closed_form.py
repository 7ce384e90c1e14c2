"""The quadratic gain with a free constant over that without: 1 + (1 + nu^2)^2/2 on the sphere."""

import pytest

import onegrad as og
from onegrad.exceptions import OutOfScope
from onegrad.theory.asymptotic.scalars import Scalars
from onegrad.theory.asymptotic.staircase import constant_gain


def problem(n: int, weights: str, phi: float, **changes: object) -> og.Problem:
    fields = {"activation": "softplus", "teacher": "H1 + H2/sqrt(2)", "residual": "labels"}
    sizes = {"n": n, "phi": phi, "psi": 1.0, "lam": 1e-3, "alpha": 0.3, "weights": weights}
    return og.Problem.moniri(**sizes | fields | changes)  # type: ignore[arg-type]


def gain_ratio(p: og.Problem, theory: str) -> float:
    """Fall of the test error between the first and the second threshold, with over without."""
    falls = []
    for free in (True, False):
        first, second = (
            og.predict(p.replace(intercept=free, eta=p.n**a), theory=theory).test
            for a in (0.2, 0.32)
        )
        falls.append(float(first) - float(second))
    return falls[0] / falls[1]


@pytest.mark.parametrize("phi", [0.5, 0.05])
@pytest.mark.parametrize("weights", ["gaussian", "sphere"])
def test_it_is_the_ratio_of_the_limits(weights: str, phi: float) -> None:
    p = problem(1000, weights, phi)
    assert constant_gain(p) == pytest.approx(gain_ratio(p, "staircase"), rel=1e-9)
    assert constant_gain(p.replace(intercept=True)) == constant_gain(p)
    if weights == "sphere":
        nu_squared = Scalars.of([p]).nu_squared[0]
        assert constant_gain(p) == pytest.approx(1 + (1 + nu_squared) ** 2 / 2, rel=1e-12)


def test_the_uniform_theory_approaches_it() -> None:
    for weights, phi in (("sphere", 0.5), ("gaussian", 0.05)):
        distances = []
        for n in (10**5, 10**11):
            p = problem(n, weights, phi)
            distances.append(abs(gain_ratio(p, "uniform") / constant_gain(p) - 1))
        assert distances[1] < 0.02 and distances[1] < distances[0] / 3


def test_a_teacher_with_a_mean_is_refused() -> None:
    with pytest.raises(OutOfScope, match="mean zero"):
        constant_gain(problem(1000, "sphere", 0.5, teacher="relu:raw"))
