"""make soak kills sweeps: sound ones survive it, and a fault that is put in is found."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from soak import kills, processes, stores
from soak.chunks import ATTACKS
from soak.ledger import AttackCounts

import sweeping
from onegrad.experiments import Store, run_cells
from onegrad.experiments.executors import with_processes
from onegrad.io.progress import TerminalProgress
from onegrad.parallel import children
from onegrad.studies.measures import MEASURES


@pytest.fixture(autouse=True)
def forks_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test puts into this process is in its forks; the program from scratch is without."""
    monkeypatch.setattr(processes, "SCRATCH_SHARE", 0.0)


def rng() -> np.random.Generator:
    return np.random.default_rng(1)


@pytest.mark.parametrize("kind", ["kill runner", "kill creation", "kill group", "kill worker"])
def test_without_a_fault_none_is_found(kind: str) -> None:
    counts = ATTACKS[kind].function(rng(), 5, kind)
    assert counts.attacks >= 5
    assert counts.ends == {"killed": counts.attacks}
    assert not counts.faults, counts.examples


def test_the_program_from_scratch_is_killed_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "SCRATCH_SHARE", 1.0)
    counts = kills.kill_runner(rng(), 1, "")
    assert counts.ends == {"killed from scratch": 1} and not counts.faults, counts.examples


def test_runners_that_compute_something_else(monkeypatch: pytest.MonkeyPatch) -> None:
    kills.expected_cells(kills.SMALL)
    sound = MEASURES["rehearsal"]

    def wrong(*arguments: Any) -> dict[str, np.ndarray]:
        return {"draw": np.asarray(sound.function(*arguments)["draw"]) + 1e-9}

    monkeypatch.setitem(MEASURES, "rehearsal", replace(sound, function=wrong))
    assert kills.kill_runner(rng(), 2, "").faults["wrong"] >= 60
    assert stores.copy_running_stores(rng(), 2, "").faults["wrong"]


def test_cells_that_disappear(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kills.Store, "done", lambda _: next(shrinking))
    shrinking = iter([frozenset("abc"), frozenset("ab"), *[frozenset()] * 100])
    assert kills.kill_runner(rng(), 5, "").faults["lost"] >= 2


def test_a_runner_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes.cli, "main", lambda _: 1)
    assert kills.kill_runner(rng(), 2, "").faults["crashed"] >= 1
    assert kills.kill_worker(rng(), 1, "").faults["foreign"] >= 1  # there is no store


def test_stores_that_are_made_in_their_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """A store without tables for a moment is one that a kill leaves behind."""

    def make_slowly(folder: Path) -> int:
        (folder / "0").mkdir()
        (folder / "0" / "cells.sqlite").write_bytes(b"SQLite format 3\0" + bytes(50))
        time.sleep(60)
        return 0

    monkeypatch.setattr(kills, "make_stores", make_slowly)
    assert kills.kill_creation(rng(), 2, "").faults["foreign"] >= 2


def test_processes_that_outlive_their_runner(monkeypatch: pytest.MonkeyPatch) -> None:
    serve = children.serve

    def stay(parent: int) -> None:
        serve(parent)
        time.sleep(60)

    monkeypatch.setattr(children, "end_with_parent", lambda _: None)
    monkeypatch.setattr(children, "serve", stay)
    monkeypatch.setattr(kills, "MAX_ORPHAN_SECONDS", 1.0)
    assert kills.kill_group(rng(), 4, "").faults["orphans"]


def test_a_store_that_lost_a_cell(tmp_path: Path) -> None:
    size = (("cells", 4), ("numbers", 2), ("wait", 0.0))
    counts = AttackCounts()
    attacked = kills.AttackedStore(counts, "here", tmp_path, size)
    attacked.resume_and_compare()
    assert not counts.faults, counts.examples
    attacked.done = 5
    attacked.check_nothing_lost()
    assert counts.faults == {"lost": 1}
    key = next(iter(kills.expected_cells(size)))
    kills.expected_cells(size)[key]["draw"] = b"another"
    attacked.resume_and_compare()
    assert counts.faults == {"lost": 1, "wrong": 1}


def test_a_cell_that_is_neither_there_nor_noted(tmp_path: Path) -> None:
    """Three processes may have died over a cell, and then it says so; else it is lost."""
    size = (("cells", 4), ("numbers", 2), ("wait", 0.0))
    cells, counts = sweeping.rehearsal(**dict(size)), AttackCounts()
    attacked = kills.AttackedStore(counts, "here", tmp_path, size)
    with Store(tmp_path) as store:
        run_cells(
            cells[1:], store, MEASURES, with_processes(1), progress=TerminalProgress(quiet=True)
        )
        attacked.check_complete(kills=5, code=0)
        assert counts.faults == {"lost": 1}
        store.fail(cells[0], "its process ended with -9, 3 times", "now")
    attacked.check_complete(kills=5, code=1)
    assert counts.faults == {"lost": 1}
    attacked.check_complete(kills=2, code=1)  # too few
    assert counts.faults == {"lost": 2}
    attacked.check_complete(kills=5, code=0)  # a failure that is not said
    assert counts.faults == {"lost": 2, "crashed": 1}
