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
from onegrad.experiments.measure import Values, seeds_of
from onegrad.functions.hermite import normalised_hermite

TESTS = 4000
TOP, DEGREE = 6, 4
STEPS = ("none", "first", "second", "both")


def three_layers(cell: Cell, device: str) -> Values:
    """Test error, largest eigenvalues of F F^T/n, and what their vectors point at.

    test (seeds, etas, ridges); eigenvalues (seeds, etas, 1, 6); alignments (seeds, etas, 1, 6, 4):
    squared cosines with He_k of the teacher's index.
    """
    where = check_choice("options.step_on:", str(dict(cell.options).get("step_on", "first")), STEPS)
    found = [_one(cell, seed, where) for seed in seeds_of(cell)]
    test, eigenvalues, alignments = (np.stack(x) for x in zip(*found, strict=True))
    return {
        "test": test,
        "eigenvalues": eigenvalues[:, :, None],
        "alignments": alignments[:, :, None],
    }


def _one(cell: Cell, seed: int, where: str) -> tuple[Floats, Floats, Floats]:
    p, sigma = cell.problem, cell.problem.sigma
    rng = np.random.default_rng((seed, p.n, p.d, p.N))
    W1 = rng.standard_normal((p.N, p.d)) / math.sqrt(p.d)
    W2 = rng.standard_normal((p.N, p.N)) / math.sqrt(p.N * sigma.second_moment)
    a = rng.standard_normal(p.N) / math.sqrt(p.N)

    def data(rows: int, noise: float) -> tuple[Floats, Floats]:
        X = rng.standard_normal((rows, p.d))
        return X, np.asarray(p.sigma_star(X[:, 0])) + noise * rng.standard_normal(rows)

    X, y = data(p.rows_of_step, p.noise)
    P1 = X @ W1.T
    H1 = np.asarray(sigma(P1))
    back = y[:, None] * sigma.derivative(H1 @ W2.T) * a / len(y)  # (n, N), at the second layer
    G2, G1 = back.T @ H1, ((back @ W2) * sigma.derivative(P1)).T @ X
    ridge, test = data(p.n, p.noise), data(TESTS, 0.0)
    errors, eigenvalues, alignments = [], [], []
    for eta in cell.etas:
        first = W1 + eta * G1 if where in ("first", "both") else W1
        second = W2 + eta * G2 if where in ("second", "both") else W2
        F, T = (np.asarray(sigma(sigma(x @ first.T) @ second.T)) for x in (ridge[0], test[0]))
        U, s, Vt = scipy.linalg.svd(F, full_matrices=False)
        fits = [Vt.T @ (s / (s * s + p.n * lam) * (U.T @ ridge[1])) for lam in cell.ridges]
        errors.append([float(((test[1] - T @ c) ** 2).mean()) + p.noise**2 for c in fits])
        h = normalised_hermite(ridge[0][:, 0], DEGREE)[1:]
        h = h / np.linalg.norm(h, axis=1)[:, None]
        eigenvalues.append(s[:TOP] ** 2 / p.n)
        alignments.append((h @ U[:, :TOP]).T ** 2)
    return np.array(errors), np.array(eigenvalues), np.array(alignments)
