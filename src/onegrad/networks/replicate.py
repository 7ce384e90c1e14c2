"""One cell: a stack of replicates of one problem, for many step sizes and penalties."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from onegrad.arrays.backend import Array, Backend, backend, namespace, to_numpy
from onegrad.errors import InvalidInput, NotConverged
from onegrad.functions import IDENTITY
from onegrad.networks import network as net
from onegrad.networks.equivalents import GaussianEquivalent, spiked
from onegrad.networks.fits import DualFit, Fit, fits
from onegrad.networks.kernels import KERNELS, kernel, kernel_errors
from onegrad.networks.sampling import Host, Role, Rows, Sampler
from onegrad.problem import Problem

TRAINED = ("trained", "spiked", "spiked-printed", "gaussian-equivalent")
UNTRAINED = ("random-features", "linear", *KERNELS)  # eta plays no part
MODELS = (*TRAINED, *UNTRAINED)


@dataclass(frozen=True)
class Cell:
    """One replicate's errors, one row per eta and one column per ridge.

    `overlap` is |P beta| / |beta|, P onto the teacher's directions and beta = X^T r/n the learned
    direction: how much of it is signal. NaN where no step was taken.
    """

    seed: int
    train: Host
    test: Host
    risk: Host
    squared_loss: Host
    leave_one_out: Host | None
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
    leave_one_out: bool = False,
    rows: Host | None = None,
    device_random: bool = False,
    at_once: int | None = None,
    on: Backend | None = None,
    tick: net.Tick = lambda: None,
) -> list[Cell]:
    """Replicates of `problem` computed together, one per seed.

    One gradient per seed serves every eta and one Gram matrix per eta every ridge; `at_once` etas
    share their matrix products (default all of them).
    """
    if model not in MODELS:
        raise InvalidInput(f"model must be one of {', '.join(MODELS)}; got {model!r:.60}")
    etas = (problem.step,) if etas is None else tuple(float(e) for e in etas)
    ridges = (problem.ridge,) if ridges is None else tuple(float(r) for r in ridges)
    tests = default_test(problem.n) if n_test is None else n_test
    sampler = Sampler(problem, tuple(seeds), on or backend(), rows, device_random)
    network = net.initial(sampler)
    first, moved = None, etas if model in TRAINED else (0.0,)
    if model in TRAINED and any(etas):
        first = net.gradient(sampler, network, network.W, 0, tick)
    found: list[Fit | DualFit] = []
    if model in KERNELS:
        k = kernel(model, sampler, network)
        answer = kernel_errors(sampler, network.teacher, k, ridges, tests, tick, leave_one_out)
        found, risk = [answer.fit], answer.risk[:, None]
    else:
        parts = []
        size = at_once or len(moved)
        for i in range(0, len(moved), size):
            features = _features(model, sampler, network, first, moved[i : i + size], tick)
            some = fits(sampler, network.teacher, features, ridges, tick, leave_one_out)
            parts.append(_risks(sampler, network.teacher, features, some, tests, tick))
            found += some
        risk = np.concatenate(parts, 1)
    columns = {
        name: np.stack([to_numpy(getattr(f, name)) for f in found], 1)
        for name in ("train", "squared_loss", *(["leave_one_out"] if leave_one_out else []))
    } | {"risk": risk, "test": risk + problem.noise**2}
    if not np.isfinite(columns["train"]).all():
        raise NotConverged(
            "ridge failed: the penalty is lost in rounding; use a larger ridge or dtype float64"
        )
    shape = (len(seeds), len(etas), len(ridges))
    columns = {name: np.broadcast_to(value, shape) for name, value in columns.items()}
    overlap = _overlap(network.teacher, first.beta) if first else np.full(len(seeds), np.nan)
    return [
        Cell(
            seed=seed,
            overlap=float(overlap[i]),
            **({"leave_one_out": None} | {name: value[i] for name, value in columns.items()}),
        )
        for i, seed in enumerate(seeds)
    ]


def default_test(n: int) -> int:
    """Test rows when none are asked for."""
    return max(1024, n // 4)


@dataclass(frozen=True)
class Inputs:
    """The inputs themselves as features."""

    width: int
    count: int = 1

    def tiles(self, rows: Rows, neurons: slice = net.ALL) -> Iterator[Array]:
        yield rows.X[..., neurons]


def _features(
    model: str,
    sampler: Sampler,
    network: net.Network,
    first: net.Gradient | None,
    etas: tuple[float, ...],
    tick: net.Tick,
) -> net.FeatureMap:
    """The feature map of a model at some etas; without a gradient, of the untrained network."""
    if model == "linear":
        return Inputs(sampler.problem.d)
    if first is None:
        f = IDENTITY if model == "gaussian-equivalent" else sampler.problem.sigma
        one = net.Affine(sampler.backend, f, network.W)
        same: net.FeatureMap = one if len(etas) == 1 else net.Several((one,) * len(etas))
        return GaussianEquivalent(sampler, same) if model == "gaussian-equivalent" else same
    if model == "gaussian-equivalent":
        linear = net.trained(sampler, network, first, etas, tick, IDENTITY)
        return GaussianEquivalent(sampler, linear)
    if model in ("spiked", "spiked-printed"):
        return spiked(sampler, network, first, etas, printed=model == "spiked-printed")
    return net.trained(sampler, network, first, etas, tick)


def _risks(
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
        for F, fit in zip(features.tiles(rows), found, strict=True):
            r = rows.clean[..., None] - F @ fit.coefficients - fit.intercept[:, None]
            miss.append((r * r).sum(-2))
        total = total + xp.stack(miss, 1)
        tick()
    return np.asarray(to_numpy(total) / n_test)


def _overlap(teacher: Array, beta: Array) -> Host:
    inside = (beta[:, None, :] @ teacher)[:, 0]
    return to_numpy(((inside * inside).sum(-1) / (beta * beta).sum(-1)) ** 0.5)
