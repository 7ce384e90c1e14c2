"""kill -9 of a parent takes its processes with it, whatever they do, and leaves nothing behind."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from textwrap import indent

import pytest

from onegrad.parallel.children import child_map

pytestmark = pytest.mark.full  # starts and kills processes
MAX_SECONDS = 600  # not how fast they end, which nobody promises: a run must not hang
SCENES = {  # whose processes they are, and what these do
    "our own": ("return np.zeros(10**7)", """
from onegrad.parallel.children import child_map
for _ in child_map(work, range(10**6), 1, lost=None): pass
"""),
    "of joblib": ("return np.zeros(10**7)", """
from onegrad.parallel.children import process_map
for _ in process_map(work, range(10**6), 2): pass
"""),
    "of the explorer": ("while True: np.linalg.eigh(np.eye(150))", """
import asyncio
from onegrad.explorer.workers import Workers
asyncio.run(Workers(1).compute(work, 0))
"""),
    "a simulation": ("time.sleep(3600)", """
from onegrad.explorer.simulation_jobs import Simulations
Simulations(lambda run, call: iter([call(work, run)])).start("page", None)
time.sleep(3600)
"""),
}  # fmt: skip
SCENE = """
import time
from processes import work

if __name__ == "__main__":
"""
MODULE = """
import os, pathlib, time
import numpy as np

def work(item):
    pathlib.Path(os.environ["SAID"], str(os.getpid())).touch()
    {doing}
"""


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks processes up in /proc")
@pytest.mark.parametrize("whose", SCENES)
def test_a_killed_parent(tmp_path, whose):
    said = tmp_path / "said"
    said.mkdir()
    doing, scene = SCENES[whose]
    (tmp_path / "processes.py").write_text(MODULE.format(doing=doing), "utf-8")
    (tmp_path / "scene.py").write_text(SCENE + indent(scene, "    "), "utf-8")
    environment = os.environ | {"SAID": str(said)}
    parent = subprocess.Popen([sys.executable, tmp_path / "scene.py"], env=environment)
    try:
        deadline = time.monotonic() + MAX_SECONDS
        while not (pids := [int(p.name) for p in said.iterdir()]):
            assert parent.poll() is None and time.monotonic() < deadline, "nobody works"
            time.sleep(0.01)
        # before it reads large results: its processes cannot get rid of them
        parent.send_signal(signal.SIGSTOP)
        time.sleep(0.5)  # those that are about to start, start; those with results are stuck
        pids = [int(p.name) for p in said.iterdir()]
        assert all(map(alive, pids)), "they must be at work when their parent is killed"
    finally:
        parent.kill()
        parent.wait()
    deadline = time.monotonic() + MAX_SECONDS
    while any(map(alive, pids)):
        assert time.monotonic() < deadline, "a process outlives its parent"
        time.sleep(0.05)


def die_once(item):
    """kill -9 of this process, the first time for each item; odd ones each time."""
    marks, number = Path(item[0]), item[1]
    first = not (marks / str(number)).exists()
    (marks / str(number)).touch()
    if first or number % 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def test_what_a_killed_process_had_in_hand_is_done_again(tmp_path):
    lost = []
    shared = {path.name for path in Path("/dev/shm").glob("*")}

    def note(item, message):
        lost.append((item[1], message))
        return -1

    results = child_map(die_once, [(str(tmp_path), number) for number in (0, 1, 2)], 1, lost=note)
    assert sorted(results) == [-1, 0, 2]
    assert lost == [(1, "its process ended with -9, 3 times")]
    left = {path.name for path in Path("/dev/shm").glob("*")} - shared
    assert not [name for name in left if f"{os.getpid()}" in name]


def test_what_fails_is_raised_and_processes_are_not_started_for_ever(monkeypatch):
    with pytest.raises(ValueError, match="invalid literal"):
        list(child_map(int, ["four", "4"], 1, lost=None))
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(RuntimeError, match="processes in a row ended, the last with 1"):
        list(child_map(abs, range(1000), 2, lost=lambda item, message: -1))
