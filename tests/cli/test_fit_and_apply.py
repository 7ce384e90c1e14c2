"""onegrad fit and apply: files in, a model, predictions out."""

import json

import numpy as np
import pytest

from onegrad.cli import main
from programs import json_of

pytestmark = pytest.mark.compat  # tables are pandas' and Arrow's


@pytest.fixture
def table(tmp_path):
    import pandas as pd

    rng = np.random.default_rng(0)
    size, kind = rng.standard_normal(300), rng.choice(["a", "b"], 300)
    frame = pd.DataFrame({"size": size, "kind": kind, "w": 1.0})
    frame["price"] = np.sin(size) + (frame["kind"] == "a")
    frame["label"] = np.where(frame["price"] > 0.5, "dear", "cheap")
    frame.loc[::17, "size"] = np.nan
    frame.to_csv(tmp_path / "d.csv", index=False)
    frame.to_parquet(tmp_path / "d.parquet")
    return frame


def fit(folder, data, target, *options):
    command = ["fit", str(folder / data), "--target", target, "--out", str(folder / "m")]
    assert main([*command, "--width", "30", "--no-card", *options]) == 0


@pytest.mark.parametrize(
    ("data", "estimator"), [("d.csv", "alternating"), ("d.parquet", "one-step")]
)
def test_regression(tmp_path, table, data, estimator, capsys):
    import pandas as pd

    options = ["--estimator", estimator, "--columns", "size,kind", "--weight", "w", "--json"]
    fit(tmp_path, data, "price", *options)
    summary = json.loads(capsys.readouterr().out)
    assert summary["rows"] == 300
    assert summary["inputs"] == ["size", "size missing", "kind=a", "kind=b"]
    out = tmp_path / "p.csv"
    command = ["apply", str(tmp_path / "m"), str(tmp_path / data), "--out", str(out)]
    assert json_of(capsys, *command, "--std", "--interval", "0.8")["rows"] == 300
    got = pd.read_csv(out)
    assert list(got.columns) == ["prediction", "std", "low", "high"]
    assert np.mean((got["prediction"] - table["price"]) ** 2) < 0.2 * table["price"].var()
    assert np.mean((got["low"] <= table["price"]) & (table["price"] <= got["high"])) > 0.6


def test_classification(tmp_path, table, capsys):
    import pandas as pd

    fit(tmp_path, "d.parquet", "label", "--columns", "size,kind")
    assert "AlternatingClassifier" in capsys.readouterr().out
    out = tmp_path / "p.parquet"
    command = ["apply", str(tmp_path / "m"), str(tmp_path / "d.csv"), "--out", str(out), "--proba"]
    assert main(command) == 0
    got = pd.read_parquet(out)
    assert list(got.columns) == ["prediction", "p(cheap)", "p(dear)"]
    assert np.mean(got["prediction"] == table["label"]) > 0.85


def test_arrays(tmp_path):
    X = np.random.default_rng(0).standard_normal((200, 3))
    np.savez(tmp_path / "d.npz", X=X, y=X[:, 0])
    fit(tmp_path, "d.npz", "y")
    out = tmp_path / "p.npz"
    assert main(["apply", str(tmp_path / "m"), str(tmp_path / "d.npz"), "--out", str(out)]) == 0
    assert np.corrcoef(np.load(out)["prediction"], X[:, 0])[0, 1] > 0.99
