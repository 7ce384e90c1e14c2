"""Paths of neurons under many steps on the first layer."""

import math

import numpy as np

from onegrad.arrays import get_ops, to_numpy
from onegrad.exceptions import check_choice
from onegrad.experiments.cell import Cell
from onegrad.experiments.measure import CellValues, option_of, per_seed
from onegrad.functions.registry import resolve_activation

SCALINGS = ("mean-field", "ntk")
TARGET_LOSS = 1e-3  # training loss at which descent stops
STEP = 0.5  # in units in which both scalings move the output alike
MAX_STEPS = 20_000
MAX_TIMES, MAX_PATHS = 40, 150  # that are returned


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
