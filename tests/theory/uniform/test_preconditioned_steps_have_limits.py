"""Preconditioned steps tend to the gradient with many rows, and learn more of a linear part.

Their errors at random settings are among those of test_stored_simulations_agree.py.
"""

import csv
from pathlib import Path

import numpy as np
import pytest

import onegrad as og
from onegrad.theory import learned_coefficients
from onegrad.theory.uniform.laws.table import laws_of
from onegrad.theory.uniform.step import take_step

pytestmark = pytest.mark.filterwarnings("ignore::onegrad.AssumptionWarning")
STUDY = Path(__file__).parents[3] / "docs" / "open" / "other-steps.csv"


@pytest.mark.full
@pytest.mark.parametrize("ridge", ["0.01", "1"])
def test_bars_hold_at_any_step_of_the_study(ridge):
    """Steps up to n^1.5: the theory is up to 16 % low at the last, and says so."""
    fields = {"inputs": "gaussian", "quantity": "test_preconditioned", "ridge": ridge}
    with STUDY.open(encoding="utf-8") as file:
        rows = [r for r in csv.DictReader(file) if all(r[k] == v for k, v in fields.items())]
    problem = og.Problem(
        n=1000, d=250, N=400, activation="relu", teacher="H1 + H2/sqrt(2)", noise=0.1,
        ridge=float(ridge), update="preconditioned",
    )  # fmt: skip
    alphas, mean, se = np.array([[float(r[k]) for k in ("alpha", "mean", "se")] for r in rows]).T
    assert len(alphas) > 9
    found = og.predict(problem, alpha=list(alphas))
    assert (np.abs(found.test - mean) < found.accuracy.test * found.test + 3 * se).all()
    small = alphas < 0.5
    assert (np.abs(found.test - mean) < 3 * se)[small].all()


@pytest.mark.parametrize(
    "fields",
    [
        {"activation": "tanh"},
        {"activation": "relu"},
        {"activation": "softplus", "residual": "full"},
        {"activation": "relu", "readout": "constant"},
        {"activation": "relu:raw", "residual": "full", "intercept": True, "corrupted": 0.2},
    ],
    ids=str,
)
def test_many_rows_have_the_identity_as_covariance(fields):
    """C is then a number, and the step, which keeps its length, that of the gradient."""
    problem = og.Problem(
        n=1000, d=300, N=400, teacher="H1 + H2/sqrt(2)", noise=0.3, alpha=0.4, **fields
    )
    off = []
    for rows in (10**4, 10**6):
        gradient = og.predict(problem.replace(n_step=rows))
        found = og.predict(problem.replace(n_step=rows, update="preconditioned"))
        off.append(max(abs(found.train / gradient.train - 1), abs(found.test / gradient.test - 1)))
    assert off[1] < 1e-3
    assert off[1] < 0.05 * off[0]  # like 1/rows


def test_least_squares_learn_more_of_a_linear_part_than_the_gradient():
    problem = og.Problem(
        n=600, d=200, N=300, activation="tanh", teacher="H1 + H3/sqrt(6)", noise=0.3, alpha=0.4
    )
    plain, least_squares = (
        learned_coefficients(problem.replace(update=update)).learned[1]
        for update in ("gradient", "preconditioned")
    )
    assert plain < least_squares < 1.0


@pytest.mark.parametrize("phi", [0.05, 0.5, 2.0])
def test_the_learned_direction_is_that_of_ridge_regression(phi):
    """Length and overlap of C^-1 X^T y/n, in standard errors over twelve samples."""
    d, rng, sampled = 200, np.random.default_rng(1), []
    problem = og.Problem(
        n=int(d / phi), d=d, N=d, activation="relu", teacher="H1 + H2/2", noise=0.3, alpha=0.3,
        update="preconditioned",
    )  # fmt: skip
    step = take_step(laws_of(problem)[0])
    for _ in range(12):
        X = rng.standard_normal((problem.n, d))
        y = problem.teacher_function(X[:, 0]) + problem.noise * rng.standard_normal(problem.n)
        C = X.T @ X / len(X) + 0.1 * np.mean(X * X) * np.eye(d)
        h = np.linalg.solve(C, X.T @ y / len(X))
        sampled.append([np.linalg.norm(h), h[0] / np.linalg.norm(h)])
    mean, error = np.mean(sampled, 0), np.std(sampled, 0, ddof=1) / np.sqrt(len(sampled))
    assert (np.abs(np.array([step.b, step.overlaps[0]]) - mean) < 4 * error).all()
