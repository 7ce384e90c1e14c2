"""`simulate`: a problem, a grid and seeds in; means, standard errors and per-seed values out."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from onegrad.errors import InvalidInput
from onegrad.networks.replicate import MODELS, Cell, default_test
from onegrad.networks.runner import Job, run
from onegrad.networks.sampling import Host, seed_tuple, user_rows
from onegrad.problem import Problem

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
        return cls(values.mean(0)[()], (spread / np.sqrt(k))[()], values)

    def __repr__(self) -> str:
        if np.ndim(self.mean) == 0:
            return f"{self.mean:.5g} ± {self.se:.2g}"
        return f"Measured(mean={self.mean}, se={self.se})"


@dataclass(frozen=True)
class Provenance:
    """What produced the numbers."""

    version: str
    device: str
    dtype: str
    random: str
    n_test: int | None  # None: the default of each problem
    seconds: float


@dataclass(frozen=True)
class Simulation:
    """Measured errors of real networks on a grid of problems.

    train : the ridge objective at its minimum.
    test : E(y - f_hat)^2 over fresh rows, label noise included; risk is test - noise^2.
    squared_loss : the training loss without penalty.
    leave_one_out : the leave-one-out error, where it was asked for.
    overlap : the part of the learned direction that lies in the teacher's span.
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
    leave_one_out: Measured | None
    overlap: Measured
    provenance: Provenance

    def __repr__(self) -> str:
        grid = "" if self.shape == () else f", grid {'x'.join(map(str, self.shape))}"
        errors = f"train={self.train}, test={self.test}" if self.shape == () else "train, test, ..."
        return f"Simulation({self.model}, {len(self.seeds)} seeds{grid}: {errors})"

    def results(self) -> list[dict[str, Any]]:
        """One dictionary per grid point, in C order; further axes have their own keys."""
        names = [*QUANTITIES, *(["leave_one_out"] if self.leave_one_out else []), "overlap"]
        columns: dict[str, Host] = {}
        for name in names:
            columns[name] = np.ravel(getattr(self, name).mean)
        for name in names:
            columns[f"{name}_se"] = np.ravel(getattr(self, name).se)
        fields = [p.to_dict() for p in self.points]
        shown = [
            name
            for name in fields[0]
            if name in ("alpha", "eta", "ridge") or len({f[name] for f in fields}) > 1
        ]
        return [
            {name: f[name] for name in shown}
            | {name: float(values[i]) for name, values in columns.items()}
            for i, f in enumerate(fields)
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
    leave_one_out: bool = False,
    random: str = "host",
    progress: Callable[[int, int], None] | None = None,
    batch: int | None = None,
    threads: int | None = None,
    memory_limit: float | None = None,
    **axes: Any,
) -> Simulation:
    """Train real networks: init, step, features, ridge, errors.

    Parameters
    ----------
    seeds : a count (0..k-1) or a list of whole numbers; (problem, seed) fixes the numbers.
    device, dtype : "cpu" is NumPy; "torch", "cuda" and "cuda:k" are torch. "float64" or "float32".
    rows : an array whose rows are used as inputs, each at most once per seed.
    model : what is fitted, see MODELS: the trained network, its equivalents, or a baseline.
    n_test : fresh rows per seed that measure the test error (default max(1024, n/4)).
    leave_one_out : also the leave-one-out error, by an eigendecomposition and a second pass.
    random : "host" numbers are the same on every device; "device" ones are faster on a GPU.
    progress : called with (done, total) while the run lasts.
    batch, threads, memory_limit : replicates in a stack, cores, bytes; chosen when not given.
    axes : a list is an axis of the grid, e.g. alpha=[0, .1, .2], ridge=[1e-3, 1e-2]. The eta, alpha
        and ridge axes share one gradient per seed and one Gram matrix per eta.

    See tests/networks and tests/agreement.
    """
    began = time.perf_counter()
    chosen = seed_tuple(seeds)
    if model not in MODELS:
        raise InvalidInput(f"model must be one of {', '.join(MODELS)}; got {model!r:.60}")
    if random not in ("host", "device"):
        raise InvalidInput(f"random must be host or device; got {random!r:.60}")
    for name, value in (("n_test", n_test), ("batch", batch), ("threads", threads)):
        if value is not None and (value != int(value) or value < 1):
            raise InvalidInput(f"{name} must be a whole number >= 1; got {value!r:.60}")
    points, shape = problem.grid(**axes)
    groups = _groups(points)
    if rows is not None:
        for group in groups:
            rows = user_rows(rows, group.problem, n_test or default_test(group.problem.n))
    jobs = [Job(g.problem, g.etas, g.ridges) for g in groups]
    measured = (*QUANTITIES, *(["leave_one_out"] if leave_one_out else []))
    values = {q: np.empty((len(chosen), len(points))) for q in (*measured, "overlap")}

    def store(job: int, found: Cell) -> None:
        s = chosen.index(found.seed)
        for i, row, column in groups[job].places:
            for q in measured:
                values[q][s, i] = getattr(found, q)[row, column]
            values["overlap"][s, i] = found.overlap

    run(
        jobs,
        chosen,
        store,
        progress=progress,
        device=device,
        dtype=dtype,
        batch=batch,
        threads=threads,
        memory_limit=memory_limit,
        model=model,
        n_test=n_test,
        leave_one_out=leave_one_out,
        rows=rows,
        device_random=random == "device",
    )
    columns: dict[str, Any] = {
        q: Measured.over_seeds(v.reshape(-1, *shape)) for q, v in values.items()
    }
    return Simulation(
        problem=problem,
        points=tuple(points),
        shape=shape,
        seeds=chosen,
        model=model,
        provenance=Provenance(
            _version(), device, dtype, random, n_test, time.perf_counter() - began
        ),
        **({"leave_one_out": None} | columns),
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


def _version() -> str:
    import onegrad

    return onegrad.__version__
