"""Limits of v1^T R_0 v2 against sampled matrices, within their standard errors."""

import math

import numpy as np
import pytest

from onegrad import InvalidInput, Problem
from onegrad.functions.hermite import normalised_hermite
from onegrad.networks.one_network import network_of
from onegrad.theory import quadratic_forms

DEGREES, SEEDS = 2, 16
SIZES = {"n": 400, "d": 200, "N": 270, "ridge": 0.1, "alpha": 0.3}


def sampled(problem: Problem, seed: int) -> np.ndarray:
    """All forms of one network, between He_q(u), He_q(u_star), F_0 a and sqrt(N) F_0 a^2."""
    network = network_of(problem, seed)
    rows = network.sampler.all_ridge_rows()
    X, a, beta = rows.X[0], network.a[0], network.first.beta[0]
    (stack,) = network.untrained().tiles(rows)
    F = stack[0]
    a = a / np.linalg.norm(a)  # its length fluctuates with the seed and has the limit one
    indices = X @ beta / np.linalg.norm(beta), X @ network.sampler.beta_star[0, :, 0]
    norms = np.sqrt([math.factorial(q) for q in range(DEGREES + 1)])[:, None]
    images = F @ a, math.sqrt(problem.N) * F @ a**2
    V = np.vstack([*(norms * normalised_hermite(u, DEGREES) for u in indices), *images])
    return V @ np.linalg.solve(F @ F.T + problem.ridge * problem.n * np.eye(problem.n), V.T)


@pytest.mark.parametrize(
    ("activation", "residual", "weights"),
    [("softplus", "labels", "gaussian"), ("relu", "full", "sphere"), ("relu", "full", "gaussian")],
)
def test_forms_are_those_of_sampled_matrices(activation: str, residual: str, weights: str) -> None:
    problem = Problem(
        activation=activation,
        teacher="H1 + H2/sqrt(2)",
        residual=residual,  # type: ignore[arg-type]
        weights=weights,  # type: ignore[arg-type]
        **SIZES,  # type: ignore[arg-type]
    )
    forms = quadratic_forms(problem, DEGREES)
    values = np.array([sampled(problem, seed) for seed in range(SEEDS)])
    mean, se = values.mean(0), values.std(0, ddof=1) / math.sqrt(SEEDS)
    k = DEGREES + 1
    index = np.arange(k)
    expected = {
        "learned": (index, index, np.diag(forms.learned)),
        "mixed": (index, k + index, np.diag(forms.mixed)),
        "teacher": (k + index, k + index, np.diag(forms.teacher)),
        "readout": (2 * k, 2 * k, forms.readout),
        "squares": (2 * k + 1, 2 * k + 1, forms.squares),
        "learned_readout": (index, 2 * k, forms.learned_readout),
    }
    for name, (i, j, limit) in expected.items():
        allowed = 3.5 * se[i, j] + 0.02 * np.abs(limit)  # terms of order 1/n
        assert np.all(np.abs(mean[i, j] - limit) < allowed), name
        assert np.all(allowed < 0.25 * np.abs(limit) + 0.3), f"{name}: the test can fail"


def test_limits_are_those_of_the_untrained_network() -> None:
    problem = Problem(teacher="H1", activation="tanh", **SIZES)  # type: ignore[arg-type]
    forms = quadratic_forms(problem, 3)
    assert forms.learned[1, 1] < forms.learned[0, 0], "the linear part is mostly fitted"
    assert np.count_nonzero(forms.mixed - np.diag(np.diag(forms.mixed))) == 0
    assert forms.learned_readout.tolist() == [0, 0, 0, 0], "residual: the labels"


def test_what_it_does_not_cover_is_refused() -> None:
    problem = Problem(**SIZES)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="degrees"):
        quadratic_forms(problem, 0)
    with pytest.raises(InvalidInput, match="readout"):
        quadratic_forms(problem.replace(readout="constant"))
