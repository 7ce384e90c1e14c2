"""onegrad fit: 0 and 1 are classes, and it says so; dates are no target; numbers are numbers."""

import json

import numpy as np
import pandas as pd
import pytest

from onegrad.cli import main

RNG = np.random.default_rng(0)
X = RNG.standard_normal(400)


def fit(folder, y, *options, rows=X):
    frame = pd.DataFrame({"x": rows, "y": y})
    frame.to_csv(folder / "d.csv", index=False)
    command = ["fit", str(folder / "d.csv"), "--target", "y", "--out", str(folder / "m")]
    return main(
        [
            *command,
            "--width",
            "8",
            "--estimator",
            "one-step",
            "--json",
            "--no-card",
            "--force",
            *options,
        ]
    )


def kind(capsys):
    out, err = capsys.readouterr()
    return json.loads(out)["estimator"].removeprefix("OneStep"), err


@pytest.mark.parametrize(
    "y", [(X > 0).astype(int), (X > 0).astype(float), X > 0], ids=["whole", "real", "truth"]
)
def test_zeros_and_ones_are_classes_and_it_says_so(y, tmp_path, capsys):
    assert fit(tmp_path, y) == 0
    found, err = kind(capsys)
    assert found == "Classifier"
    assert err == "onegrad fit: note: --target 'y' holds 0 and 1: taken as classes (see --task)\n"
    out = tmp_path / "p.csv"
    command = ["apply", str(tmp_path / "m"), str(tmp_path / "d.csv"), "--out", str(out), "--proba"]
    assert main(command) == 0
    got = pd.read_csv(out)
    assert list(got.columns) == ["prediction", "p(0)", "p(1)"]
    assert np.mean(got["prediction"] == (X > 0)) > 0.9


def test_text_is_classes_and_it_says_so(tmp_path, capsys):
    assert fit(tmp_path, np.where(X > 0, "up", "down")) == 0
    found, err = kind(capsys)
    assert found == "Classifier" and "holds text: taken as classes" in err


@pytest.mark.parametrize("task", ["regression", "Classification"])
def test_what_is_said_is_done_without_a_word(task, tmp_path, capsys):
    assert fit(tmp_path, (X > 0).astype(int), "--task", task) == 0
    found, err = kind(capsys)
    assert found == ("Regressor" if task == "regression" else "Classifier") and err == ""


@pytest.mark.parametrize(
    "y",
    [np.abs(X), np.round(X), np.where(X > 0, 1, -1), np.r_[X[:-1] > 0, 2.0], np.zeros(400)],
    ids=["real", "whole", "signs", "a last value that is 2", "zero"],
)
def test_other_numbers_are_numbers(y, tmp_path, capsys):
    assert fit(tmp_path, y) == 0
    assert kind(capsys)[0] == "Regressor"


def test_all_rows_are_looked_at_not_only_the_first_block(tmp_path, capsys):
    rows = RNG.standard_normal(40_000)
    y = np.r_[rows[:-10] > 0, np.arange(10)]
    assert fit(tmp_path, y.astype(int), rows=rows) == 0
    assert kind(capsys)[0] == "Regressor"


@pytest.mark.parametrize("form", ["%Y-%m-%d", "%Y-%m-%d %H:%M:%S", "%d/%m/%Y", "%d.%m.%Y"])
def test_a_date_is_no_target(form, tmp_path, capsys):
    days = pd.date_range("2020-01-01", periods=400).strftime(form)
    assert fit(tmp_path, days) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1
    assert err.startswith("onegrad fit: error: --target 'y'") and "holds dates" in err


def test_a_date_of_a_parquet_file_is_no_target(tmp_path, capsys):
    frame = pd.DataFrame({"x": X, "y": pd.date_range("2020-01-01", periods=400)})
    frame.to_parquet(tmp_path / "d.parquet")
    command = ["fit", str(tmp_path / "d.parquet"), "--target", "y", "--out", str(tmp_path / "m")]
    assert main([*command, "--task", "classification"]) == 2
    err = capsys.readouterr().err
    assert "--target 'y'" in err and "dates" in err
