"""Processes that are attacked: forked from one that has loaded the program, which costs little.

One in forty runners is the real program, started from scratch. The others are forks that call the
same `main`, and their own processes are forks behind the same pipes.
"""

import contextlib
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from subprocess import PIPE
from types import SimpleNamespace
from typing import Any, NoReturn
from unittest.mock import patch

import numpy as np

from onegrad import cli
from onegrad.experiments.runner import commit
from onegrad.parallel import children
from soak import sweeping

PROGRAM = [sys.executable, "-m", "onegrad"]
SCRATCH_SHARE = 0.025  # of the runners
MAX_FILES = 4096  # that a process has open
cli.build_parser(["sweep"])  # which loads the command, once for all forks


class Forked:
    """A process in a group of its own that runs a function and ends with what that returns."""

    def __init__(self, work: Callable[[], int]) -> None:
        self.returncode: int | None = None
        self.pid = os.fork()
        if self.pid == 0:
            _end_with(work)
        with contextlib.suppress(OSError):  # it has done so itself, and maybe more
            os.setpgid(self.pid, self.pid)

    def is_alive(self) -> bool:
        if self.returncode is None:
            self._reap(os.WNOHANG)
        return self.returncode is None

    def wait(self) -> int:
        """Return its exit code, minus the signal if it was killed."""
        if self.returncode is None:
            self._reap(0)
        assert self.returncode is not None
        return self.returncode

    def kill(self, group: bool = False) -> None:
        """Kill it, or all of its group."""
        if self.is_alive():
            (os.killpg if group else os.kill)(self.pid, signal.SIGKILL)

    def _reap(self, options: int) -> None:
        pid, status = os.waitpid(self.pid, options)
        if pid:
            self.returncode = os.waitstatus_to_exitcode(status)


def _end_with(work: Callable[[], int]) -> NoReturn:
    code = 70  # an error of the attack
    with contextlib.suppress(BaseException):
        os.setpgid(0, 0)
        null = os.open(os.devnull, os.O_RDWR)
        for stream in range(3):
            os.dup2(null, stream)
        code = work()
    os._exit(code)


class ForkedPopen(Forked):
    """What a runner starts, without the start of Python: `serve` behind the same two pipes."""

    def __init__(self, *_: Any, **__: Any) -> None:
        parent = os.getpid()
        (tasks, task_end), (result_end, results) = os.pipe(), os.pipe()

        def work() -> int:
            os.dup2(tasks, 0)
            os.dup2(results, 1)
            os.closerange(3, MAX_FILES)  # as subprocess does
            children.serve(parent)
            return 0

        super().__init__(work)
        os.close(tasks)
        os.close(results)
        self.stdin, self.stdout = os.fdopen(task_end, "wb", 0), os.fdopen(result_end, "rb", 0)


def environment() -> dict[str, str]:
    """Return the environment of a program that imports what this process imports."""
    return os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}


def start_runner(
    rng: np.random.Generator, directory: Path, size: dict[str, Any], jobs: int
) -> tuple[Forked, bool]:
    """Start `onegrad sweep run` on so many processes; return it, and whether from scratch."""
    spec = directory.with_name(f"{directory.name}.toml")
    seeds = 2 * size["cells"]
    spec.write_text(sweeping.rehearsal_toml(seeds, size["wait"], size["numbers"], 2), "utf-8")
    command = ["sweep", "run", str(spec), "--store", str(directory)]
    commit()  # once, not in every fork
    from_scratch = bool(rng.random() < SCRATCH_SHARE)

    def run_here() -> int:
        with (
            patch("onegrad.experiments.runner.core_count", lambda: jobs),
            patch.object(children, "subprocess", SimpleNamespace(Popen=ForkedPopen, PIPE=PIPE)),
        ):
            return cli.main(command)

    def run_program() -> int:
        program = [*PROGRAM, *command]
        os.execve(program[0], program, environment() | {"LOKY_MAX_CPU_COUNT": str(jobs)})

    return Forked(run_program if from_scratch else run_here), from_scratch


# -- processes of a runner -----------------------------------------------------------------------

Identity = tuple[int, str]  # a process's number and when it started: numbers are used again


def children_of(parent: int) -> set[Identity]:
    """Return the processes that a process has started and not yet reaped."""
    try:
        pids = Path(f"/proc/{parent}/task/{parent}/children").read_text("utf-8").split()
    except OSError:
        return set()
    return {(int(pid), start) for pid in pids if (start := _start_of(int(pid)))}


def still_alive(process: Identity) -> bool:
    """Return whether it is there, and not another one of the same number."""
    return _start_of(process[0]) == process[1]


def _start_of(pid: int) -> str:
    """Return when a process started, in ticks of the kernel; "" if it has ended."""
    try:
        state, *fields = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if state == "Z" else fields[18]
