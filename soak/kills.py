"""kill -9 at random moments: of a runner, of one with its processes, of those, of a store's maker.

After each the store must be readable; in the end the sweep is resumed and every byte compared with
what the cells give when nobody is killed.
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
from onegrad.experiments import Store, run
from onegrad.experiments.executors import with_processes
from onegrad.experiments.runner import commit
from onegrad.parallel.children import MAX_ATTEMPTS
from onegrad.studies.measures import MEASURES
from soak.ledger import Tally

SMALL = (("cells", 200), ("numbers", 600), ("wait", 0.001))  # an array beside the store each
LARGE = (("cells", 60), ("numbers", 6000), ("wait", 0.02))  # results that fill a pipe
PATIENCE = 15.0  # seconds after which a process without its parent is an orphan
Size = tuple[tuple[str, float], ...]


@cache
def _expected(size: Size) -> dict[str, dict[str, bytes]]:
    cells = sweeping.rehearsal(**dict(size))
    values = {cell.key: MEASURES[cell.measure].function(cell, "cpu") for cell in cells}
    return {
        key: {k: np.asarray(v).tobytes() for k, v in found.items()} for key, found in values.items()
    }


class Scene:
    """A store under attack."""

    def __init__(self, tally: Tally, where: str, folder: str, size: Size) -> None:
        self.tally, self.where, self.size = tally, where, size
        self.directory, self.done = Path(folder), 0
        self.children: set[int] = set()

    def look(self) -> None:
        """As a reader sees it now: nothing that was there is gone."""
        if not list(self.directory.glob("*.sqlite")):
            return
        with self.judged(), Store(self.directory, create=False) as store:
            done = len(store.done())
            if done < self.done:
                self.tally.fault("lost", self.where, f"{self.done - done} cells by a kill")
            self.done = done

    def through(self, kills: int) -> None:
        """When a runner is through each cell is there, or noted as lost with its processes."""
        self.look()
        with self.judged(), Store(self.directory, create=False) as store:
            noted = [k for k, why in store.failures().items() if "its process ended" in why]
            given_up = set(noted[: kills // MAX_ATTEMPTS])
            for key in _expected(self.size).keys() - store.done() - given_up:
                self.tally.fault("lost", self.where, f"{key} when the runner was through")

    def finish(self) -> None:
        """Resume in this process and compare all that is there."""
        with self.judged():
            sweeping.sweep(str(self.directory), dict(self.size))
            found, expected = sweeping.contents(self.directory), _expected(self.size)
            for key in expected.keys() - found.keys():
                self.tally.fault("lost", self.where, key)
            for key in found.keys() & expected.keys():
                if found[key] != expected[key]:
                    self.tally.fault("wrong", self.where, key)
            if sweeping.count(self.directory) != len(expected):
                self.tally.fault("doubled", self.where, "rows")
        left = [*self.directory.glob(".*.tmp"), *self.directory.glob("arrays/.*.tmp")]
        if left:
            self.tally.fault("left", self.where, f"{len(left)} drafts")

    @contextlib.contextmanager
    def judged(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            self.tally.fault("foreign", self.where, repr(error))

    def arrays(self) -> int:
        try:
            with os.scandir(self.directory / "arrays") as entries:  # cheaper than a Path each
                return sum(1 for _ in entries)
        except FileNotFoundError:
            return 0

    def wait(self, process: Any, arrays: int, seconds: float) -> None:
        """Until so many more arrays are there, or the process is over, and a moment more."""
        goal = self.arrays() + arrays
        while self.arrays() < goal and process.is_alive():
            time.sleep(0.001)
        time.sleep(seconds)


def runner(rng: np.random.Generator, count: int, where: str) -> Tally:
    """Kills of a runner without processes."""
    return _killed(rng, count, where, SMALL, sweeping.sweep)


def group(rng: np.random.Generator, count: int, where: str) -> Tally:
    """Kills of a runner and of its group, while its processes compute or hold large results."""
    return _killed(rng, count, where, LARGE, sweep_in_processes)


def _killed(
    rng: np.random.Generator, count: int, where: str, size: Size, sweep: Callable[..., None]
) -> Tally:
    tally, children = Tally(), set[int]()
    while tally.attacks < count:
        with tempfile.TemporaryDirectory() as folder:
            scene = Scene(tally, where, folder, size)
            while tally.attacks < count and scene.done < dict(size)["cells"]:
                process = sweeping.start(sweep, folder, dict(size))
                if rng.random() < 0.8:  # among the cells; else while it starts
                    scene.wait(process, int(rng.integers(1, 8)), rng.uniform(0, 0.004))
                else:
                    time.sleep(rng.uniform(0, 0.1 if sweep is sweeping.sweep else 1.5))
                children |= _children(process.pid)
                with contextlib.suppress(ProcessLookupError):
                    whole = sweep is not sweeping.sweep and rng.random() < 0.5
                    (os.killpg if whole else os.kill)(process.pid, signal.SIGKILL)
                process.join()
                if process.exitcode != -signal.SIGKILL:
                    break  # it was over
                tally.attacks += 1
                tally.ends["killed"] += 1
                scene.look()
            scene.finish()
    _no_orphans(tally, where, children)
    return tally


def worker(rng: np.random.Generator, count: int, where: str) -> Tally:
    """Kills of a runner's processes: it starts others and finishes."""
    tally, children = Tally(), set[int]()
    while tally.attacks < count:
        with tempfile.TemporaryDirectory() as folder:
            scene = Scene(tally, where, folder, LARGE)
            process = sweeping.start(sweep_in_processes, folder, dict(LARGE))
            killed = 0
            for _ in range(5):
                scene.wait(process, int(rng.integers(1, 8)), rng.uniform(0, 0.03))
                there = sorted(_children(process.pid))
                if there and process.is_alive():
                    children |= set(there)
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(there[int(rng.integers(len(there)))], signal.SIGKILL)
                        killed += 1
            tally.attacks += killed
            tally.ends["killed"] += killed
            process.join(120)
            if process.exitcode != 0:
                tally.fault("crashed", where, f"the runner, with {process.exitcode}")
                process.kill()
            scene.through(killed)
            scene.finish()
    _no_orphans(tally, where, children)
    return tally


