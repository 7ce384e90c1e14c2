"""Every attack of make soak finds a fault that is put in."""

from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from soak.ledger import AttackCounts, attempt

pytestmark = pytest.mark.full  # about the attacks of make soak alone


@pytest.fixture
def soak():
    """Modules with attacks, which load the page's server and the command line."""
    names = ("chunks", "inputs", "meanings", "outputs", "pages", "stores", "terminals", "theories")
    names += ("weights",)
    return SimpleNamespace(**{name: import_module(f"soak.{name}") for name in names})


def rng():
    return np.random.default_rng(1)


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


def test_an_attack_that_fails_itself(soak, monkeypatch):
    monkeypatch.setattr(soak.inputs, "SWEEPS", Path("nowhere"))
    name, number, counts = soak.chunks.run_chunk(("spec", 1, 0))
    assert (name, number, counts.faults) == ("spec", 0, {"crashed": 1})


def test_a_store_whose_damage_is_not_noticed(soak, monkeypatch):
    monkeypatch.setattr(soak.stores, "expected_cells", lambda _: {})
    counts = soak.stores.damage_stores(rng(), 4, "")
    assert counts.faults["wrong"] and counts.faults["lost"]


def test_values_that_lose_their_meaning(soak, monkeypatch):
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


def test_outputs_that_replace_what_is_no_file(soak, monkeypatch):
    monkeypatch.setattr("onegrad.io.files.stat.S_ISREG", lambda mode: True)
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
    ours = f"Traceback (most\n {soak.terminals.PACKAGE}/a.py"
    for code, text, faults in (
        (130, "onegrad: interrupted\n", 0),
        (130, ours, 1),
        (77, "", 1),
    ):
        counts = AttackCounts()
        soak.terminals._judge_interrupt(counts, "", code, text, True)
        assert counts.faults["foreign"] == faults, text


def test_a_program_that_fails_without_its_streams(soak, monkeypatch):
    monkeypatch.setattr(soak.terminals, "PROGRAM", ["false"])
    monkeypatch.setattr(soak.terminals, "SHORT_COMMANDS", (["cite"],))
    monkeypatch.setattr(soak.terminals, "STREAMS", ("2>&-",))
    assert soak.terminals.close_streams(rng(), 2, "").faults == {"wrong": 2}
