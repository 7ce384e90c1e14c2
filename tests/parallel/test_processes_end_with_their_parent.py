"""kill -9 of a parent takes its processes with it, whatever they do, and leaves nothing behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from textwrap import indent

import pytest

from onegrad.parallel.children import child_map

SCENES = {
    "our own": """
from onegrad.parallel.children import child_map
for _ in child_map(work, range(10**6), 1, lost=None): pass
""",
    "of joblib": """
from onegrad.parallel.children import process_map
for _ in process_map(work, range(10**6), 2): pass
""",
    "of the explorer": """
import asyncio
from onegrad.explorer.workers import Workers
asyncio.run(Workers(1).compute(work, 0))
""",
    "a simulation": """
from onegrad.explorer.simulation_jobs import Simulations
Simulations(work).start("page", None)
time.sleep(3600)
""",
}
SCENE = """
import time
from processes import work

if __name__ == "__main__":
"""
WORK = {
    "waits": "time.sleep(3600)",
    "computes": "while True: np.linalg.eigh(np.eye(150))",
    "is blocked in a pipe": "return np.zeros(10**7)",
}
MODULE = """
import os, pathlib, time
import numpy as np

def work(item):
    pathlib.Path(os.environ["SAID"], str(os.getpid())).touch()
    {doing}
"""


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks processes up in /proc")
@pytest.mark.parametrize(
    ("whose", "doing"),
    [
        ("our own", "waits"),
        ("our own", "is blocked in a pipe"),
        ("of joblib", "is blocked in a pipe"),
        ("of the explorer", "computes"),
        ("a simulation", "waits"),
    ],
)
def test_a_killed_parent(tmp_path: Path, whose: str, doing: str) -> None:
    said = tmp_path / "said"
    said.mkdir()
    (tmp_path / "processes.py").write_text(MODULE.format(doing=WORK[doing]))
    (tmp_path / "scene.py").write_text(SCENE + indent(SCENES[whose], "    "))
    # the parent is stopped before it reads large results: its processes cannot get rid of them
    parent = subprocess.Popen([sys.executable, tmp_path / "scene.py"],
                              env=os.environ | {"SAID": str(said)})  # fmt: skip
    try:
        deadline = time.monotonic() + 600
        while not (pids := [int(p.name) for p in said.iterdir()]):
            assert parent.poll() is None and time.monotonic() < deadline, "nobody works"
            time.sleep(0.01)
        parent.send_signal(signal.SIGSTOP)
        time.sleep(1.0)  # those that are about to start, start; those with results are stuck
        pids = [int(p.name) for p in said.iterdir()]
        assert all(map(alive, pids)), "they must be at work when their parent is killed"
    finally:
        parent.kill()
        parent.wait()
    deadline = time.monotonic() + 15
    while any(map(alive, pids)):
        assert time.monotonic() < deadline, "a process outlived its parent by 15 s"
        time.sleep(0.05)


def identity(item: int) -> int:
    return item


def die_once(item: tuple[str, int]) -> int:
    """kill -9 of this process, the first time for each item; odd ones each time."""
    marks, number = Path(item[0]), item[1]
    first = not (marks / str(number)).exists()
    (marks / str(number)).touch()
    if first or number % 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def fail(item: int) -> int:
    raise ZeroDivisionError(f"at {item}")


def unexpected(item: int, message: str) -> int:
    raise AssertionError(message)


def test_what_a_killed_process_had_in_hand_is_done_again(tmp_path: Path) -> None:
    lost = []
    items = [(str(tmp_path), number) for number in (0, 1, 2)]

    def note(item: tuple[str, int], message: str) -> int:
        lost.append((item[1], message))
        return -1

    found = sorted(child_map(die_once, items, 1, lost=note))
    assert found == [-1, 0, 2]
    assert lost == [(1, "its process ended with -9, 3 times")]


def test_what_the_function_raises_is_raised_here() -> None:
    with pytest.raises(ZeroDivisionError, match="at 0"):
        list(child_map(fail, range(3), 1, lost=unexpected))


def test_processes_that_cannot_start_are_not_started_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(RuntimeError, match="processes in a row ended, the last with 1"):
        list(child_map(identity, range(1000), 2, lost=lambda item, message: -1))


def test_nothing_is_made_in_shared_memory() -> None:
    shared = Path("/dev/shm")
    before = {path.name for path in shared.glob("*")}
    found = list(child_map(identity, range(10), 1, lost=unexpected))
    after = {path.name for path in shared.glob("*")}
    assert sorted(found) == list(range(10))
    assert not [name for name in after - before if f"{os.getpid()}" in name]
