"""kill -9 at random moments: of a runner, of its group, of its processes, while a store is created.

After each kill the store must be readable; in the end the sweep is resumed, and every byte is
compared with what the cells give without kills.
"""

import contextlib
import os
import signal
import tempfile
import time
from contextlib import AbstractContextManager
from functools import cache, partial
from pathlib import Path

import numpy as np

from onegrad.experiments import Store
from onegrad.parallel.children import MAX_ATTEMPTS
from onegrad.studies.measures import MEASURES
from soak import sweeping
from soak.ledger import AttackCounts, attempt
from soak.processes import Forked, Identity, children_of, start_runner, still_alive

SMALL = (("cells", 60), ("numbers", 600), ("wait", 0.001))  # each with an array beside the store
LARGE = (("cells", 40), ("numbers", 6000), ("wait", 0.01))  # results that fill a pipe
MAX_SECONDS = 300.0  # that a runner may go on after its processes were killed
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

    def __init__(self, counts: AttackCounts, where: str, directory: Path, size: Size) -> None:
        self.counts, self.where, self.size = counts, where, size
        self.directory, self.done = directory, 0

    def check_nothing_lost(self) -> None:
        """Read the store: no cell that was there is gone."""
        if not list(self.directory.glob("*.sqlite")):
            return
        with self.errors_are_faults(), Store(self.directory, create=False) as store:
            done = len(store.done())
            if done < self.done:
                self.counts.fault("lost", self.where, f"{self.done - done} cells by a kill")
            self.done = done

    def check_complete(self, kills: int, code: int) -> None:
        """Check after a run that each cell is there, or recorded as lost with its processes.

        code : with which the run ended, 1 if it gave up cells.
        """
        self.check_nothing_lost()
        with self.errors_are_faults(), Store(self.directory, create=False) as store:
            failures = store.condition().failed.items()
            recorded = [key for key, message in failures if "its process ended" in message]
            given_up = set(recorded[: kills // MAX_ATTEMPTS])
            if code != bool(failures):
                self.counts.fault("crashed", self.where, f"the runner ended with {code}")
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

    def errors_are_faults(self) -> AbstractContextManager[None]:
        """Count an exception as a fault."""
        return attempt(self.counts, self.where, attacks=0)

    def wait(self, process: Forked, arrays: int, seconds: float) -> None:
        """Wait for so many more arrays, or the end of the process, and then some seconds."""
        sweeping.wait_for_arrays(self.directory / "arrays", arrays, process)
        time.sleep(seconds)


def kill_runner(
    rng: np.random.Generator, count: int, where: str, size: Size = SMALL, jobs: int = 1
) -> AttackCounts:
    """Kill a runner, or its whole group, while it or its processes compute or send results."""
    counts, children = AttackCounts(), set[Identity]()
    while counts.attacks < count:
        with tempfile.TemporaryDirectory() as folder:
            attacked = AttackedStore(counts, where, Path(folder, "store"), size)
            while counts.attacks < count and attacked.done < dict(size)["cells"]:
                runner, from_scratch = start_runner(rng, attacked.directory, dict(size), jobs)
                if rng.random() < 0.8:  # while it computes; else while it starts
                    attacked.wait(runner, int(rng.integers(1, 8)), rng.uniform(0, 0.004))
                else:
                    time.sleep(rng.uniform(0, 3.0 if from_scratch else 0.1))
                children |= children_of(runner.pid)
                runner.kill(group=jobs > 1 and rng.random() < 0.5)
                counts.attacks += _judge_kill(counts, where, runner.wait(), from_scratch)
                attacked.check_nothing_lost()
            attacked.resume_and_compare()
    _count_orphans(counts, where, children)
    return counts


kill_group = partial(kill_runner, size=LARGE, jobs=2)


def _judge_kill(counts: AttackCounts, where: str, code: int, from_scratch: bool) -> bool:
    """Return whether it was an attack: a runner that had ended already was none, if all is well."""
    if code == -signal.SIGKILL:
        counts.ends["killed from scratch" if from_scratch else "killed"] += 1
    elif code != 0:
        counts.fault("crashed", where, f"the runner ended with {code}")
    return code != 0


def kill_worker(rng: np.random.Generator, count: int, where: str) -> AttackCounts:
    """Kill processes of a runner, which starts others and finishes."""
    counts, children = AttackCounts(), set[Identity]()
    while counts.attacks < count:
        with tempfile.TemporaryDirectory() as folder:
            attacked = AttackedStore(counts, where, Path(folder, "store"), LARGE)
            runner, from_scratch = start_runner(rng, attacked.directory, dict(LARGE), jobs=2)
            killed = 0
            for _ in range(5):
                attacked.wait(runner, int(rng.integers(1, 8)), rng.uniform(0, 0.03))
                running = sorted(children_of(runner.pid))
                if running and runner.is_alive():
                    children |= set(running)
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(running[int(rng.integers(len(running)))][0], signal.SIGKILL)
                        killed += 1
            counts.attacks += killed
            counts.ends["killed from scratch" if from_scratch else "killed"] += killed
            deadline = time.monotonic() + MAX_SECONDS
            while runner.is_alive() and time.monotonic() < deadline:
                time.sleep(0.005)
            runner.kill()
            code = runner.wait()
            counts.attacks += code != 0 and killed == 0
            attacked.check_complete(killed, code)
            attacked.resume_and_compare()
    _count_orphans(counts, where, children)
    return counts


def kill_creation(rng: np.random.Generator, count: int, where: str) -> AttackCounts:
    """Kill a process that creates one store after the other."""
    counts = AttackCounts()
    for _ in range(count):
        with tempfile.TemporaryDirectory() as folder:
            maker = Forked(lambda folder=folder: make_stores(Path(folder)))
            while not Path(folder, "0").exists() and maker.is_alive():
                time.sleep(0.0005)
            time.sleep(rng.uniform(0, 0.01))
            maker.kill()
            counts.attacks += _judge_kill(counts, where, maker.wait(), from_scratch=False)
            for directory in Path(folder).iterdir():
                attacked = AttackedStore(counts, where, directory, SMALL)
                attacked.check_nothing_lost()
                with attacked.errors_are_faults():
                    Store(directory, part="other").close()  # another shard
                    with Store(directory) as store:
                        store.done()
                if list(directory.glob(".*.tmp")):
                    counts.fault("left", where, "a draft of a store")
    return counts


def make_stores(folder: Path) -> int:
    """Create stores until killed."""
    for i in range(10_000):
        Store(folder / str(i)).close()
    return 0


def _count_orphans(counts: AttackCounts, where: str, processes: set[Identity]) -> None:
    """Count the processes that outlive their parent by too long, and end them."""
    deadline = time.monotonic() + MAX_ORPHAN_SECONDS
    while (orphans := set(filter(still_alive, processes))) and time.monotonic() < deadline:
        time.sleep(0.1)
    for pid, _ in orphans:
        counts.fault("orphans", where, f"process {pid}")
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
