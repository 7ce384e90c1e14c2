"""With an unpenalised constant the means of features and labels do not matter, and it fits them."""

import pytest

from onegrad import Problem
from onegrad.theory import learned_coefficients
from onegrad.theory.uniform import uniform_spectrum
from uniform_point import uniform_point

BASE = Problem(n=600, d=250, N=400, noise=0.3, ridge=0.02, alpha=0.3, intercept=True)


@pytest.mark.parametrize("name", ["relu", "softplus"])
def test_features_with_and_without_their_mean_give_the_same(name):
    centred, raw = (
        uniform_point(BASE.replace(activation=f"{name}{kind}", teacher="H1 + H2/2"))
        for kind in ("", ":raw")
    )
    assert (raw.train, raw.test) == pytest.approx((centred.train, centred.test), rel=5e-6)
    without = uniform_point(
        BASE.replace(activation=f"{name}:raw", teacher="H1 + H2/2", intercept=False)
    )
    assert abs(without.test / raw.test - 1) > 1e-4


def test_labels_with_and_without_their_mean_differ_by_the_step_alone():
    still = BASE.replace(activation="tanh", eta=0.0)
    centred, raw = (
        uniform_point(still.replace(teacher=teacher))
        for teacher in ("H1 + H2/2", "H1 + H2/2 + 5:raw")
    )
    assert (raw.train, raw.test) == pytest.approx((centred.train, centred.test), rel=1e-3)


def test_the_constant_is_learned_in_full_and_without_it_hardly_at_all():
    problem = BASE.replace(activation="tanh", teacher="H1 + 2:raw")
    assert learned_coefficients(problem).learned[0] == pytest.approx(2.0, rel=1e-3)
    assert learned_coefficients(problem.replace(intercept=False)).learned[0] < 1.0


def test_a_large_ridge_leaves_the_variance_of_the_labels():
    result = uniform_point(BASE.replace(activation="relu", teacher="H1 + 3:raw", ridge=1e9))
    assert result.train == pytest.approx((1 + 0.09) * (1 - 1 / BASE.n), rel=1e-6)
    assert result.test == pytest.approx((1 + 0.09) * (1 + 1 / BASE.n), rel=1e-5)


@pytest.mark.full
def test_the_spectrum_of_the_features_does_not_know_of_it():
    problem = BASE.replace(activation="tanh", n=300, d=120, N=150)
    fitted, plain = uniform_spectrum(problem), uniform_spectrum(problem.replace(intercept=False))
    assert fitted.edge == plain.edge
    assert [s.eigenvalue for s in fitted.spikes] == [s.eigenvalue for s in plain.spikes]
