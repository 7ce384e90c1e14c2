"""What a sweep costs beside its cells: 2,000 trivial cells, milliseconds a cell outside the cell.

    python benchmarks/sweep_overhead.py [--cells 2000]

"Outside" is the sweep's wall-clock time minus the time that the cells themselves report (divided by
the number of processes), per cell: reading the grid, hashing, handing out, the store's transaction,
and the start of the processes. The floor is the same number of bare one-row SQLite transactions,
measured in the same run.
"""

import argparse
import sqlite3
import tempfile
import time
from pathlib import Path

from onegrad.experiments import Cell, Store, cells_of, run_cells
from onegrad.experiments.runner import CellExecutor, RunOptions, executor, with_processes
from onegrad.experiments.spec import parse_spec
from onegrad.studies.measures import MEASURES

LIMIT = 5.0  # milliseconds a cell


def trivial(count: int) -> list[Cell]:
    problem = {"n": 10, "d": 5, "N": 5}
    grid = {"measure": "rehearsal", "seeds": count, "seeds_per_cell": 1, "problem": problem}
    return cells_of(parse_spec({"grid": grid}, "overhead", MEASURES).grids[0])


def outside(count: int, execute: CellExecutor, processes: int) -> float:
    """Milliseconds a cell outside the cell, the start of the processes included."""
    with tempfile.TemporaryDirectory() as directory, Store(Path(directory)) as store:
        start = time.perf_counter()
        summary = run_cells(trivial(count), store, MEASURES, execute)
        wall = time.perf_counter() - start
        inside = sum(by.seconds for by in store.provenances().values())
    assert summary.computed == count and summary.failed == 0
    return 1e3 * (wall - inside / processes) / count


def floor(count: int) -> float:
    """Milliseconds of a one-row transaction in the same kind of file."""
    with tempfile.TemporaryDirectory() as directory:
        connection = sqlite3.connect(Path(directory) / "floor.sqlite")
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=NORMAL")
        connection.execute("CREATE TABLE t (key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID")
        start = time.perf_counter()
        for i in range(count):
            with connection:
                connection.execute("INSERT INTO t VALUES (?, ?)", (f"{i:064d}", "x" * 500))
        spent = time.perf_counter() - start
        connection.close()
    return 1e3 * spent / count


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cells", type=int, default=2000)
    count = parser.parse_args().cells
    measured = {"one process": outside(count, with_processes(1), 1)}
    measured["2 processes"] = outside(count, with_processes(2), 2)
    with executor(RunOptions(workers=2)) as execute:
        measured["Dask, 2 workers"] = outside(count, execute, 2)
    print(f"floor, a bare transaction: {floor(count):.3f} ms")
    for name, value in measured.items():
        print(f"{name}: {value:.2f} ms a cell outside the cell ({count} cells)")
    slow = [name for name, value in measured.items() if value >= LIMIT]
    print("within" if not slow else f"BEYOND ({', '.join(slow)})", f"the limit of {LIMIT:g} ms")
    return 1 if slow else 0


if __name__ == "__main__":
    raise SystemExit(main())
