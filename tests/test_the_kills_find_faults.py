"""make soak kills sweeps: sound ones survive it, and a fault that is put in is found."""

import time
from dataclasses import replace

import numpy as np
import pytest
from soak.ledger import AttackCounts

pytestmark = pytest.mark.full  # starts and kills processes
SIZE = (("cells", 4), ("numbers", 2), ("wait", 0.0))


@pytest.fixture
def kills(monkeypatch):
    """The attacks, with forks alone: what a test puts into this process is in these."""
    from soak import kills, processes

    monkeypatch.setattr(processes, "SCRATCH_SHARE", 0.0)
    return kills


def rng():
    return np.random.default_rng(1)


def test_without_a_fault_none_is_found(kills):
    for attack in (kills.kill_runner, kills.kill_creation, kills.kill_group, kills.kill_worker):
        counts = attack(rng(), 3, "")
        assert counts.attacks >= 3
        assert counts.ends == {"killed": counts.attacks}
        assert not counts.faults, counts.examples


def test_the_program_from_scratch_is_killed_too(kills, monkeypatch):
    monkeypatch.setattr("soak.processes.SCRATCH_SHARE", 1.0)
    counts = kills.kill_runner(rng(), 1, "")
    assert counts.ends == {"killed from scratch": 1} and not counts.faults, counts.examples


def test_runners_that_compute_something_else(kills, monkeypatch):
    from soak import stores

    kills.expected_cells(kills.SMALL)
    sound = kills.MEASURES["rehearsal"]

    def wrong(*arguments):
        return {"draw": np.asarray(sound.function(*arguments)["draw"]) + 1e-9}

    monkeypatch.setitem(kills.MEASURES, "rehearsal", replace(sound, function=wrong))
    assert kills.kill_runner(rng(), 2, "").faults["wrong"] >= 60
    assert stores.copy_running_stores(rng(), 2, "").faults["wrong"]


def test_cells_that_disappear(kills, monkeypatch):
    monkeypatch.setattr(kills.Store, "done", lambda _: next(shrinking))
    shrinking = iter([frozenset("abc"), frozenset("ab"), *[frozenset()] * 100])
    assert kills.kill_runner(rng(), 5, "").faults["lost"] >= 2


def test_a_runner_that_fails(kills, monkeypatch):
    monkeypatch.setattr("onegrad.cli.main", lambda _: 1)
    assert kills.kill_runner(rng(), 2, "").faults["crashed"] >= 1
    assert kills.kill_worker(rng(), 1, "").faults["foreign"] >= 1  # there is no store


def test_stores_that_are_made_in_their_place(kills, monkeypatch):
    """A store without tables for a moment is one that a kill leaves behind."""

    def make_slowly(folder):
        (folder / "0").mkdir()
        (folder / "0" / "cells.sqlite").write_bytes(b"SQLite format 3\0" + bytes(50))
        time.sleep(60)

    monkeypatch.setattr(kills, "make_stores", make_slowly)
    assert kills.kill_creation(rng(), 2, "").faults["foreign"] >= 2


def test_processes_that_outlive_their_runner(kills, monkeypatch):
    from onegrad.parallel import children

    serve = children.serve

    def stay(parent):
        serve(parent)
        time.sleep(60)

    monkeypatch.setattr(children, "end_with_parent", lambda _: None)
    monkeypatch.setattr(children, "serve", stay)
    monkeypatch.setattr(kills, "MAX_ORPHAN_SECONDS", 0.5)
    assert kills.kill_group(rng(), 4, "").faults["orphans"]


def test_a_store_that_lost_a_cell(kills, tmp_path):
    counts = AttackCounts()
    attacked = kills.AttackedStore(counts, "here", tmp_path, SIZE)
    attacked.resume_and_compare()
    assert not counts.faults, counts.examples
    attacked.done = 5
    attacked.check_nothing_lost()
    assert counts.faults == {"lost": 1}
    key = next(iter(kills.expected_cells(SIZE)))
    kills.expected_cells(SIZE)[key]["draw"] = b"another"
    attacked.resume_and_compare()
    assert counts.faults == {"lost": 1, "wrong": 1}
    kills.expected_cells.cache_clear()
