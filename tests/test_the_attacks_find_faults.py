"""make soak counts what breaks: a fault that is put in is found, and a ledger goes on."""

from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from soak.ledger import (
    AttackCounts,
    Ledger,
    attempt,
    interleave,
    markdown_table,
    read_ledgers,
    with_table,
)


@pytest.fixture
def soak():
    """Modules with attacks, which load the page's server and the command line."""
    names = ("chunks", "inputs", "meanings", "outputs", "pages", "stores", "terminals", "theories")
    names += ("weights",)
    return SimpleNamespace(**{name: import_module(f"soak.{name}") for name in names})


def rng():
    return np.random.default_rng(1)


def test_without_a_fault_none_is_found(soak):
    for attack, number in ((soak.inputs.read_specs, 20), (soak.pages.send_requests, 20),
                           (soak.stores.damage_stores, 4), (soak.inputs.use_stale_models, 8),
                           (soak.stores.export_edited_specs, 4), (soak.meanings.keep_meanings, 6),
                           (soak.outputs.name_special_paths, 8)):  # fmt: skip
        counts = attack(rng(), number, "")
        assert counts.attacks == number == sum(counts.ends.values())
        assert not counts.faults, counts.examples


def test_a_foreign_exception(soak, monkeypatch):
    def broken(*_, **__):
        raise KeyError("grid")

    for reader in ("read_spec", "parse_spec"):  # of files, and of tables
        monkeypatch.setattr(soak.inputs, reader, broken)
    assert soak.inputs.read_specs(rng(), 3, "").faults == {"foreign": 3}
    monkeypatch.setattr(soak.pages.api, "instant_answer", broken)
    monkeypatch.setattr(soak.pages, "PATHS", ("/api/controls",))
    monkeypatch.setattr(soak.pages, "PATH_PROBABILITIES", (1.0,))
    monkeypatch.setattr("onegrad.explorer.server.control_table", broken)
    assert soak.pages.send_requests(rng(), 20, "").faults["foreign"] > 5


def test_predictions_that_cannot_be(soak, monkeypatch):
    class Prediction:
        def __init__(self, train, test):
            self.train, self.test = train, test

    def jump(problem):
        error = 1.0 + 0.1 * (round(problem.alpha / soak.theories.ALPHA_STEP) % 2)
        return Prediction(error, error)

    def asymmetric(problem):
        error = 1.0 + len(str(problem.teacher))
        return Prediction(error, error)

    for predict, attack, number, fault, least in (
        (lambda *_, **__: Prediction(1e9, np.nan), soak.theories.predict_problems, 2, "wrong", 8),
        (jump, soak.theories.find_jumps, 3, "jumps", 6),
        (asymmetric, soak.theories.check_symmetries, 1, "wrong", 5),
    ):
        monkeypatch.setattr(soak.theories.og, "predict", predict)
        counts = attack(rng(), number, "")
        assert counts.attacks == number and counts.faults[fault] >= least, attack


def test_an_attack_that_hangs(monkeypatch):
    monkeypatch.setattr("soak.ledger.MAX_SECONDS", 0.1)
    counts = AttackCounts()
    with attempt(counts, "here"):
        while True:
            pass
    assert counts.faults == {"hung": 1}


def test_an_answer_of_more_than_a_line(soak):
    good = "onegrad fit: note: a\nonegrad fit: error: b\n"
    assert soak.inputs._in_one_line(2, good) and soak.inputs._in_one_line(0, "")
    for code, said in (
        (0, good), (2, ""), (2, good + good), (2, good + "more\n"), (2, good[:-1] + "b" * 1000),
        (1, 'Traceback (most recent call last):\n  File "x"\nonegrad fit: failed: b\n'),
    ):  # fmt: skip
        assert not soak.inputs._in_one_line(code, said), said


@pytest.mark.full
def test_forgeries_are_sound_files_of_their_kind(soak):
    """They are read as what they are: of thirty some are used, and some are refused."""
    from soak import forgeries

    for suffix in forgeries.FORGERS:
        ends = soak.inputs.use_files(suffix, rng(), 30, "").ends
        assert ends["numbers"] >= 1 and ends["refused"] > 1, suffix


def test_a_chunk_follows_from_its_number_and_its_own_failure_is_a_crash(soak, monkeypatch):
    first, again, other = (soak.chunks.run_chunk(("spec", 5, number))[2] for number in (0, 0, 1))
    assert first.ends == again.ends and first.attacks == soak.chunks.ATTACKS["spec"].chunk_size
    assert first.ends != other.ends or first.examples != other.examples
    monkeypatch.setattr(soak.inputs, "SWEEPS", Path("nowhere"))
    name, number, counts = soak.chunks.run_chunk(("spec", 1, 0))
    assert (name, number, counts.faults) == ("spec", 0, {"crashed": 1})


