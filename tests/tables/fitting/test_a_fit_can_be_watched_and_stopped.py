"""verbose tells of passes and trials; the first Ctrl-C keeps the best so far, and says so."""

import os
import signal

import numpy as np
import pytest

import onegrad as og
from onegrad.cli import main
from onegrad.exceptions import AssumptionWarning
from onegrad.io.progress import TerminalProgress
from onegrad.tables import load
from onegrad.tables.fitting.fit_progress import FitProgress

RNG = np.random.default_rng(0)
X = RNG.standard_normal((300, 3))
Y = np.sin(2 * X[:, 0]) + X[:, 1] ** 2


def interrupting(monkeypatch, number, times=1):
    """Ctrl-C while the trial of this number is made."""
    tried = FitProgress.tried

    def and_interrupt(progress, score):
        tried(progress, score)
        for _ in range(times if progress.done == number else 0):
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(FitProgress, "tried", and_interrupt)


@pytest.mark.parametrize("kind", [og.AlternatingRegressor, og.OneStepRegressor])
def test_the_first_interrupt_keeps_the_best_so_far(kind, monkeypatch):
    whole = kind(30, random_state=0).fit(X, Y)
    interrupting(monkeypatch, 3)
    with pytest.warns(AssumptionWarning, match="interrupted after 3 trials.*best so far is kept"):
        some = kind(30, random_state=0).fit(X, Y)
    assert some.choice_["interrupted"]
    trials = some.fitted_.statistics.trials
    assert 1 <= len(trials) < len(whole.fitted_.statistics.trials)
    assert some.held_out_loss_ == pytest.approx(min(t["score"] for t in trials))
    assert some.n_rows_ == 300  # the readout is of all rows
    assert np.isfinite(some.predict(X)).all()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_interrupted_committee_has_the_members_so_far(monkeypatch):
    interrupting(monkeypatch, 2)
    with pytest.warns(AssumptionWarning, match="interrupted"):
        some = og.AlternatingRegressor(20, members=3, rounds=4, random_state=0).fit(X, Y)
    assert len(some.fitted_.members) == 1


def test_the_second_interrupt_ends_it(monkeypatch):
    interrupting(monkeypatch, 1, times=2)
    model = og.AlternatingRegressor(30, random_state=0)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, Y)
    assert not hasattr(model, "fitted_")


def test_verbose_tells_how_far_it_is(monkeypatch, capsys):
    og.AlternatingRegressor(20, rounds=2, verbose=True, random_state=0).fit(X, Y)
    assert capsys.readouterr().err.startswith("first pass:")  # no terminal: lines
    monkeypatch.setattr(TerminalProgress, "_is_terminal", lambda self: True)
    monkeypatch.setattr("onegrad.io.progress.time.monotonic", iter(range(10**6)).__next__)
    og.AlternatingRegressor(20, rounds=4, verbose=True, random_state=0).fit(X, Y)
    told = capsys.readouterr().err
    for stage in ("first pass: 1/1", "first layer, best loss", "second pass: 1/1"):
        assert stage in told
    og.AlternatingRegressor(20, rounds=4, random_state=0).fit(X, Y)
    assert capsys.readouterr().err == ""


def test_the_command_saves_the_best_so_far_and_says_that_it_was_interrupted(
    monkeypatch, tmp_path, capsys
):
    np.savez(tmp_path / "d.npz", X=X, y=Y)
    interrupting(monkeypatch, 3)
    out = tmp_path / "m"
    command = ["fit", str(tmp_path / "d.npz"), "--target", "y", "--width", "20"]
    assert main([*command, "--out", str(out)]) == 130
    assert "interrupted after 3 trials" in capsys.readouterr().err
    assert load(out).n_rows_ == 300
