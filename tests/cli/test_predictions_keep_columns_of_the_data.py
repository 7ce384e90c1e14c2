"""onegrad apply --keep: columns of the data beside predictions; fit --drop-missing: gaps."""

import numpy as np
import pandas as pd
import pytest

from onegrad.cli import main
from onegrad.estimators import load

ROWS = 50
FIT = ["--estimator", "one-step", "--width", "6", "--columns", "x", "--no-card"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    x = np.linspace(-1, 1, ROWS)
    ids = [f"{2**60 + i}" for i in range(ROWS)]
    frame = pd.DataFrame({"x": x, "id": ids, "town": ["a, b", 'say "c"'] * (ROWS // 2), "y": x**2})
    frame.to_csv("d.csv", index=False)
    frame.assign(id=2**60 + np.arange(ROWS)).to_parquet("d.parquet")
    assert main(["fit", "d.csv", "--target", "y", "--out", "m", *FIT]) == 0
    return tmp_path


@pytest.mark.parametrize("data", ["d.csv", "d.parquet"])
@pytest.mark.parametrize("out", ["p.csv", "p.parquet"])
def test_columns_come_back_as_they_were(data, out, folder, monkeypatch):
    monkeypatch.setattr("onegrad.data.file_partitions.ROWS_PER_BLOCK", 7)
    assert main(["apply", "m", data, "--keep", "town,id", "--out", out]) == 0
    read = pd.read_csv(out, dtype={"id": str}) if out == "p.csv" else pd.read_parquet(out)
    table = pd.read_csv("d.csv", dtype={"id": str})
    assert list(read.columns) == ["town", "id", "prediction"]
    assert list(read["id"].astype(str)) == list(table["id"])
    assert list(read["town"]) == list(table["town"])
    np.testing.assert_allclose(read["prediction"], load("m").predict(table[["x"]]), rtol=1e-12)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["d.csv", "--keep", "twon", "--out", "p.csv"], "--keep 'twon': did you mean town?"),
        (["d.csv", "--keep", "id", "--out", "p.npz"], "--keep 'id': needs a table"),
        (["m.npy", "--keep", "id", "--out", "p.csv"], "only columns of CSV and Parquet files"),
    ],
)
def test_what_cannot_be_kept_is_one_line(options, complaint, folder, capsys):
    np.save("m.npy", np.ones((3, 1)))
    assert main(["apply", "m", *options]) == 2
    err = capsys.readouterr().err
    assert complaint in err and err.count("\n") == 1


def test_a_name_that_predictions_have_is_refused(folder, capsys):
    frame = pd.read_csv("d.csv").rename(columns={"id": "prediction"})
    frame.to_csv("e.csv", index=False)
    assert main(["apply", "m", "e.csv", "--keep", "prediction", "--out", "p.csv"]) == 2
    assert "already has this name" in capsys.readouterr().err


@pytest.mark.parametrize("data", ["g.csv", "g.parquet"])
@pytest.mark.parametrize("text", [False, True])
def test_rows_without_a_target_are_counted_and_left_out(data, text, folder, capsys):
    frame = pd.read_csv("d.csv")
    frame["y"] = np.where(frame["x"] > 0, "up", "down") if text else frame["y"]
    gaps = frame.copy()
    gaps.loc[[3, 7, 20], "y"] = None if text else np.nan
    gaps.to_csv("g.csv", index=False)
    gaps.to_parquet("g.parquet")
    frame.drop([3, 7, 20]).to_csv("whole.csv", index=False)
    assert main(["fit", data, "--target", "y", "--out", "gaps", *FIT]) == 2
    assert "3 rows have no value; add --drop-missing" in capsys.readouterr().err
    assert main(["fit", data, "--target", "y", "--out", "gaps", "--drop-missing", *FIT]) == 0
    assert "3 rows without --target 'y' left out" in capsys.readouterr().err
    assert main(["fit", "whole.csv", "--target", "y", "--out", "whole", *FIT]) == 0
    np.testing.assert_array_equal(load("gaps").readout_, load("whole").readout_)
