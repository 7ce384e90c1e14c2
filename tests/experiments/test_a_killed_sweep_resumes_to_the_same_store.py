"""kill -9 at any moment loses at most the cell in flight and never changes a value."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

import sweeping
from programs import ONEGRAD

SIZE = {"cells": 600, "wait": 0.002, "numbers": 600}  # two seeds: 1,200 numbers, a file each


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    directory = tmp_path_factory.mktemp("uninterrupted")
    sweeping.sweep(str(directory), SIZE)
    return sweeping.contents(directory)


def _wait_for_files(directory: Path, more: int, process: Any) -> None:
    """Until so many more arrays are there: a moment that does not depend on the machine's load."""
    start = len(list(directory.glob("*.npy")))
    while len(list(directory.glob("*.npy"))) < start + more and process.is_alive():
        time.sleep(0.001)


def test_kills_at_random_moments(tmp_path: Path, uninterrupted: dict[str, object]) -> None:
    """Fifty of them, fewer where the sweep gets far between two: a busy machine kills late."""
    moments = random.Random(5)
    counts: list[int] = []
    for kill in range(50):
        process = sweeping.start(sweeping.sweep, str(tmp_path), SIZE)
        if kill % 5:  # most kills fall among the cells, some while the process is starting
            _wait_for_files(tmp_path / "arrays", moments.randrange(16), process)
            time.sleep(moments.uniform(0.0, 0.004))
        else:
            time.sleep(moments.uniform(0.0, 0.1))
        process.kill()
        process.join()
        if process.exitcode == 0:
            break
        assert process.exitcode == -signal.SIGKILL
        begun = (tmp_path / "cells.sqlite").exists()
        counts.append(sweeping.count(tmp_path) if begun else 0)
    assert counts == sorted(counts), "a kill lost finished cells"
    assert len(set(counts)) > 10, f"the kills must fall inside the sweep; cells done: {counts}"
    sweeping.sweep(str(tmp_path), SIZE)
    assert sweeping.contents(tmp_path) == uninterrupted


SIZES = {"seeds": 60, "numbers": 600, "seeds_per_cell": 2}


def _command(spec: Path, store: Path) -> list[str]:
    return [*ONEGRAD, "sweep", "run", str(spec), "--store", str(store)]


@pytest.mark.parametrize("kills", [3, pytest.param(50, marks=pytest.mark.slow)])
def test_the_command_with_its_processes(tmp_path: Path, kills: int) -> None:
    spec = tmp_path / "spec.toml"
    spec.write_text(sweeping.rehearsal_toml(**SIZES, wait=0.03))
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    sweeping.sweep(str(whole), {"cells": 30, "wait": 0.03, "numbers": 600})  # of the same spec
    moments = random.Random(7)
    for _ in range(kills):
        process = subprocess.Popen(
            _command(spec, broken), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        time.sleep(moments.uniform(0.5, 2.5))
        process.send_signal(signal.SIGKILL)
        process.wait()
    subprocess.run(_command(spec, broken), check=True, capture_output=True)
    assert sweeping.contents(broken) == sweeping.contents(whole)


def test_an_interrupt_keeps_what_is_done_and_says_so(tmp_path: Path) -> None:
    spec = tmp_path / "spec.toml"
    slow = sweeping.rehearsal_toml(**SIZES, wait=0.5)  # not over before it is interrupted
    spec.write_text(slow)
    environment = dict(os.environ, PYTHONUNBUFFERED="1")
    process = subprocess.Popen(
        _command(spec, tmp_path / "store"), stderr=subprocess.PIPE, text=True, env=environment
    )
    # the row of a cell follows its array, and the next array follows the row
    while len(list((tmp_path / "store" / "arrays").glob("*.npy"))) < 2:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "Traceback" not in said
    assert 0 < len(sweeping.contents(tmp_path / "store")) < 30
