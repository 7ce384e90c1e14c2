"""Run the cells that a store does not hold yet, and store each result as it comes."""

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

from onegrad import __version__
from onegrad.experiments.cell import Cell
from onegrad.experiments.measure import CellValues, Measures
from onegrad.experiments.store import Provenance, Store
from onegrad.io.progress import TerminalProgress


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
        device = measure.device_record(cell, device)
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        kind = type(error).__name__
        message = f"{kind}: {error} ({Path(where.filename).name}:{where.lineno})"
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
