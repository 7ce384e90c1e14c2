"""make soak counts what breaks: a fault that is put in is found, and a ledger goes on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from soak import inputs, pages, stores, terminals, theories, weights
from soak.add import with_table
from soak.attempt import attempt
from soak.chunks import ATTACKS, run_chunk
from soak.ledger import AttackCounts, Ledger, interleave, markdown_table, read_ledgers

import forgeries
import onegrad as og


def rng() -> np.random.Generator:
    return np.random.default_rng(1)


@pytest.mark.parametrize("kind", ["spec", "request"])
def test_without_a_fault_none_is_found(kind: str) -> None:
    counts = ATTACKS[kind].function(rng(), 20, kind)
    assert counts.attacks == 20 == sum(counts.ends.values())
    assert not counts.faults, counts.examples


def test_a_foreign_exception(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise KeyError("grid")

    for reader in ("read_spec", "parse_spec"):  # of files, and of tables
        monkeypatch.setattr(inputs, reader, broken)
    assert inputs.read_specs(rng(), 3, "").faults == {"foreign": 3}
    monkeypatch.setattr(pages.api, "instant_answer", broken)
    monkeypatch.setattr(pages, "PATHS", ("/api/controls",))
    monkeypatch.setattr(pages, "PATH_PROBABILITIES", (1.0,))
    monkeypatch.setattr("onegrad.explorer.server.control_table", broken)
    assert pages.send_requests(rng(), 20, "").faults["foreign"] > 5


def test_numbers_that_cannot_be(monkeypatch: pytest.MonkeyPatch) -> None:
    class Wrong:
        train, test = 1e9, np.nan

    monkeypatch.setattr(theories.og, "predict", lambda *_, **__: Wrong)
    assert theories.predict_problems(rng(), 2, "").faults == {"wrong": 8}


def test_jumps(monkeypatch: pytest.MonkeyPatch) -> None:
    class Error:
        def __init__(self, problem: og.Problem, **_: Any) -> None:
            self.train = self.test = 1.0 + 0.1 * (round(problem.alpha / theories.ALPHA_STEP) % 2)

    monkeypatch.setattr(theories.og, "predict", Error)
    assert theories.find_jumps(rng(), 3, "").faults["jumps"] == 6


def test_an_attack_that_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("soak.attempt.MAX_SECONDS", 0.1)
    counts = AttackCounts()
    with attempt(counts, "here", ()):
        while True:
            pass
    assert counts.faults == {"hung": 1}


def test_an_answer_of_more_than_a_line() -> None:
    good = "onegrad fit: note: a\nonegrad fit: error: b\n"
    assert inputs._in_one_line(2, good) and inputs._in_one_line(0, "")
    for code, said in (
        (0, good), (2, ""), (2, good + good), (2, good + "more\n"), (2, good[:-1] + "b" * 1000),
        (1, 'Traceback (most recent call last):\n  File "x"\nonegrad fit: failed: b\n'),
    ):  # fmt: skip
        assert not inputs._in_one_line(code, said), said


@pytest.mark.parametrize("suffix", forgeries.FORGERS)
def test_forgeries_are_sound_files_of_their_kind(suffix: str) -> None:
    """They are read as what they are: of thirty some are used, and some are refused."""
    ends = inputs.use_files(suffix)(rng(), 30, "").ends
    assert ends["numbers"] >= 1 and ends["refused"] > 1


def test_an_attack_that_fails_itself_is_a_crash(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inputs, "SWEEPS", Path("nowhere"))
    name, number, counts = run_chunk(("spec", 1, 0))
    assert (name, number, counts.faults) == ("spec", 0, {"crashed": 1})


def test_a_ctrl_c_before_the_program_is_not_its_fault() -> None:
    counts = AttackCounts()
    start = "Fatal Python error: init_import_site\nTraceback ...\n  File site-packages/x.pth"
    terminals._judge_interrupt(counts, "", 1, start, True)
    assert not counts.faults
    terminals._judge_interrupt(counts, "", 1, "Traceback ...\n  File site-packages/numpy", True)
    assert counts.faults == {"foreign": 1}


def test_a_ledger_goes_on_where_it_stopped(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.json", seed=3)
    assert ledger.missing("spec", 3) == [0, 1, 2]
    counts = AttackCounts(attacks=7)
    counts.fault("wrong", "there", "what")
    ledger.record("spec", 1, counts)
    again = Ledger(tmp_path / "ledger.json", seed=3)
    assert again.missing("spec", 3) == [0, 2]
    assert again.counts["spec"] == counts
    assert "| spec | 7 |" in markdown_table(again.counts)
    with pytest.raises(SystemExit, match="is of seed 3"):
        Ledger(tmp_path / "ledger.json", seed=4)


def test_ledgers_add_up_once(tmp_path: Path) -> None:
    paths = [tmp_path / f"{seed}.json" for seed in (1, 2)]
    for seed, path in enumerate(paths, 1):
        Ledger(path, seed).record("spec", 0, AttackCounts(attacks=5))
    assert read_ledgers(paths)["spec"].attacks == 10
    with pytest.raises(SystemExit, match="hold the same chunk"):
        read_ledgers([paths[0], *paths])
    table = markdown_table(read_ledgers(paths))
    page = f"before\n\n{markdown_table({})}\n\nafter\n"
    assert with_table(page, table) == f"before\n\n{table}\n\nafter\n"


def test_a_store_whose_damage_is_not_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not stores.damage_stores(rng(), 4, "").faults
    monkeypatch.setattr(stores, "expected_cells", lambda _: {})
    counts = stores.damage_stores(rng(), 4, "")
    assert counts.faults["wrong"] and counts.faults["lost"]


def test_a_symmetry_that_does_not_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    class Error:
        def __init__(self, problem: og.Problem, **_: Any) -> None:
            self.train = self.test = 1.0 + len(str(problem.teacher))

    monkeypatch.setattr(theories.og, "predict", Error)
    assert theories.check_symmetries(rng(), 1, "").faults["wrong"] > 4


def test_weights_that_are_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    class Ignorant(og.OneStepRegressor):
        def fit(self, X: Any, y: Any = None, sample_weight: Any = None, **_: Any) -> Any:
            return super().fit(X, y)

    monkeypatch.setattr(weights, "_model", lambda seed: Ignorant(width=20, random_state=seed))
    assert weights.repeat_rows(rng(), 2, "").faults["wrong"]


def test_an_interrupt_with_a_traceback() -> None:
    counts = AttackCounts()
    for code, text in ((130, "onegrad: interrupted\n"), (0, ""), (-2, "")):
        terminals._judge_interrupt(counts, "", code, text, True)
    assert not counts.faults and sum(counts.ends.values()) == 3
    for code, text in ((130, "Traceback (most\n onegrad/a.py"), (-2, "a"), (77, "")):
        terminals._judge_interrupt(counts, "", code, text, True)
    assert counts.faults == {"foreign": 3}


def test_a_program_that_fails_without_its_streams(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terminals, "PROGRAM", ["false"])
    monkeypatch.setattr(terminals, "SHORT_COMMANDS", (["cite"],))
    monkeypatch.setattr(terminals, "STREAMS", ("2>&-",))
    assert terminals.close_streams(rng(), 2, "").faults == {"wrong": 2}


def test_all_kinds_advance_together() -> None:
    counts = {"a": 40, "b": 4, "c": 1}
    missing = {kind: list(range(n)) for kind, n in counts.items()}
    order = interleave(missing, counts)
    assert sorted(order) == sorted((kind, n) for kind in counts for n in range(counts[kind]))
    for stop in range(len(order) - 1):  # the last chunk of c is its only one
        share = {k: sum(kind == k for kind, _ in order[:stop]) / counts[k] for k in ("a", "b")}
        assert abs(share["a"] - share["b"]) <= 1 / 4


def test_a_chunk_follows_from_its_number() -> None:
    first, again, other = (run_chunk(("spec", 5, number))[2] for number in (0, 0, 1))
    assert first.ends == again.ends and first.attacks == ATTACKS["spec"].chunk_size
    assert first.ends != other.ends or first.examples != other.examples
