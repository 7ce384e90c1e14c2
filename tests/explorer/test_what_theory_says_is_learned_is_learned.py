"""The mean fit given the teacher's index: theory against real networks, degree by degree."""

from __future__ import annotations

import numpy as np
import pytest

import onegrad as og
from onegrad.networks import learned_part
from onegrad.theory import learned_coefficients
from onegrad.theory.asymptotic.resolvent import traces

SEEDS = 12


@pytest.mark.parametrize(
    ("fields", "degrees"),
    [
        ({"activation": "tanh", "teacher": "tanh", "alpha": 0.35, "noise": 0.1}, (1,)),
        ({"activation": "softplus", "teacher": "H1 + H2/sqrt(2)", "alpha": 0.4}, (1, 2)),
        ({"activation": "relu", "teacher": "H1", "ridge": 1.0}, (1,)),
        (
            {"activation": "tanh", "teacher": "H1 + H3/2", "alpha": 0.5, "readout": "constant"},
            (1, 3),
        ),
    ],
)
def test_theory_agrees_with_networks(fields, degrees) -> None:
    problem = og.Problem(n=600, d=200, N=300, **fields)
    predicted = learned_coefficients(problem).learned
    measured = np.array(
        [learned_part(problem, seed, n_test=10_000).coefficients for seed in range(SEEDS)]
    )
    mean, se = measured.mean(0), measured.std(0, ddof=1) / np.sqrt(SEEDS)
    for k in degrees:
        # 3.5 standard errors, and 3 % of the coefficient for what n = 600 is from infinity
        assert abs(predicted[k] - mean[k]) < 3.5 * se[k] + 0.03 * abs(predicted[k]), (k, mean, se)
        assert abs(mean[k]) > 3.5 * se[k] + 0.03 * abs(predicted[k]), "the test could not fail"


def test_the_untrained_network_learns_the_linear_part_of_the_closed_form() -> None:
    """1 - M_2/M_1 of the linear part, which the asymptotic traces give."""
    problem = og.Problem(
        n=200_000, d=100_000, N=150_000, activation="tanh", teacher="H1", ridge=0.1
    )
    c1_squared, rest = float(problem.sigma.c[1]) ** 2, problem.sigma.nonlinear_energy
    t = traces(c1_squared, rest, problem.phi, problem.psi, problem.ridge)
    found = learned_coefficients(problem)
    assert found.learned[1] == pytest.approx(1 - t.M2 / t.M1, rel=2e-4)
    assert np.abs(found.learned[2:]).max() < 1e-3


def test_a_larger_step_learns_more_of_the_quadratic_part() -> None:
    problem = og.Problem(
        n=4000, d=500, N=1000, activation="softplus", teacher="H1 + H2/sqrt(2)", ridge=0.01
    )
    found = [learned_coefficients(problem.replace(alpha=a)) for a in (0.0, 0.2, 0.3, 0.4, 0.5)]
    explained = [x.learned[2] * (2 * x.target[2] - x.learned[2]) for x in found]
    assert np.all(np.diff(explained) > 0)
    assert explained[0] < 0.05 and explained[-1] > 0.6
