r"""Three layers, :math:`f(x) = a\cdot\sigma(W_2\sigma(W_1x))`: one step on one or both, then ridge.

Rows of :math:`W_2` are N(0, I/(N E sigma^2)), so that both layers see inputs of variance one. Both
gradients are taken at the untrained weights, on the labels as residual.
"""

from __future__ import annotations

import math

import numpy as np
import scipy.linalg

from onegrad.arrays import Floats
from onegrad.exceptions import check_choice
from onegrad.experiments.cell import Cell
from onegrad.experiments.measure import CellValues, seeds_of
from onegrad.functions.hermite import normalised_hermite
from onegrad.studies.measures.training import TEST_ROWS, ridge_equations

SINGULAR_VECTORS, MAX_ALIGNED_DEGREE = 6, 4  # that are returned
STEPS = ("none", "first", "second", "both")


def three_layers(cell: Cell, _device: str) -> CellValues:
    """Return the test error, the largest eigenvalues of F F^T/n, and what their vectors are.

    test (seeds, etas, ridges); eigenvalues (seeds, etas, 1, 6); alignments (seeds, etas, 1, 6, 4):
    squared cosines with He_k of the teacher's index.
    """
    step_on = str(dict(cell.options).get("step_on", "first"))
    check_choice("options.step_on", step_on, STEPS)
    networks = [_one_network(cell, seed, step_on) for seed in seeds_of(cell)]
    test, eigenvalues, alignments = (np.stack(x) for x in zip(*networks, strict=True))
    return {
        "test": test,
        "eigenvalues": eigenvalues[:, :, None],
        "alignments": alignments[:, :, None],
    }


def _one_network(cell: Cell, seed: int, step_on: str) -> tuple[Floats, Floats, Floats]:
    p, sigma = cell.problem, cell.problem.sigma
    rng = np.random.default_rng((seed, p.n, p.d, p.N))
    W1 = rng.standard_normal((p.N, p.d)) / math.sqrt(p.d)
    W2 = rng.standard_normal((p.N, p.N)) / math.sqrt(p.N * sigma.second_moment)
    a = rng.standard_normal(p.N) / math.sqrt(p.N)

    def rows(count: int, noise: float) -> tuple[Floats, Floats]:
        X = rng.standard_normal((count, p.d))
        return X, np.asarray(p.sigma_star(X[:, 0])) + noise * rng.standard_normal(count)

    X, y = rows(p.rows_of_step, p.noise)
    P1 = X @ W1.T
    H1 = np.asarray(sigma(P1))
    back = y[:, None] * sigma.derivative(H1 @ W2.T) * a / len(y)  # (n, N), at the second layer
    G2, G1 = back.T @ H1, ((back @ W2) * sigma.derivative(P1)).T @ X
    (X, y), (X_test, y_test) = rows(p.n, p.noise), rows(TEST_ROWS, 0.0)
    h = normalised_hermite(X[:, 0], MAX_ALIGNED_DEGREE)[1:]
    h = h / np.linalg.norm(h, axis=1)[:, None]
    errors, eigenvalues, alignments = [], [], []
    for eta in cell.etas:
        first = W1 + eta * G1 if step_on in ("first", "both") else W1
        second = W2 + eta * G2 if step_on in ("second", "both") else W2
        F, F_test = (np.asarray(sigma(sigma(x @ first.T) @ second.T)) for x in (X, X_test))
        equations = ridge_equations(F, y, intercept=False)
        predictions = (F_test @ equations.solve(lam).coef[:, 0] for lam in cell.ridges)
        errors.append([float(((y_test - f) ** 2).mean()) + p.noise**2 for f in predictions])
        U, s, _ = scipy.linalg.svd(F, full_matrices=False)
        eigenvalues.append(s[:SINGULAR_VECTORS] ** 2 / p.n)
        alignments.append((h @ U[:, :SINGULAR_VECTORS]).T ** 2)
    return np.array(errors), np.array(eigenvalues), np.array(alignments)
