"""Many steps on the first layer: paths of neurons, and two neurons whose batch may be reused."""

import math
from typing import Any

import numpy as np

from onegrad.arrays import Floats, get_ops, to_numpy
from onegrad.exceptions import check_choice
from onegrad.experiments.cell import Cell
from onegrad.experiments.measure import CellValues, option_of, per_seed
from onegrad.functions.registry import resolve_activation

SCALINGS = ("mean-field", "ntk")
TARGET_LOSS = 1e-3  # training loss at which descent stops
STEP = 0.5  # in units in which both scalings move the output alike
MAX_STEPS = 20_000
MAX_TIMES, MAX_PATHS = 40, 150  # that are returned
FRESH_ROWS = 500_000  # on which the error of two neurons is a mean over


@per_seed
def trajectories(cell: Cell, device: str, seed: int) -> CellValues:
    r"""Return the paths of the neurons of f under full-batch descent: Figure 2 of Ba et al. 2022.

    .. math:: f(x)=\frac{s}{\sqrt N}\sum_i g_i\,\mathrm{relu}(w_i\cdot x)

    s is 1/sqrt(N) (mean-field) or 1 (NTK); g ~ N(0, I) stays as it is; the target is
    relu(x_1) + relu(x_2), whose two neurons are the first two axes.

    paths : positions in the teacher's plane, (seeds, 1, 1, times, neurons, 2); distance : the mean
    that neurons have travelled there; steps, loss : how the descent ended; (seeds,).
    """
    n, d, N = cell.problem.n, cell.problem.d, cell.problem.N
    scaling = check_choice("scaling", option_of(cell, "scaling", "mean-field"), SCALINGS)
    ops, rng = get_ops(device, cell.dtype), np.random.default_rng((seed, n, d, N))
    X, g = rng.standard_normal((n, d)), rng.standard_normal(N)
    W = rng.standard_normal((N, d)) / math.sqrt(d)
    y = np.maximum(X[:, :2], 0).sum(1)
    readout = g / (N if scaling == "mean-field" else math.sqrt(N))
    rate = STEP * (N if scaling == "mean-field" else 1)  # mean-field gradients are 1/N as large
    relu = resolve_activation("relu:raw")
    X, y, W, a = map(ops.asarray, (X, y, W, readout))
    positions = []
    loss = math.inf
    for _ in range(MAX_STEPS):
        P = X @ W.T  # (n, N)
        residual = y - relu(P) @ a
        loss = 0.5 * float(residual @ residual) / n
        positions.append(to_numpy(W[:, :2]).copy())
        if loss < TARGET_LOSS or not math.isfinite(loss):
            break
        # minus the gradient: [(r a^T) * relu'(P)]^T X / n
        W = W + (rate / n) * a[:, None] * (relu.derivative(P).T @ (residual[:, None] * X))
    shown = np.unique(np.linspace(0, len(positions) - 1, MAX_TIMES).round().astype(int))
    return {
        "paths": [[[positions[i][:MAX_PATHS] for i in shown]]],
        "distance": np.linalg.norm(positions[-1] - positions[0], axis=1).mean(),
        "steps": len(positions) - 1,
        "loss": loss,
    }


@per_seed
def reused_batch(cell: Cell, _device: str, seed: int) -> CellValues:
    r"""Return the errors of two ReLU neurons, step by step: the setting of Dandi et al. 2024.

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
    return np.tanh(u1 + u2**3 - 3 * u2)


def _error_of_two(W: Floats, a: Floats, Z: Floats) -> float:
    """Return half the mean square over fresh inputs, by the four numbers that it depends on."""
    directions = np.vstack([np.eye(2, W.shape[1]), W])
    # the part in 1e-12: neurons that lie in the teacher's plane have a singular covariance
    V = Z @ np.linalg.cholesky(directions @ directions.T + 1e-12 * np.eye(4)).T
    miss = _teacher(V[:, 0], V[:, 1]) - np.maximum(V[:, 2:], 0) @ a
    return 0.5 * float(miss @ miss) / len(Z)
