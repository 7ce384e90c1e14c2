"""kill -9 at any moment loses at most the cell in flight and never changes a value.

`make soak` does so at many more moments, also to the command with its processes.
"""

import random
import signal
import time
from pathlib import Path

import pytest
from soak import sweeping

SIZE = {"cells": 150, "wait": 0.002, "numbers": 600}  # two seeds: 1,200 numbers, a file each
pytestmark = pytest.mark.full


def test_kills_at_random_moments(tmp_path: Path) -> None:
    """Twelve of them, fewer where the sweep gets far between two: a busy machine kills late."""
    store, whole, moments = tmp_path / "store", tmp_path / "whole", random.Random(5)
    counts: list[int] = []
    for kill in range(12):
        process = sweeping.start(sweeping.sweep, str(store), SIZE)
        if kill % 5:  # most kills fall among the cells, some while the process is starting
            sweeping.wait_for_arrays(store / "arrays", moments.randrange(12), process)
            time.sleep(moments.uniform(0.0, 0.004))
        else:
            time.sleep(moments.uniform(0.0, 0.1))
        process.kill()
        process.join()
        if process.exitcode == 0:
            break
        assert process.exitcode == -signal.SIGKILL
        counts.append(sweeping.count(store) if (store / "cells.sqlite").exists() else 0)
    assert counts == sorted(counts), "a kill lost finished cells"
    assert len(set(counts)) > 3, f"the kills must fall inside the sweep; cells done: {counts}"
    for directory in (store, whole):
        sweeping.sweep(str(directory), SIZE)
    assert sweeping.contents(store) == sweeping.contents(whole)
