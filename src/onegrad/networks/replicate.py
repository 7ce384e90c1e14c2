"""A stack of replicates of one problem, for many step sizes and penalties."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from onegrad.arrays import Array, Floats, Ops, Repeat, get_ops, namespace, run_directly
from onegrad.exceptions import NotConverged
from onegrad.functions import IDENTITY
from onegrad.networks.equivalents import GaussianEquivalent, spiked
from onegrad.networks.fits import fits
from onegrad.networks.kernels import kernel_fit
from onegrad.networks.network import ALL, FeatureMap, Network
from onegrad.networks.options import KERNELS, Options
from onegrad.networks.sampling import Sampler, Stretch, Tick, no_tick
from onegrad.networks.streaming import total
from onegrad.networks.streams import Role
from onegrad.problem import Problem
from onegrad.ridge import Fit


@dataclass(frozen=True)
class Group:
    """One problem at several step sizes and penalties.

    Points of a grid that differ in these only have (position, row, column) among the `places`.
    """

    problem: Problem
    etas: tuple[float, ...]
    ridges: tuple[float, ...]
    places: tuple[tuple[int, int, int], ...] = ()

    @classmethod
    def of(cls, points: Sequence[Problem]) -> list[Group]:
        """The groups of a grid."""
        shared: dict[Problem, list[int]] = {}
        for i, p in enumerate(points):
            shared.setdefault(p.replace(eta=0.0, ridge=1.0), []).append(i)
        groups = []
        for members in shared.values():
            etas = tuple(dict.fromkeys(points[i].step for i in members))
            ridges = tuple(dict.fromkeys(points[i].ridge for i in members))
            places = tuple(
                (i, etas.index(points[i].step), ridges.index(points[i].ridge)) for i in members
            )
            groups.append(cls(points[members[0]], etas, ridges, places))
        return groups


@dataclass(frozen=True)
class Replicate:
    """One replicate's errors, one row per eta and one column per ridge.

    `overlap` is |P beta| / |beta|, P onto the teacher's directions and beta = X^T r/n the learned
    direction: how much of it is signal. NaN where no step was taken.
    """

    seed: int
    train: Floats
    test: Floats
    risk: Floats
    squared_loss: Floats
    overlap: float
    leave_one_out: Floats | None = None


def replicates(
    group: Group,
    seeds: Sequence[int],
    options: Options | None = None,
    *,
    ops: Ops | None = None,
    at_once: int | None = None,
    tick: Tick = no_tick,
    repeat: Repeat = run_directly,
) -> list[Replicate]:
    """Replicates of a problem computed together, one per seed: a pure function of its arguments.

    One gradient per seed serves every eta and one Gram matrix per eta every ridge; `at_once` etas
    share their matrix products (default all of them). `repeat` calls the work, or repeats it.
    """
    o, p, ops = options or Options(), group.problem, ops or get_ops()

    def work(seeds: tuple[int, ...], tick: Tick) -> dict[str, Array]:
        return _measured(group, Sampler(p, seeds, ops, o.rows, o.device_random, tick), o, at_once)

    columns = repeat(work, tuple(seeds), tick)
    overlap = columns.pop("overlap", np.full(len(seeds), np.nan))
    columns["test"] = columns["risk"] + p.noise**2
    if not np.isfinite(columns["train"]).all():
        raise NotConverged(
            "ridge failed: the penalty is lost in rounding; use a larger ridge or dtype float64"
        )
    shape = (len(seeds), len(group.etas), len(group.ridges))
    columns = {q: np.broadcast_to(value, shape) for q, value in columns.items()}
    return [
        Replicate(seed, overlap=float(overlap[i]), **{q: v[i] for q, v in columns.items()})
        for i, seed in enumerate(seeds)
    ]


def _measured(group: Group, sampler: Sampler, o: Options, at_once: int | None) -> dict[str, Array]:
    """Errors of a stack, (B, E, R), and overlaps, (B,): on the device, which nobody waits for."""
    network, tests = Network.of(sampler), o.tests(sampler.problem.n)
    etas = group.etas if o.trained else (0.0,)
    found: list[Fit] = []
    risks: list[Array] = []
    if o.model in KERNELS:
        fit, risk = kernel_fit(o.model, network, group.ridges, tests, o.leave_one_out)
        found, risks = [fit], [risk[:, None]]
    else:
        size = at_once or len(etas)
        for i in range(0, len(etas), size):
            features = features_of(o.model, network, etas[i : i + size])
            some = fits(sampler, features, group.ridges, o.leave_one_out)
            risks.append(_risks(sampler, features, some, tests))
            found += some
    xp = namespace(found[0].train)
    names = ["train", "squared_loss", *(["leave_one_out"] if o.leave_one_out else [])]
    columns = {q: xp.stack([getattr(f, q) for f in found], 1) for q in names}
    columns["risk"] = risks[0] if len(risks) == 1 else xp.concatenate(risks, 1)
    if any(etas):
        columns["overlap"] = _overlap(network)
    return columns


@dataclass(frozen=True)
class RawInputs:
    """The inputs themselves as features."""

    width: int
    networks: int = 1

    def tiles(self, rows: Stretch, neurons: slice = ALL) -> Iterator[Array]:
        yield rows.X[..., neurons]


def features_of(model: str, network: Network, etas: tuple[float, ...]) -> FeatureMap:
    """The feature map of a model at distinct etas; at zero alone, of the untrained network."""
    if model == "linear":
        return RawInputs(network.sampler.problem.d)
    if model in ("spiked", "spiked-printed") and any(etas):
        return spiked(network, etas, printed=model == "spiked-printed")
    f = IDENTITY if model == "gaussian-equivalent" else None
    features = network.trained(etas, f) if any(etas) else network.untrained(f)
    return features if f is None else GaussianEquivalent(network.sampler, features)


def _risks(sampler: Sampler, features: FeatureMap, found: Sequence[Fit], n_test: int) -> Array:
    """E (sigma_star - f_hat)^2 over fresh rows, (B, E, R); label noise is added exactly."""
    shape = (len(sampler.seeds), len(found), int(found[0].coef.shape[-1]))

    def add(squares: Array, rows: Stretch) -> None:
        for e, (F, fit) in enumerate(zip(features.tiles(rows), found, strict=True)):
            r = rows.clean[..., None] - F @ fit.coef - fit.intercept[:, None]
            squares[:, e] += (r * r).sum(-2)

    tests = (Role.TEST, n_test, 0)
    squares = total(sampler, tests, lambda: sampler.ops.zeros(*shape), add, lambda x: [x])
    return squares / n_test


def _overlap(network: Network) -> Array:
    beta = network.first.beta
    inside = (beta[:, None, :] @ network.sampler.teacher)[:, 0]
    return ((inside * inside).sum(-1) / (beta * beta).sum(-1)) ** 0.5