def creation(rng: np.random.Generator, count: int, where: str) -> Tally:
    """Kills of who makes one store after the other."""
    tally = Tally()
    for _ in range(count):
        with tempfile.TemporaryDirectory() as folder:
            begun = Path(folder, "begun")
            process = sweeping.start(make_stores, folder, str(begun))
            while not begun.exists():
                time.sleep(0.0005)
            time.sleep(rng.uniform(0, 0.03))
            process.kill()
            process.join()
            tally.attacks += 1
            tally.ends["killed"] += 1
            for directory in (path for path in Path(folder).iterdir() if path.is_dir()):
                scene = Scene(tally, where, str(directory), SMALL)
                scene.look()
                with scene.judged():
                    Store(directory, part="other").close()  # another shard
                    with Store(directory) as store:
                        store.done()
                if list(directory.glob(".*.tmp")):
                    tally.fault("left", where, "a draft of a store")
    return tally


def make_stores(folder: str, begun: str) -> None:
    Path(begun).touch()
    for i in range(10_000):
        Store(Path(folder, str(i))).close()


def sweep_in_processes(directory: str, arguments: dict[str, Any]) -> None:
    """As the command does it, on two processes, in a group of its own."""
    os.setpgid(0, 0)
    commit()
    with Store(Path(directory)) as store:
        run(sweeping.rehearsal(**arguments), store, MEASURES, with_processes(2))


def _children(parent: int) -> set[int]:
    found = set()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError, ValueError):
            if int(stat.read_text().rpartition(")")[2].split()[1]) == parent:
                found.add(int(stat.parent.name))
    return found


def _no_orphans(tally: Tally, where: str, pids: set[int]) -> None:
    deadline = time.monotonic() + PATIENCE
    while (there := {pid for pid in pids if _ours(pid)}) and time.monotonic() < deadline:
        time.sleep(0.1)
    for pid in there:
        tally.fault("orphans", where, f"process {pid}")


def _ours(pid: int) -> bool:
    """Whether it is still one of our processes, not another one of the same number."""
    with contextlib.suppress(OSError):
        alive = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
        return alive and b"onegrad.parallel.children" in Path(f"/proc/{pid}/cmdline").read_bytes()
    return False
