"""kill -9 at random moments: of a runner, of its group, of its processes, while a store is created.

After each kill the store must be readable; in the end the sweep is resumed, and every byte is
compared with what the cells give without kills.
"""

from __future__ import annotations

import contextlib
import os
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import sweeping
from onegrad.experiments import Store, run_cells
from onegrad.experiments.executors import with_processes
from onegrad.experiments.runner import commit
from onegrad.parallel.children import MAX_ATTEMPTS
from onegrad.studies.measures import MEASURES
from soak.ledger import AttackCounts

SMALL = (("cells", 200), ("numbers", 600), ("wait", 0.001))  # each with an array beside the store
LARGE = (("cells", 60), ("numbers", 6000), ("wait", 0.02))  # results that fill a pipe
MAX_ORPHAN_SECONDS = 15.0  # that a process may outlive its parent
Size = tuple[tuple[str, float], ...]


@cache
def expected_cells(size: Size) -> dict[str, dict[str, bytes]]:
    cells = sweeping.rehearsal(**dict(size))
    values = {cell.key: MEASURES[cell.measure].function(cell, "cpu") for cell in cells}
    return {
        key: {k: np.asarray(v).tobytes() for k, v in arrays.items()}
        for key, arrays in values.items()
    }


class AttackedStore:
    """A store whose runners are killed, and what is known of it so far."""

    def __init__(self, counts: AttackCounts, where: str, folder: str, size: Size) -> None:
        self.counts, self.where, self.size = counts, where, size
        self.directory, self.done = Path(folder), 0
        self.children: set[int] = set()

    def check_nothing_lost(self) -> None:
        """Read the store: no cell that was there is gone."""
        if not list(self.directory.glob("*.sqlite")):
            return
        with self.errors_are_faults(), Store(self.directory, create=False) as store:
            done = len(store.done())
            if done < self.done:
                self.counts.fault("lost", self.where, f"{self.done - done} cells by a kill")
            self.done = done

    def check_complete(self, kills: int) -> None:
        """Check after a run that each cell is there, or recorded as lost with its processes."""
        self.check_nothing_lost()
        with self.errors_are_faults(), Store(self.directory, create=False) as store:
            failures = store.failures().items()
            recorded = [key for key, message in failures if "its process ended" in message]
            given_up = set(recorded[: kills // MAX_ATTEMPTS])
            for key in expected_cells(self.size).keys() - store.done() - given_up:
                self.counts.fault("lost", self.where, f"{key} after a complete run")

    def resume_and_compare(self) -> None:
        """Resume the sweep in this process and compare every byte."""
        with self.errors_are_faults():
            sweeping.sweep(str(self.directory), dict(self.size))
            contents, expected = sweeping.contents(self.directory), expected_cells(self.size)
            for key in expected.keys() - contents.keys():
                self.counts.fault("lost", self.where, key)
            for key in contents.keys() & expected.keys():
                if contents[key] != expected[key]:
                    self.counts.fault("wrong", self.where, key)
            if sweeping.count(self.directory) != len(expected):
                self.counts.fault("doubled", self.where, "rows")
        drafts = [*self.directory.glob(".*.tmp"), *self.directory.glob("arrays/.*.tmp")]
        if drafts:
            self.counts.fault("left", self.where, f"{len(drafts)} drafts")

    @contextlib.contextmanager
    def errors_are_faults(self) -> Iterator[None]:
        """Count an exception as a fault."""
        try:
            yield
        except Exception as error:
            self.counts.fault("foreign", self.where, repr(error))

    def array_count(self) -> int:
        try:
            with os.scandir(self.directory / "arrays") as entries:  # cheaper than one Path per file
                return sum(1 for _ in entries)
        except FileNotFoundError:
            return 0

    def wait(self, process: Any, arrays: int, seconds: float) -> None:
        """Wait for so many more arrays, or the end of the process, and then some seconds."""
        goal = self.array_count() + arrays
        while self.array_count() < goal and process.is_alive():
            time.sleep(0.001)
        time.sleep(seconds)


def kill_runner(rng: np.random.Generator, count: int, where: str) -> AttackCounts:
    """Kill a runner that computes in its own process."""
    return _kill_repeatedly(rng, count, where, SMALL, sweeping.sweep)


def kill_group(rng: np.random.Generator, count: int, where: str) -> AttackCounts:
    """Kill a runner, or its whole group, while its processes compute or send large results."""
    return _kill_repeatedly(rng, count, where, LARGE, sweep_in_processes)


def _kill_repeatedly(
    rng: np.random.Generator, count: int, where: str, size: Size, sweep: Callable[..., None]
) -> AttackCounts:
    counts, children = AttackCounts(), set[int]()
    while counts.attacks < count:
        with tempfile.TemporaryDirectory() as folder:
            attacked = AttackedStore(counts, where, folder, size)
            while counts.attacks < count and attacked.done < dict(size)["cells"]:
                process = sweeping.start(sweep, folder, dict(size))
                if rng.random() < 0.8:  # while it computes; else while it starts
                    attacked.wait(process, int(rng.integers(1, 8)), rng.uniform(0, 0.004))
                else:
                    time.sleep(rng.uniform(0, 0.1 if sweep is sweeping.sweep else 1.5))
                children |= _children(process.pid)
                with contextlib.suppress(ProcessLookupError):
                    kill_all = sweep is not sweeping.sweep and rng.random() < 0.5
                    (os.killpg if kill_all else os.kill)(process.pid, signal.SIGKILL)
                process.join()
                if process.exitcode != -signal.SIGKILL:
                    break  # it had ended already
                counts.attacks += 1
                counts.ends["killed"] += 1
                attacked.check_nothing_lost()
            attacked.resume_and_compare()
    _count_orphans(counts, where, children)
    return counts


def kill_worker(rng: np.random.Generator, count: int, where: str) -> AttackCounts:
    """Kill processes of a runner, which starts others and finishes."""
    counts, children = AttackCounts(), set[int]()
    while counts.attacks < count:
        with tempfile.TemporaryDirectory() as folder:
            attacked = AttackedStore(counts, where, folder, LARGE)
            process = sweeping.start(sweep_in_processes, folder, dict(LARGE))
            killed = 0
            for _ in range(5):
                attacked.wait(process, int(rng.integers(1, 8)), rng.uniform(0, 0.03))
                running = sorted(_children(process.pid))
                if running and process.is_alive():
                    children |= set(running)
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(running[int(rng.integers(len(running)))], signal.SIGKILL)
                        killed += 1
            counts.attacks += killed
            counts.ends["killed"] += killed
            process.join(120)
            if process.exitcode != 0:
                counts.fault("crashed", where, f"the runner ended with {process.exitcode}")
                process.kill()
            attacked.check_complete(killed)
            attacked.resume_and_compare()
    _count_orphans(counts, where, children)
    return counts


def kill_creation(rng: np.random.Generator, count: int, where: str) -> AttackCounts:
    """Kill a process that creates one store after the other."""
    counts = AttackCounts()
    for _ in range(count):
        with tempfile.TemporaryDirectory() as folder:
            started = Path(folder, "started")
            process = sweeping.start(make_stores, folder, str(started))
            while not started.exists():
                time.sleep(0.0005)
            time.sleep(rng.uniform(0, 0.03))
            process.kill()
            process.join()
            counts.attacks += 1
            counts.ends["killed"] += 1
            for directory in (path for path in Path(folder).iterdir() if path.is_dir()):
                attacked = AttackedStore(counts, where, str(directory), SMALL)
                attacked.check_nothing_lost()
                with attacked.errors_are_faults():
                    Store(directory, part="other").close()  # another shard
                    with Store(directory) as store:
                        store.done()
                if list(directory.glob(".*.tmp")):
                    counts.fault("left", where, "a draft of a store")
    return counts


def make_stores(folder: str, started: str) -> None:
    """Create stores until killed; the file `started` says that it has begun."""
    Path(started).touch()
    for i in range(10_000):
        Store(Path(folder, str(i))).close()


def sweep_in_processes(directory: str, arguments: dict[str, Any]) -> None:
    """Sweep on two processes as the command does, in a process group of its own."""
    os.setpgid(0, 0)
    commit()
    with Store(Path(directory)) as store:
        run_cells(sweeping.rehearsal(**arguments), store, MEASURES, with_processes(2))


def _children(parent: int) -> set[int]:
    children = set()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError, ValueError):
            if int(stat.read_text().rpartition(")")[2].split()[1]) == parent:
                children.add(int(stat.parent.name))
    return children


def _count_orphans(counts: AttackCounts, where: str, pids: set[int]) -> None:
    deadline = time.monotonic() + MAX_ORPHAN_SECONDS
    while (orphans := {pid for pid in pids if _is_ours(pid)}) and time.monotonic() < deadline:
        time.sleep(0.1)
    for pid in orphans:
        counts.fault("orphans", where, f"process {pid}")


def _is_ours(pid: int) -> bool:
    """Return whether it is still one of our processes, not another one of the same number."""
    with contextlib.suppress(OSError):
        alive = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
        return alive and b"onegrad.parallel.children" in Path(f"/proc/{pid}/cmdline").read_bytes()
    return False
