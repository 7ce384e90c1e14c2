"""`simulate`: a problem, a grid and seeds in; means, standard errors and per-seed values out."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from onegrad._xp import backend
from onegrad.problem import Problem
from onegrad.simulate.cell import Cell, cells
from onegrad.simulate.sampling import Host, seed_tuple

QUANTITIES = ("train", "test", "risk", "squared_loss")


@dataclass(frozen=True)
class Measured:
    """Mean over the seeds, its standard error, and the values with a leading axis of seeds."""

    mean: Any  # a float, or an array of the grid's shape
    se: Any
    values: Host

    @classmethod
    def over_seeds(cls, values: Host) -> Measured:
        k = len(values)
        spread = values.std(0, ddof=1) if k > 1 else np.full(values.shape[1:], np.nan)
        mean, se = values.mean(0), spread / np.sqrt(k)
        return cls(mean[()], se[()], values)


@dataclass(frozen=True)
class Provenance:
    """What produced the numbers."""

    version: str
    device: str
    dtype: str
    random: str
    n_test: int | None
    seconds: float


@dataclass(frozen=True)
class Simulation:
    """Measured errors of real networks on a grid of problems.

    `train` is the ridge objective at its minimum, `test` is E(y - f_hat)^2 with label noise,
    `risk` is test - noise^2, `squared_loss` the training loss without penalty, `overlap` the part
    of the learned direction that lies in the teacher's span.
    """

    problem: Problem
    points: tuple[Problem, ...]
    shape: tuple[int, ...]
    seeds: tuple[int, ...]
    model: str
    train: Measured
    test: Measured
    risk: Measured
    squared_loss: Measured
    overlap: Measured
    provenance: Provenance

    def results(self) -> list[dict[str, Any]]:
        """One dictionary per grid point, in C order."""
        columns = {
            **{q: np.ravel(getattr(self, q).mean) for q in QUANTITIES},
            **{f"{q}_se": np.ravel(getattr(self, q).se) for q in QUANTITIES},
        }
        return [
            {"alpha": p.alpha, "eta": p.eta, "ridge": p.ridge}
            | {name: float(values[i]) for name, values in columns.items()}
            for i, p in enumerate(self.points)
        ]


def simulate(
    problem: Problem,
    seeds: int | Sequence[int] = 20,
    *,
    device: str = "cpu",
    dtype: str = "float64",
    rows: Any = None,
    model: str = "trained",
    n_test: int | None = None,
    random: str = "host",
    progress: Callable[[int, int], None] | None = None,
    batch: int | None = None,
    memory_limit: float | None = None,
    **axes: Any,
) -> Simulation:
    """Train real networks: init, step, features, ridge, errors.

    A list in `axes` is an axis of the grid, e.g. alpha=[0, .1, .2], ridge=[1e-3, 1e-2]; eta, alpha
    and ridge axes share one gradient per seed and one Gram matrix per eta.
    """
    began = time.perf_counter()
    chosen = seed_tuple(seeds)
    points, shape = problem.grid(**axes)
    be = backend(device, dtype)
    groups = _groups(points)
    values = {q: np.empty((len(chosen), len(points))) for q in (*QUANTITIES, "overlap")}
    done = 0
    for group in groups:
        for s, seed in enumerate(chosen):
            (found,) = cells(
                group.problem, (seed,), group.etas, group.ridges, n_test=n_test, on=be, model=model
            )
            _store(values, s, group, found)
            done += 1
            if progress:
                progress(done, len(groups) * len(chosen))
    return Simulation(
        problem=points[0] if shape == () else problem,
        points=tuple(points),
        shape=shape,
        seeds=chosen,
        model=model,
        provenance=Provenance(
            _version(), device, dtype, random, n_test, time.perf_counter() - began
        ),
        **{q: Measured.over_seeds(v.reshape(-1, *shape)) for q, v in values.items()},
    )


@dataclass(frozen=True)
class Group:
    """Grid points that differ in eta and ridge only: (position, row, column) of each."""

    problem: Problem
    etas: tuple[float, ...]
    ridges: tuple[float, ...]
    places: tuple[tuple[int, int, int], ...]


def _groups(points: Sequence[Problem]) -> list[Group]:
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
        groups.append(Group(points[members[0]], etas, ridges, places))
    return groups


def _store(values: dict[str, Host], s: int, group: Group, found: Cell) -> None:
    for i, row, column in group.places:
        for q in QUANTITIES:
            values[q][s, i] = getattr(found, q)[row, column]
        values["overlap"][s, i] = found.overlap


def _version() -> str:
    import onegrad

    return onegrad.__version__
