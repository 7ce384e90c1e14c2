"""Run the cells that a store does not hold yet, keep each result as it comes."""

from __future__ import annotations

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
from onegrad.experiments.cell import Cell
from onegrad.experiments.measures import MEASURES, origin
from onegrad.experiments.store import Provenance, Store
from onegrad.io.progress import Progress


@dataclass(frozen=True)
class Outcome:
    """What became of a cell: values, or the message of what it raised."""

    cell: str  # its JSON: what travels between processes is text and arrays
    values: dict[str, Any] | None
    message: str
    provenance: Provenance


@dataclass(frozen=True)
class Summary:
    """How a run ended."""

    cells: int
    skipped: int
    computed: int
    failed: int
    seconds: float


Executor = Callable[[Callable[[str], Outcome], Iterable[str]], Iterator[Outcome]]


def run(
    cells: Iterable[Cell],
    store: Store,
    execute: Executor,
    *,
    device: str = "cpu",
    progress: Progress | None = None,
) -> Summary:
    """Compute what is missing: the grid minus the keys in the store.

    The order is shuffled: the time left is then a fair estimate, and two runners on one store
    rarely meet at the same cell. When they do, one result is kept.
    """
    start = time.monotonic()
    wanted = {cell.key: cell for cell in cells}
    done = store.done()
    pending = [cell for key, cell in wanted.items() if key not in done]
    random.shuffle(pending)
    progress = progress or Progress(quiet=True)
    progress.begin(total=len(wanted), skipped=len(wanted) - len(pending))
    computed = failed = 0

    def unfinished() -> Iterator[str]:
        for cell in pending:
            if store.has(cell):
                progress.step(skipped=True)  # another runner was faster
            else:
                yield cell.json

    measure = functools.partial(measure_cell, device=device, commit=commit())
    for outcome in execute(measure, unfinished()):
        cell = Cell.from_json(outcome.cell)
        if outcome.values is None:
            store.fail(cell, outcome.message, outcome.provenance.finished)
            failed += 1
            progress.step(failure=outcome.message)
        else:
            store.add(cell, outcome.values, outcome.provenance)
            computed += 1
            progress.step()
    progress.end()
    skipped = len(wanted) - computed - failed
    return Summary(len(wanted), skipped, computed, failed, time.monotonic() - start)


def measure_cell(text: str, device: str = "cpu", commit: str | None = None) -> Outcome:
    """Compute one cell; an exception of the measure becomes a message, not a crash."""
    cell = Cell.from_json(text)
    start = time.perf_counter()
    values, message = None, ""
    try:
        values = dict(MEASURES[cell.measure].function(cell, device))
        device = origin(cell, device)
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        kind = type(error).__name__
        message = f"{kind}: {error} ({Path(where.filename).name}:{where.lineno})"
    return Outcome(text, values, message, _by(cell, device, commit, time.perf_counter() - start))


def lost(text: str, message: str) -> Outcome:
    """The outcome of a cell that never came back, such as one that took its workers with it."""
    return Outcome(text, None, message, _by(Cell.from_json(text), "unknown", None, 0.0))


def _by(cell: Cell, device: str, commit: str | None, seconds: float) -> Provenance:
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return Provenance(__version__, commit, cell.dtype, device, seconds, platform.node(), now)


@functools.cache
def commit() -> str | None:
    """The commit of the source tree that this package runs from; None when installed."""
    root = Path(__file__).resolve().parents[3]
    if not (root / ".git").exists():
        return None
    command = ["git", "-C", str(root), "describe", "--always", "--dirty", "--abbrev=12"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() or None
