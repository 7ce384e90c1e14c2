"""One cell: a stack of replicates of one problem, for many step sizes and penalties."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from onegrad._xp import Array, Backend, backend, namespace, to_numpy
from onegrad.problem import Problem
from onegrad.simulate import network as net
from onegrad.simulate.ridge import Fit, fits
from onegrad.simulate.sampling import Host, Role, Sampler


@dataclass(frozen=True)
class Cell:
    """One replicate's errors, one row per eta and one column per ridge.

    `overlap` is |P beta| / |beta|, P onto the teacher's directions: how much of the learned
    direction is signal.
    """

    seed: int
    train: Host
    test: Host
    risk: Host
    squared_loss: Host
    overlap: float


def cell(
    problem: Problem,
    seed: int = 0,
    etas: Sequence[float] | None = None,
    ridges: Sequence[float] | None = None,
    **options: Any,
) -> Cell:
    """One replicate of `problem`: a pure function of its arguments. See `cells`."""
    return cells(problem, (seed,), etas, ridges, **options)[0]


def cells(
    problem: Problem,
    seeds: Sequence[int],
    etas: Sequence[float] | None = None,
    ridges: Sequence[float] | None = None,
    *,
    model: str = "trained",
    n_test: int | None = None,
    tick: net.Tick = lambda: None,
    on: Backend | None = None,
) -> list[Cell]:
    """Replicates of `problem` computed together, one per seed.

    One gradient per seed serves every eta; one Gram matrix per eta serves every ridge.
    """
    be = on or backend()
    etas = (problem.step,) if etas is None else tuple(float(e) for e in etas)
    ridges = (problem.ridge,) if ridges is None else tuple(float(r) for r in ridges)
    sampler = Sampler(problem, tuple(seeds), be)
    network = net.initial(sampler)
    first = net.gradient(sampler, network, network.W, 0, tick)
    features = net.trained(sampler, network, first, etas, tick)
    found = fits(sampler, network.teacher, features, ridges, tick)
    risk = risks(sampler, network.teacher, features, found, n_test or default_test(problem.n), tick)
    overlap = to_numpy(_overlap(network.teacher, first.beta))
    train = np.stack([to_numpy(f.train) for f in found], 1)  # (B, E, R)
    squared = np.stack([to_numpy(f.squared_loss) for f in found], 1)
    return [
        Cell(seed, train[i], risk[i] + problem.noise**2, risk[i], squared[i], float(overlap[i]))
        for i, seed in enumerate(seeds)
    ]


def default_test(n: int) -> int:
    """Test rows when none are asked for."""
    return max(1024, n // 4)


def risks(
    sampler: Sampler,
    teacher: Array,
    features: net.FeatureMap,
    found: Sequence[Fit],
    n_test: int,
    tick: net.Tick,
) -> Host:
    """E (sigma_star - f_hat)^2 over fresh rows, (B, E, R); label noise is added exactly."""
    xp = namespace(teacher)
    total: Any = 0.0
    for rows in sampler.rows(Role.TEST, n_test, teacher):
        miss = []
        for F, fit in zip(features.tiles(rows.X, rows.start), found, strict=True):
            r = rows.clean[..., None] - F @ fit.coefficients - fit.intercept[:, None, :]
            miss.append((r * r).sum(-2))
        total = total + xp.stack(miss, 1)
        tick()
    return to_numpy(total) / n_test


def _overlap(teacher: Array, beta: Array) -> Array:
    inside = (beta[:, None, :] @ teacher)[:, 0]
    return ((inside * inside).sum(-1) / (beta * beta).sum(-1)) ** 0.5
