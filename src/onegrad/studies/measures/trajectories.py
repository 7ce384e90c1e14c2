"""Paths of neurons under many gradient steps on the first layer: Figure 2 of Ba et al. 2022."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from onegrad.arrays import Ops, get_ops, to_numpy
from onegrad.exceptions import check_choice
from onegrad.experiments.cell import Cell
from onegrad.experiments.measure import CellValues, option_of, per_seed
from onegrad.functions.registry import resolve_activation

SCALINGS = ("mean-field", "ntk")
TARGET_LOSS = 1e-3  # training loss at which descent stops
STEP = 0.5  # in units in which both scalings move the output alike
MAX_STEPS = 20_000
MAX_TIMES, MAX_PATHS = 40, 150  # that are returned


class Paths(NamedTuple):
    """Positions of neurons in the teacher's plane (times, neurons, 2), and how the descent ended.

    distance : that the neurons have travelled in the plane, their mean.
    """

    paths: np.ndarray
    distance: float
    steps: int
    loss: float


@per_seed
def trajectories(cell: Cell, device: str, seed: int) -> CellValues:
    """Return paths of neurons under many steps; the measure fixes teacher and activation."""
    p, scaling = cell.problem, option_of(cell, "scaling", "mean-field")
    ops = get_ops(device, cell.dtype)
    run = neuron_paths(p.n, p.d, p.N, scaling, seed, ops)
    return run._asdict() | {"paths": run.paths[None, None]}


def neuron_paths(n: int, d: int, N: int, scaling: str, seed: int, ops: Ops) -> Paths:
    r"""Return the paths of the neurons of f under full-batch descent.

    .. math:: f(x)=\frac{s}{\sqrt N}\sum_i g_i\,\mathrm{relu}(w_i\cdot x)

    s is 1/sqrt(N) (mean-field) or 1 (NTK); g ~ N(0, I) stays as it is; the target is
    relu(x_1) + relu(x_2), whose two neurons are the first two axes.
    """
    check_choice("scaling", scaling, SCALINGS)
    rng = np.random.default_rng((seed, n, d, N))
    X, g = rng.standard_normal((n, d)), rng.standard_normal(N)
    W0 = rng.standard_normal((N, d)) / math.sqrt(d)
    y = np.maximum(X[:, :2], 0).sum(1)
    readout = g / (N if scaling == "mean-field" else math.sqrt(N))
    rate = STEP * (N if scaling == "mean-field" else 1)
    relu = resolve_activation("relu:raw")
    X, y, W, a = map(ops.asarray, (X, y, W0, readout))
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
    distance = float(np.linalg.norm(positions[-1] - positions[0], axis=1).mean())
    paths = np.stack([positions[i][:MAX_PATHS] for i in shown])
    return Paths(paths, distance, len(positions) - 1, loss)
