"""The real program: Ctrl-C at random moments, closed, full and narrow streams."""

import os
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np

import onegrad
from soak import sweeping
from soak.ledger import AttackCounts
from soak.processes import PROGRAM, environment

PACKAGE = str(Path(onegrad.__file__).parent)  # its folder: a checkout may be called the same
COMMANDS = (
    ["sweep", "run", "s.toml", "--store", "store"],
    ["predict", "--alpha", "0:0.5:41"],
    ["simulate", "--n", "300", "--d", "200", "--N", "200", "--seeds", "40"],
    ["spectrum", "--n", "200", "--d", "100", "--N", "100"],
    ["--help"],
    ["predict", "--n", "-1"],
    ["cite"],
)
SHORT_COMMANDS = (
    COMMANDS[0],
    ["predict", "--alpha", "0:0.5:2"],
    ["simulate", "--n", "30", "--d", "20", "--N", "20", "--seeds", "2"],
    ["spectrum", "--n", "30", "--d", "20", "--N", "20"],
    *COMMANDS[4:],
)
STREAMS = (">&-", "2>&-", "<&-", ">&- 2>&-", "2>/dev/full", ">/dev/null 2>&1 <&-", ">/dev/full")
MAX_INTERRUPT_SECONDS = 60.0  # on a busy machine, from Ctrl-C to the end
MAX_WAIT = 5.0  # before Ctrl-C


def interrupt(rng: np.random.Generator, count: int, where: str) -> AttackCounts:
    """Send Ctrl-C to a command and its group: one line and 130, or it had ended already."""
    counts = AttackCounts()
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "s.toml").write_text(
            sweeping.rehearsal_toml(30, wait=0.2, numbers=600), "utf-8"
        )
        for i in range(count):
            command = COMMANDS[int(rng.integers(len(COMMANDS)))]
            name = f"{where}.{i} {' '.join(command)}"
            counts.attacks += 1
            process = subprocess.Popen(
                [*PROGRAM, *command],
                cwd=folder,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
                start_new_session=True,
                env=environment(),
                preexec_fn=_hear_interrupts,  # noqa: PLW1509 -- changes signals alone
            )
            time.sleep(float(0.05 + MAX_WAIT * rng.random() ** 3))
            before = process.poll()
            if before is None:
                os.killpg(process.pid, signal.SIGINT)
            try:
                told = process.communicate(timeout=MAX_INTERRUPT_SECONDS)[1]
            except subprocess.TimeoutExpired:
                process.kill()
                told = process.communicate()[1]
                counts.fault("hung", name, told)
                continue
            _judge_interrupt(counts, name, process.returncode, told, before is None)
    return counts


def _judge_interrupt(
    counts: AttackCounts, name: str, code: int, told: str, interrupted: bool
) -> None:
    complained = "Traceback" in told or "Exception ignored" in told
    before_us = "init_import_site" in told  # which loads site-packages
    if complained and (before_us or not any(w in told for w in (PACKAGE, "site-packages"))):
        counts.ends["in Python's own start"] += 1  # which nobody can catch
    elif complained:
        counts.fault("foreign", name, told)
    elif code == 130 and told.splitlines()[-1:] and told.splitlines()[-1].endswith("interrupted"):
        counts.ends["interrupted in one line"] += 1
    elif code == -signal.SIGINT and not told:
        counts.ends["in Python's own start"] += 1
    elif code in (0, 2):
        counts.ends["ended meanwhile" if interrupted else "ended already"] += 1
    else:
        counts.fault("foreign", name, f"exit code {code}: {told} (interrupted: {interrupted})")


def _hear_interrupts() -> None:
    """Undo what a shell does to jobs in the background, and we to our processes."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


def close_streams(rng: np.random.Generator, count: int, where: str) -> AttackCounts:
    """Run commands with closed, full or narrow streams: the exit code is that of the work."""
    counts = AttackCounts()
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "s.toml").write_text(
            sweeping.rehearsal_toml(4, wait=0.0, numbers=600), "utf-8"
        )
        for i in range(count):
            command = SHORT_COMMANDS[int(rng.integers(len(SHORT_COMMANDS)))]
            streams = STREAMS[int(rng.integers(len(STREAMS)))]
            ascii_only = bool(rng.integers(2))
            line = f"exec {' '.join([*PROGRAM, *command])} {streams}".replace("s.toml", "'s.toml'")
            name = f"{where}.{i} {' '.join(command)} {streams}"
            counts.attacks += 1
            run = subprocess.run(
                ["bash", "-c", line],
                cwd=folder,
                capture_output=True,
                text=True,
                env=environment() | ({"PYTHONIOENCODING": "ascii"} if ascii_only else {}),
                timeout=600,
            )
            expected = 2 if "-1" in command else int(streams == ">/dev/full")
            if "Traceback" in run.stderr or "Exception ignored" in run.stderr:
                counts.fault("foreign", name, run.stderr)
            elif run.returncode != expected:
                counts.fault("wrong", name, f"exit code {run.returncode}: {run.stderr}")
            counts.ends[f"exit code {run.returncode}"] += 1
    return counts
