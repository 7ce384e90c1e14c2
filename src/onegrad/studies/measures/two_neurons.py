"""Two ReLU neurons and a batch that may be reused: the setting of Dandi et al. 2024."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from onegrad.arrays import Floats
from onegrad.experiments.cell import Cell
from onegrad.experiments.measure import CellValues, option_of, per_seed

FRESH_ROWS = 500_000


@per_seed
def reused_batch(cell: Cell, _device: str, seed: int) -> CellValues:
    r"""Return the errors of two ReLU neurons, step by step.

    The readout is :math:`\pm1/\sqrt2`, the teacher tanh(u_1 + He_3(u_2)).

    error : half the mean square over fresh inputs after 0, 1, ... steps; overlap : that of the
    neurons with the second direction, each with its sign. The batch is reused if the problem says
    so; `rate` is per row over d, as in Dandi et al. 2024.
    """
    p, steps, rate = cell.problem, option_of(cell, "steps", 6), option_of(cell, "rate", 0.2)
    rng = np.random.default_rng((seed, p.n, p.d))
    W = rng.standard_normal((2, p.d))
    W /= np.linalg.norm(W, axis=1)[:, None]
    a = np.array([1.0, -1.0]) / math.sqrt(2)
    Z = rng.standard_normal((FRESH_ROWS, 4))
    errors, overlaps = [], []
    for step in range(steps + 1):
        if step == 0 or p.batches == "fresh":
            X = rng.standard_normal((p.n, p.d), dtype=np.float32)
            y = _teacher(X[:, 0], X[:, 1])
        errors.append(_error_of_two(W, a, Z))
        overlaps.append(float(-(W[:, 1] * np.sign(a)).mean()))
        P = X @ W.T.astype(np.float32)
        r = (y - np.maximum(P, 0) @ a)[:, None] * (P > 0) * a / p.n
        W = W + rate * p.n / p.d * (r.T.astype(np.float32) @ X)
    return {"error": [[errors]], "overlap": [[overlaps]]}


def _teacher(u1: Any, u2: Any) -> Floats:
    return np.asarray(np.tanh(u1 + u2**3 - 3 * u2))


def _error_of_two(W: Floats, a: Floats, Z: Floats) -> float:
    """Return half the mean square over fresh inputs, by the four numbers that it depends on."""
    directions = np.vstack([np.eye(2, W.shape[1]), W])
    V = Z @ np.linalg.cholesky(directions @ directions.T + 1e-12 * np.eye(4)).T
    miss = _teacher(V[:, 0], V[:, 1]) - np.maximum(V[:, 2:], 0) @ a
    return 0.5 * float(miss @ miss) / len(Z)
