"""Small sweeps for tests of the experiment machinery, run in processes that may be killed."""

import json
import multiprocessing
import os
import resource
import signal
import sqlite3
import subprocess
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from onegrad.experiments import Cell, Store, cells_of, run_cells
from onegrad.experiments.runner import commit, with_processes
from onegrad.experiments.spec import parse_spec
from onegrad.io.progress import TerminalProgress
from onegrad.studies.measures import MEASURES

NOBODY = 65534
processes = multiprocessing.get_context("forkserver")
processes.set_forkserver_preload(["onegrad.studies.measures"])


def rehearsal(cells: int = 60, wait: float = 0.0, numbers: int = 1) -> list[Cell]:
    """Trivial cells; with more than 1,000 numbers each also writes an array beside the store."""
    grid = {
        "measure": "rehearsal",
        "seeds": 2 * cells,
        "seeds_per_cell": 2,
        "options": {"wait": wait, "numbers": numbers},
        "problem": {"n": 10, "d": 5, "N": 5},
    }
    return cells_of(parse_spec({"grid": grid}, "test", MEASURES).grids[0])


def rehearsal_toml(seeds: int, wait: float, numbers: int = 10, seeds_per_cell: int = 1) -> str:
    """The spec of trivial cells as a file has it, for the program itself."""
    return f"""
[[grid]]
measure = "rehearsal"
seeds = {seeds}
seeds_per_cell = {seeds_per_cell}
options = {{ wait = {wait}, numbers = {numbers} }}
problem = {{ n = 10, d = 5, N = 5 }}
"""


def may_mount() -> bool:
    """Whether file systems can be mounted here, which takes root and its own namespace."""
    return os.geteuid() == 0 and subprocess.run(["unshare", "-m", "true"]).returncode == 0


def sweep(directory: str, arguments: dict[str, Any], said: str = "", gate: Any = None) -> None:
    """Run a rehearsal in this process; what happened goes to the file `said`.

    gate : a barrier at which it waits for others before the first cell.
    """
    commit()
    cells = rehearsal(**arguments)
    with Store(Path(directory)) as store:
        if gate is not None:
            gate.wait()
        quiet = TerminalProgress(quiet=True)
        summary = run_cells(cells, store, MEASURES, with_processes(1), progress=quiet)
    if said:
        Path(said).write_text(json.dumps(summary.__dict__), "utf-8")


def start(target: Callable[..., None], *args: Any) -> Any:
    """A process that runs target(*args)."""
    process = processes.Process(target=target, args=args)
    process.start()
    return process


def wait_for_arrays(arrays: Path, more: int, process: Any) -> None:
    """Until so many more are there: a moment that does not depend on the machine's load."""
    start = len(list(arrays.glob("*.npy")))
    while len(list(arrays.glob("*.npy"))) < start + more and process.is_alive():
        time.sleep(0.001)


def count(directory: Path) -> int:
    """Finished cells; asserts that the file itself is sound."""
    with closing(sqlite3.connect(directory / "cells.sqlite")) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        query = "SELECT COUNT(*), COUNT(DISTINCT key) FROM cells"
        rows, keys = connection.execute(query).fetchone()
    assert rows == keys
    return int(rows)


def contents(directory: Path) -> dict[str, Any]:
    """Every cell's values by key, as exact bytes."""
    with Store(directory, create=False) as store:
        found = {r.cell.key: {k: v.tobytes() for k, v in r.values.items()} for r in store.records()}
    assert len(found) == count(directory)
    return found


def complain(said: str, work: Callable[[], None]) -> None:
    """Do the work and write down the kind and text of the exception that it raised."""
    try:
        work()
        Path(said).write_text("nothing was raised", "utf-8")
    except Exception as error:
        Path(said).write_text(f"{type(error).__name__}: {error}", "utf-8")


def sweep_on_full_disk(directory: str, limit: int, arguments: dict[str, Any], said: str) -> None:
    """As on a full disk: the kernel refuses to let any file grow beyond `limit` bytes."""
    with Path(said).open("w", encoding="utf-8"):
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # write() then fails with EFBIG
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    complain(said, lambda: sweep(directory, arguments))


def sweep_without_rights(directory: str, arguments: dict[str, Any], said: str) -> None:
    """As a user who may not write: root would be let through."""
    Path(said).touch()
    Path(said).chmod(0o666)
    if os.geteuid() == 0:
        os.setegid(NOBODY)
        os.seteuid(NOBODY)
    complain(said, lambda: sweep(directory, arguments))
