"""make soak counts what breaks: a fault that is put in is found, and a ledger goes on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from soak import inputs, kills, pages, theories
from soak.attempt import attempt
from soak.chunks import KINDS, work
from soak.ledger import Ledger, Tally, evenly, table

import forgeries
import onegrad as og
import sweeping
from onegrad.experiments import Store, run
from onegrad.experiments.executors import with_processes
from onegrad.io.progress import Progress
from onegrad.studies.measures import MEASURES


def rng() -> np.random.Generator:
    return np.random.default_rng(1)


@pytest.mark.parametrize("kind", ["spec", "request"])
def test_without_a_fault_none_is_found(kind: str) -> None:
    tally = KINDS[kind].attack(rng(), 20, kind)
    assert tally.attacks == 20 == sum(tally.ends.values())
    assert not tally.faults, tally.examples


def test_a_foreign_exception(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise KeyError("grid")

    for reader in ("read_spec", "parse_spec"):  # of files, and of tables
        monkeypatch.setattr(inputs, reader, broken)
    assert inputs.specs(rng(), 3, "").faults == {"foreign": 3}
    monkeypatch.setattr(pages.api, "instant_answer", broken)
    monkeypatch.setattr(pages, "PATHS", ("/api/controls",))
    monkeypatch.setattr(pages, "OFTEN", (1.0,))
    monkeypatch.setattr("onegrad.explorer.server.control_table", broken)
    assert pages.requests(rng(), 20, "").faults["foreign"] > 5


def test_numbers_that_cannot_be(monkeypatch: pytest.MonkeyPatch) -> None:
    class Wrong:
        train, test = 1e9, np.nan

    monkeypatch.setattr(theories.og, "predict", lambda *_, **__: Wrong)
    assert theories.problems(rng(), 2, "").faults == {"wrong": 8}


def test_jumps(monkeypatch: pytest.MonkeyPatch) -> None:
    class Error:
        def __init__(self, problem: og.Problem, **_: Any) -> None:
            self.train = self.test = 1.0 + 0.1 * (round(problem.alpha / theories.STEP) % 2)

    monkeypatch.setattr(theories.og, "predict", Error)
    assert theories.jumps(rng(), 3, "").faults["jumps"] == 6


def test_an_attack_that_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("soak.attempt.LONGEST", 0.1)
    tally = Tally()
    with attempt(tally, "here", ()):
        while True:
            pass
    assert tally.faults == {"hung": 1}


def test_a_store_that_lost_a_cell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    size = (("cells", 4), ("numbers", 2))
    tally = Tally()
    scene = kills.Scene(tally, "here", str(tmp_path), size)
    scene.finish()
    assert not tally.faults, tally.examples
    scene.done = 5
    scene.look()
    assert tally.faults == {"lost": 1}
    key = next(iter(kills._expected(size)))
    kills._expected(size)[key]["draw"] = b"another"
    scene.finish()
    assert tally.faults == {"lost": 1, "wrong": 1}


def test_a_cell_that_is_neither_there_nor_noted(tmp_path: Path) -> None:
    """Three processes may have died over a cell, and then it says so; else it is lost."""
    size = (("cells", 4), ("numbers", 2))
    cells, tally = sweeping.rehearsal(**dict(size)), Tally()
    scene = kills.Scene(tally, "here", str(tmp_path), size)
    with Store(tmp_path) as store:
        run(cells[1:], store, MEASURES, with_processes(1), progress=Progress(quiet=True))
        scene.through(kills=5)
        assert tally.faults == {"lost": 1}
        store.fail(cells[0], "its process ended with -9, 3 times", "now")
    scene.through(kills=5)
    assert tally.faults == {"lost": 1}
    scene.through(kills=2)  # too few
    assert tally.faults == {"lost": 2}


def test_an_answer_of_more_than_a_line() -> None:
    good = "onegrad fit: note: a\nonegrad fit: error: b\n"
    assert inputs._in_one_line(2, good) and inputs._in_one_line(0, "")
    for code, said in (
        (0, good), (2, ""), (2, good + good), (2, good + "more\n"), (2, good[:-1] + "b" * 1000),
        (1, 'Traceback (most recent call last):\n  File "x"\nonegrad fit: failed: b\n'),
    ):  # fmt: skip
        assert not inputs._in_one_line(code, said), said


@pytest.mark.parametrize("suffix", forgeries.MAKERS)
def test_forgeries_are_sound_files_of_their_kind(suffix: str) -> None:
    """They are read as what they are: of thirty some are used, and some are refused."""
    ends = inputs.files(suffix)(rng(), 30, "").ends
    assert ends["numbers"] > 1 and ends["refused"] > 1


def test_a_ledger_goes_on_where_it_stopped(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.json", seed=3)
    assert ledger.missing("spec", 3) == [0, 1, 2]
    monkey = Tally(attacks=7)
    monkey.fault("wrong", "there", "what")
    ledger.note("spec", 1, monkey)
    again = Ledger(tmp_path / "ledger.json", seed=3)
    assert again.missing("spec", 3) == [0, 2]
    assert again.tallies["spec"] == monkey
    assert "| spec | 7 |" in table(again.tallies)
    with pytest.raises(SystemExit, match="is of seed 3"):
        Ledger(tmp_path / "ledger.json", seed=4)


def test_all_kinds_advance_together() -> None:
    counts = {"a": 40, "b": 4, "c": 1}
    missing = {kind: list(range(n)) for kind, n in counts.items()}
    order = evenly(missing, counts)
    assert sorted(order) == sorted((kind, n) for kind in counts for n in range(counts[kind]))
    for stop in range(len(order) - 1):  # the last chunk of c is its only one
        share = {k: sum(kind == k for kind, _ in order[:stop]) / counts[k] for k in ("a", "b")}
        assert abs(share["a"] - share["b"]) <= 1 / 4


def test_a_chunk_follows_from_its_number() -> None:
    first, again, other = (work(("spec", 5, number))[2] for number in (0, 0, 1))
    assert first.ends == again.ends and first.attacks == KINDS["spec"].size
    assert first.ends != other.ends or first.examples != other.examples
