"""Run the cells that a store does not hold yet, and store each result as it comes.

An executor maps a function over cells, in this process, in several or on a Dask cluster: it takes
(function, cells), yields outcomes as they finish, and draws few cells ahead of time, so that a
runner that is stopped has little in flight.
"""

import contextlib
import functools
import platform
import random
import subprocess
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from onegrad import __version__
from onegrad.arrays import get_ops, visible_gpus
from onegrad.exceptions import InvalidInput
from onegrad.experiments.cell import Cell
from onegrad.experiments.measure import CellValues, Measures
from onegrad.experiments.store import Provenance, Store
from onegrad.io.progress import TerminalProgress
from onegrad.parallel.children import child_map
from onegrad.parallel.cluster import cluster_client, cluster_map
from onegrad.parallel.cores import core_count

MAX_WORKERS = 1024  # more is taken for a slip; not tuned


@dataclass(frozen=True)
class Outcome:
    """The values of a cell, or the message of the exception that it raised."""

    key: str
    values: CellValues | None
    message: str
    provenance: Provenance


@dataclass(frozen=True)
class Summary:
    """Number of cells of a run, by how they ended, and its duration."""

    cells: int
    skipped: int
    computed: int
    failed: int
    seconds: float


CellExecutor = Callable[[Callable[[Cell], Outcome], Iterable[Cell]], Iterator[Outcome]]


def run_cells(
    cells: Iterable[Cell],
    store: Store,
    measures: Measures,
    execute: CellExecutor,
    *,
    device: str = "cpu",
    progress: TerminalProgress | None = None,
) -> Summary:
    """Compute what is missing: the cells minus the keys in the store, damaged ones left out.

    The order is shuffled: the time left is then a fair estimate, and two runners on one store
    rarely meet at the same cell. When they do, one result is stored.
    """
    start = time.monotonic()
    by_key = {cell.key: cell for cell in cells}
    condition = store.condition()
    pending = [cell for key, cell in by_key.items() if key not in condition.done]
    random.shuffle(pending)
    progress = progress or TerminalProgress(quiet=True)
    if condition.damaged:
        store.remove_damaged()
    progress.begin(len(by_key), len(by_key) - len(pending), len(condition.damaged))
    computed = failed = 0

    def unfinished() -> Iterator[Cell]:
        for cell in pending:
            if store.has(cell):
                progress.step(skipped=True)  # another runner was faster
            else:
                yield cell

    measure = functools.partial(measure_cell, measures=measures, device=device, commit=commit())
    for outcome in execute(measure, unfinished()):
        cell = by_key[outcome.key]
        if outcome.values is None:
            store.fail(cell, outcome.message, outcome.provenance.finished)
            failed += 1
            progress.step(failure=outcome.message)
        else:
            store.add(cell, outcome.values, outcome.provenance)
            computed += 1
            progress.step()
    progress.end()
    skipped = len(by_key) - computed - failed
    return Summary(len(by_key), skipped, computed, failed, time.monotonic() - start)


def measure_cell(
    cell: Cell, measures: Measures, device: str = "cpu", commit: str | None = None
) -> Outcome:
    """Compute one cell; an exception of the measure becomes a message, not a crash."""
    start = time.perf_counter()
    values, message = None, ""
    try:
        measure = measures[cell.measure]
        values = dict(measure.function(cell, device))
        if measure.device_record is not None:
            device = measure.device_record(cell, device)
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        message = f"{type(error).__name__}: {error} ({Path(where.filename).name}:{where.lineno})"
    seconds = time.perf_counter() - start
    return Outcome(cell.key, values, message, _provenance(cell, device, commit, seconds))


def lost_outcome(cell: Cell, message: str) -> Outcome:
    """Return the outcome of a cell that never came back, such as one that killed its workers."""
    return Outcome(cell.key, None, message, _provenance(cell, "unknown", None, 0.0))


def _provenance(cell: Cell, device: str, commit: str | None, seconds: float) -> Provenance:
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return Provenance(__version__, commit, cell.precision, device, seconds, platform.node(), now)


@functools.cache
def commit() -> str | None:
    """Return the commit of the source tree that this package runs from.

    None when it is installed, or when the tree's folders may not be read.
    """
    root = Path(__file__).resolve().parents[3]
    command = ["git", "-C", str(root), "describe", "--always", "--dirty", "--abbrev=12"]
    try:
        if not (root / ".git").exists():
            return None
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() or None


# -- executors -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class RunOptions:
    """Where cells run: by default in one process per core of this machine."""

    workers: int | None = None  # processes of a Dask cluster on this machine
    cluster: str | None = None  # address of an existing Dask scheduler
    device: str = "cpu"
    shard: str | None = None  # "i/k": part i of k batch jobs


def with_processes(jobs: int) -> CellExecutor:
    """Run cells in `jobs` processes of one BLAS thread each; with one job, in this process.

    A cell whose process dies runs again.
    """
    if jobs == 1:
        return map
    return lambda measure, cells: child_map(measure, cells, jobs, lost=lost_outcome)


def with_dask(client: Any) -> CellExecutor:
    """Run cells on a Dask cluster whose workers may come and go.

    A cell whose worker dies runs again.
    """
    return lambda measure, cells: cluster_map(measure, cells, client, lost=lost_outcome)


@contextlib.contextmanager
def executor(options: RunOptions) -> Iterator[CellExecutor]:
    """Yield the executor for these options; a device that this machine lacks is refused here."""
    workers, cluster = options.workers, options.cluster
    if cluster is None:  # whose workers may have what this machine lacks
        get_ops(options.device)
    if workers is not None and cluster is not None:
        raise InvalidInput("workers", problem="give workers or a cluster, not both")
    if workers is None and cluster is None:
        yield with_processes(core_count())
        return
    if workers is not None and not 1 <= workers <= MAX_WORKERS:
        raise InvalidInput("workers", workers, f"1 to {MAX_WORKERS}")
    gpus = visible_gpus() if workers is not None and options.device == "cuda" else []
    with cluster_client(cluster, workers, gpus) as client:
        yield with_dask(client)
