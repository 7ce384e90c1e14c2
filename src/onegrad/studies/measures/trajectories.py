"""Paths of neurons under many gradient steps on the first layer: Figure 2 of Ba et al. 2022."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from onegrad.exceptions import check_choice
from onegrad.experiments.cell import Cell
from onegrad.experiments.measure import CellValues, seeds_of

SCALINGS = ("mean-field", "ntk")
TARGET_LOSS = 1e-3  # training loss at which descent stops
STEP = 0.5  # in units in which both scalings move the output alike
MAX_STEPS = 20_000
MAX_TIMES, MAX_PATHS = 40, 150  # that are returned


class Paths(NamedTuple):
    """Positions of neurons in the teacher's plane (times, neurons, 2); steps and final loss."""

    paths: np.ndarray
    steps: int
    loss: float


def trajectories(cell: Cell, _device: str) -> CellValues:
    """Return paths of neurons under many steps; the measure fixes teacher and activation."""
    p, scaling = cell.problem, str(dict(cell.options).get("scaling", "mean-field"))
    runs = [neuron_paths(p.n, p.d, p.N, scaling, seed) for seed in seeds_of(cell)]
    return {
        "paths": np.stack([run.paths for run in runs])[:, None, None],
        "steps": np.array([run.steps for run in runs]),
        "loss": np.array([run.loss for run in runs]),
    }


def neuron_paths(n: int, d: int, N: int, scaling: str, seed: int) -> Paths:
    r"""Return the paths of the neurons of f under full-batch descent.

    .. math:: f(x)=\frac{s}{\sqrt N}\sum_i g_i\,\mathrm{relu}(w_i\cdot x)

    s is 1/sqrt(N) (mean-field) or 1 (NTK); g ~ N(0, I) stays as it is; the target is
    relu(x_1) + relu(x_2), whose two neurons are the first two axes.
    """
    check_choice("scaling", scaling, SCALINGS)
    rng = np.random.default_rng((seed, n, d, N))
    X, g = rng.standard_normal((n, d)), rng.standard_normal(N)
    W = rng.standard_normal((N, d)) / math.sqrt(d)
    y = np.maximum(X[:, :2], 0).sum(1)
    readout = g / (N if scaling == "mean-field" else math.sqrt(N))
    rate = STEP * (N if scaling == "mean-field" else 1)
    positions = []
    loss = math.inf
    for _ in range(MAX_STEPS):
        P = X @ W.T  # (n, N)
        residual = y - np.maximum(P, 0) @ readout
        loss = 0.5 * float(residual @ residual) / n
        positions.append(W[:MAX_PATHS, :2].copy())
        if loss < TARGET_LOSS or not math.isfinite(loss):
            break
        # minus the gradient: [(r a^T) * relu'(P)]^T X / n
        W += (rate / n) * readout[:, None] * ((P > 0).T @ (residual[:, None] * X))
    shown = np.unique(np.linspace(0, len(positions) - 1, MAX_TIMES).round().astype(int))
    return Paths(np.stack([positions[i] for i in shown]), len(positions) - 1, loss)
