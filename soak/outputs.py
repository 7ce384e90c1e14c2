"""Outputs that name no regular file: each is refused in one line, and stays what it is.

Every path is in a folder of the attack, never one of the system.
"""

import contextlib
import os
import re
import socket
import stat
import tempfile
from pathlib import Path

import numpy as np

from onegrad.cli import main
from soak.inputs import run_command
from soak.ledger import AttackCounts, attempt

PROBLEM = "--n 60 --d 30 --N 40 --theory random-features --ridge 1,2"
FIT = "fit rows.npz --target y --estimator one-step --width 6"
SPEC = """
[problem]
n = 60
d = 30
N = 40

[[grid]]
measure = "theory"
options.theory = "random-features"
"""
# the option that comes last, a suffix that it takes, and the work that must not have begun
FILES = {
    f"predict {PROBLEM} --plot": (".svg", "onegrad.cli.predict.predict"),
    "compare --plot": (".svg", "onegrad.comparison.compare"),
    "spectrum --plot": (".svg", "onegrad.theory.spectrum"),
    "optimum --plot": (".svg", "onegrad.cli.optimum.optimum"),
    f"{FIT} --no-card --out": (".model", "onegrad.tables.OneStepRegressor.fit"),
    f"{FIT} --out new.model --card": (".html", "onegrad.tables.OneStepRegressor.fit"),
    "apply y.model rows.npz --out": (".csv", "onegrad.tables.OneStepRegressor.predict"),
    "explore --export": (".html", "onegrad.explorer.export.write_page"),
    "sweep export grid.toml --store store --out": (".csv", "onegrad.cli.sweep.export"),
}


def make_inputs(folder: Path) -> None:
    """Make the files that the commands read; `folder` is the current one."""
    (folder / "grid.toml").write_text(SPEC, "utf-8")
    X = np.random.default_rng(0).standard_normal((50, 3))
    np.savez(folder / "rows.npz", X=X, y=X[:, 0])
    for command in (f"{FIT} --no-card --out y.model", "sweep run grid.toml --store store"):
        assert main(command.split()) == 0


def special_paths(suffix: str) -> dict[str, str]:
    """Make each kind of path that may not be replaced, and return what a complaint says of it."""
    os.mkfifo(f"pipe{suffix}")
    Path(f"folder{suffix}").mkdir()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"socket{suffix}")
    for name, target in ("nowhere", "volume/gone"), ("loop", "loop"), ("to-pipe", "pipe"):
        Path(f"{name}{suffix}").symlink_to(f"{target}{suffix}")
    words = {
        f"pipe{suffix}": "a pipe",
        f"to-pipe{suffix}": "a pipe",
        f"folder{suffix}": "a folder",
        f"socket{suffix}": "a socket",
        f"nowhere{suffix}": "leads nowhere",
        f"loop{suffix}": "cannot be written",
        f"{'long' * 70}{suffix}": "cannot be written",
        f"no/folder{suffix}": "no such directory",
        ".": "a folder|a file that ends in",
    }
    try:  # a null device of our own, where that is allowed
        os.mknod(f"node{suffix}", stat.S_IFCHR | 0o666, os.makedev(1, 3))
    except OSError:
        return words
    return words | {f"node{suffix}": "a device"}


def name_special_paths(rng: np.random.Generator, count: int, where: str) -> AttackCounts:
    """Let commands write to what is no regular file, with and without --force."""
    counts, commands = AttackCounts(), list(FILES)
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        with contextlib.redirect_stdout(None), contextlib.redirect_stderr(None):
            make_inputs(Path(folder))
        paths = {suffix: special_paths(suffix) for suffix in {s for s, _ in FILES.values()}}
        before = _states()
        for i in range(count):
            command = commands[int(rng.integers(len(commands)))]
            words = paths[FILES[command][0]]
            path = list(words)[int(rng.integers(len(words)))]
            force, name = ["--force"] * int(rng.integers(2)), f"{where}.{i} {command} {path:.20}"
            with attempt(counts, name):
                code, line = run_command([*command.split(), path, *force])
                if code != 2 or line.count("\n") != 1 or not re.search(words[path], line):
                    counts.fault("foreign", name, f"exit code {code}: {line}")
                if (after := _states()) != before:
                    counts.fault("lost", name, sorted(after.items() ^ before.items()))
                    before = after
                counts.ends["refused"] += 1
    return counts


def _states() -> dict[str, tuple[int, ...]]:
    """Return what everything in the current folder is."""
    states = {entry.name: entry.stat(follow_symlinks=False) for entry in os.scandir()}
    return {name: (s.st_mode, s.st_ino, s.st_rdev, s.st_size) for name, s in states.items()}
