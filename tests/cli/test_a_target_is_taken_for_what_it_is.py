"""onegrad fit: 0 and 1 are classes, and it says so; dates are no target; numbers are numbers."""

import json

import numpy as np
import pytest

from onegrad.cli import main
from programs import complaint

RNG = np.random.default_rng(0)
X = RNG.standard_normal(400)
POSITIVE = X > 0


def fit_command(folder, y, *options, rows=X):
    """Write a table of x and y, and return the command that fits y."""
    lines = "\n".join(
        f"{a},{b}" for a, b in zip(rows.tolist(), np.asarray(y).tolist(), strict=True)
    )
    (folder / "d.csv").write_text(f"x,y\n{lines}\n", "utf-8")
    words = f"fit {folder / 'd.csv'} --target y --out {folder / 'm'} --width 8 --estimator one-step"
    return [*words.split(), "--json", "--no-card", "--force", *options]


def kind_of_fit(capsys, folder, y, *options, rows=X):
    """Return what kind of estimator was fitted, and what was said on standard error."""
    assert main(fit_command(folder, y, *options, rows=rows)) == 0
    out, err = capsys.readouterr()
    return json.loads(out)["estimator"].removeprefix("OneStep"), err


def test_zeros_and_ones_are_classes_and_it_says_so(tmp_path, capsys):
    note = "onegrad fit: note: --target 'y' holds 0 and 1: taken as classes (see --task)\n"
    for y in (POSITIVE.astype(int), POSITIVE.astype(float), POSITIVE):
        assert kind_of_fit(capsys, tmp_path, y) == ("Classifier", note), y.dtype
        out = tmp_path / "p.csv"
        command = ["apply", str(tmp_path / "m"), str(tmp_path / "d.csv"), "--out", str(out)]
        assert main([*command, "--proba", "--force"]) == 0
        header, *lines = out.read_text("utf-8").splitlines()
        assert header == '"prediction","p(0)","p(1)"'
        predicted = [line.split(",")[0] in ("1", "true") for line in lines]
        assert np.mean(predicted == POSITIVE) > 0.9
        capsys.readouterr()


def test_text_is_classes_and_it_says_so(tmp_path, capsys):
    found, err = kind_of_fit(capsys, tmp_path, np.where(POSITIVE, "up", "down"))
    assert found == "Classifier" and "holds text: taken as classes" in err


def test_what_is_said_is_done_without_a_word(tmp_path, capsys):
    for task, kind in (("regression", "Regressor"), ("Classification", "Classifier")):
        assert kind_of_fit(capsys, tmp_path, POSITIVE.astype(int), "--task", task) == (kind, "")


def test_other_numbers_are_numbers(tmp_path, capsys):
    signs, zero = np.where(POSITIVE, 1, -1), np.zeros(400)
    last_is_two = np.r_[POSITIVE[:-1], 2.0]
    for y in (np.abs(X), np.round(X), signs, last_is_two, zero):
        assert kind_of_fit(capsys, tmp_path, y)[0] == "Regressor", y
    rows = RNG.standard_normal(40_000)  # all are looked at, not only the first block
    y = np.r_[rows[:-10] > 0, np.arange(10)].astype(int)
    assert kind_of_fit(capsys, tmp_path, y, rows=rows)[0] == "Regressor"


def test_a_date_is_no_target(tmp_path, capsys):
    days = np.arange("2020-01-01", "2021-02-04", dtype="datetime64[D]")
    for form in ("%Y-%m-%d", "%Y-%m-%d %H:%M:%S", "%d/%m/%Y", "%d.%m.%Y"):
        y = [day.item().strftime(form) for day in days]
        line = complaint(capsys, *fit_command(tmp_path, y))
        assert line.startswith("onegrad fit: error: --target 'y'") and "holds dates" in line


@pytest.mark.compat
def test_a_date_of_a_parquet_file_is_no_target(tmp_path, capsys):
    import pyarrow as pa
    from pyarrow import parquet

    days = np.arange("2020-01-01", "2021-02-04", dtype="datetime64[D]")
    parquet.write_table(pa.table({"x": X, "y": days}), tmp_path / "d.parquet")
    command = ["fit", str(tmp_path / "d.parquet"), "--target", "y", "--out", str(tmp_path / "m")]
    line = complaint(capsys, *command, "--task", "classification")
    assert "--target 'y'" in line and "dates" in line
