"""onegrad apply --keep: columns of the data beside predictions; fit --drop-missing: gaps."""

import numpy as np
import pytest

from onegrad.cli import main
from onegrad.estimators import load
from programs import complaint

pytestmark = pytest.mark.compat  # tables are pandas' and Arrow's
ROWS = 50
FIT = ["--estimator", "one-step", "--width", "6", "--columns", "x", "--no-card", "--force"]


@pytest.fixture
def frame(tmp_path, monkeypatch):
    import pandas as pd

    monkeypatch.chdir(tmp_path)
    x, ids = np.linspace(-1, 1, ROWS), 2**60 + np.arange(ROWS)
    frame = pd.DataFrame({"x": x, "id": ids, "town": ["a, b", 'say "c"'] * (ROWS // 2), "y": x**2})
    frame.astype({"id": str}).to_csv("d.csv", index=False)
    frame.to_parquet("d.parquet")
    return frame


def test_columns_come_back_as_they_were(frame, monkeypatch):
    import pandas as pd

    monkeypatch.setattr("onegrad.data.file_partitions.ROWS_PER_BLOCK", 7)
    assert main(["fit", "d.csv", "--target", "y", "--out", "m", *FIT]) == 0
    expected = load("m").predict(frame[["x"]])
    for data, out in (("d.csv", "p.parquet"), ("d.parquet", "p.csv"), ("d.csv", "q.csv")):
        assert main(["apply", "m", data, "--keep", "town,id", "--out", out]) == 0
        csv = out.endswith(".csv")
        read = pd.read_csv(out, dtype={"id": str}) if csv else pd.read_parquet(out)
        assert list(read.columns) == ["town", "id", "prediction"]
        assert list(read["id"].astype(str)) == list(frame["id"].astype(str)), (data, out)
        assert list(read["town"]) == list(frame["town"])
        np.testing.assert_allclose(read["prediction"], expected, rtol=1e-12)


@pytest.mark.parametrize("text", [False, True])
def test_rows_without_a_target_are_counted_and_left_out(text, frame, capsys):
    frame["y"] = np.where(frame["x"] > 0, "up", "down") if text else frame["y"]
    gaps = frame.copy()
    gaps.loc[[3, 7, 20], "y"] = None if text else np.nan
    gaps.to_csv("g.csv", index=False)
    gaps.to_parquet("g.parquet")
    frame.drop([3, 7, 20]).to_csv("whole.csv", index=False)
    assert main(["fit", "whole.csv", "--target", "y", "--out", "whole", *FIT]) == 0
    for data in ("g.csv", "g.parquet"):
        capsys.readouterr()
        command = ["fit", data, "--target", "y", "--out", "gaps", *FIT]
        assert "3 rows have no value; add --drop-missing" in complaint(capsys, *command)
        assert main([*command, "--drop-missing"]) == 0
        assert "3 rows without --target 'y' left out" in capsys.readouterr().err
        np.testing.assert_array_equal(load("gaps").readout_, load("whole").readout_)