def test_a_ledger_goes_on_where_it_stopped(tmp_path):
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


def test_ledgers_add_up_once(tmp_path):
    paths = [tmp_path / f"{seed}.json" for seed in (1, 2)]
    for seed, path in enumerate(paths, 1):
        Ledger(path, seed).record("spec", 0, AttackCounts(attacks=5))
    assert read_ledgers(paths)["spec"].attacks == 10
    with pytest.raises(SystemExit, match="hold the same chunk"):
        read_ledgers([paths[0], *paths])
    table = markdown_table(read_ledgers(paths))
    page = f"before\n\n{markdown_table({})}\n\nafter\n"
    assert with_table(page, table) == f"before\n\n{table}\n\nafter\n"


def test_a_store_whose_damage_is_not_noticed(soak, monkeypatch):
    monkeypatch.setattr(soak.stores, "expected_cells", lambda _: {})
    counts = soak.stores.damage_stores(rng(), 4, "")
    assert counts.faults["wrong"] and counts.faults["lost"]


def test_values_that_lose_their_meaning(soak, monkeypatch):
    from onegrad.io import files

    export = soak.stores.export
    monkeypatch.setattr(soak.stores, "export", lambda store, *_: export(store, {}, True))
    assert soak.stores.export_edited_specs(rng(), 20, "").faults["wrong"]
    monkeypatch.setattr(soak.inputs, "load", lambda path: None)
    assert soak.inputs.use_stale_models(rng(), 3, "").faults == {"wrong": 3}
    monkeypatch.setattr(soak.meanings, "MAX_ERROR", -1.0)
    monkeypatch.setattr(soak.meanings, "MAX_DIFFERENCE", -1.0)
    monkeypatch.setattr(soak.meanings, "load", lambda path: SimpleNamespace(predict=np.square))
    monkeypatch.setattr(soak.meanings, "sorted", lambda labels: [], raising=False)
    assert soak.meanings.keep_meanings(rng(), 6, "").faults["wrong"] == 6
    monkeypatch.setattr(files.stat, "S_ISREG", lambda mode: True)
    counts = soak.outputs.name_special_paths(rng(), 8, "")
    assert counts.faults["lost"] and counts.faults["foreign"]


def test_weights_that_are_ignored(soak, monkeypatch):
    import onegrad as og

    class Ignorant(og.OneStepRegressor):
        def fit(self, X, y=None, sample_weight=None, **_):
            return super().fit(X, y)

    monkeypatch.setattr(soak.weights, "_model", lambda seed: Ignorant(width=20, random_state=seed))
    assert soak.weights.repeat_rows(rng(), 2, "").faults["wrong"]


def test_an_interrupt_with_a_traceback(soak):
    start = "Fatal Python error: init_import_site\nTraceback ...\n  File site-packages/x.pth"
    for faults, outcomes in (
        (0, [(130, "onegrad: interrupted\n"), (0, ""), (-2, ""), (1, start)]),  # Python's own start
        (1, [(130, f"Traceback (most\n {soak.terminals.PACKAGE}/a.py"), (-2, "a"), (77, ""),
             (1, "Traceback ...\n  File site-packages/numpy")]),
    ):  # fmt: skip
        for code, text in outcomes:
            counts = AttackCounts()
            soak.terminals._judge_interrupt(counts, "", code, text, True)
            assert counts.faults["foreign"] == faults == 1 - sum(counts.ends.values()), text


def test_a_program_that_fails_without_its_streams(soak, monkeypatch):
    monkeypatch.setattr(soak.terminals, "PROGRAM", ["false"])
    monkeypatch.setattr(soak.terminals, "SHORT_COMMANDS", (["cite"],))
    monkeypatch.setattr(soak.terminals, "STREAMS", ("2>&-",))
    assert soak.terminals.close_streams(rng(), 2, "").faults == {"wrong": 2}


def test_all_kinds_advance_together():
    counts = {"a": 40, "b": 4, "c": 1}
    order = interleave({kind: list(range(n)) for kind, n in counts.items()}, counts)
    assert sorted(order) == sorted((kind, n) for kind in counts for n in range(counts[kind]))
    for stop in range(len(order) - 1):  # the last chunk of c is its only one
        share = {k: sum(kind == k for kind, _ in order[:stop]) / counts[k] for k in ("a", "b")}
        assert abs(share["a"] - share["b"]) <= 1 / 4
