"""onegrad fit and apply: files in, model, predictions out; JSON, exit codes, one-line errors."""

import json

import numpy as np
import pandas as pd
import pytest

from onegrad.cli import main
from programs import json_of


@pytest.fixture
def table(tmp_path):
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
    return main(
        ["fit", str(folder / data), "--target", target, "--out", str(folder / "m"),
         "--width", "30", "--no-card", *options]
    )  # fmt: skip


@pytest.mark.parametrize("data", ["d.csv", "d.parquet"])
@pytest.mark.parametrize("estimator", ["alternating", "one-step"])
def test_regression(tmp_path, table, data, estimator, capsys):
    options = ["--estimator", estimator, "--columns", "size,kind", "--weight", "w", "--json"]
    assert fit(tmp_path, data, "price", *options) == 0
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
    assert fit(tmp_path, "d.parquet", "label", "--columns", "size,kind") == 0
    assert "AlternatingClassifier" in capsys.readouterr().out
    out = tmp_path / "p.parquet"
    command = ["apply", str(tmp_path / "m"), str(tmp_path / "d.csv"), "--out", str(out), "--proba"]
    assert main(command) == 0
    got = pd.read_parquet(out)
    assert list(got.columns) == ["prediction", "p(cheap)", "p(dear)"]
    assert np.mean(got["prediction"] == table["label"]) > 0.85


def test_arrays(tmp_path, capsys):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 3))
    np.savez(tmp_path / "d.npz", X=X, y=X[:, 0])
    assert fit(tmp_path, "d.npz", "y") == 0
    out = tmp_path / "p.npz"
    assert main(["apply", str(tmp_path / "m"), str(tmp_path / "d.npz"), "--out", str(out)]) == 0
    assert np.corrcoef(np.load(out)["prediction"], X[:, 0])[0, 1] > 0.99


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (["fit", "{}/none.csv", "--target", "y", "--out", "{}/m"], "no such file"),
        (
            ["fit", "{}/d.csv", "--target", "cost", "--out", "{}/new"],
            "--target must be one of size, kind, w, price, label; got 'cost'",
        ),
        (["fit", "{}/d.csv", "--target", "price", "--out", "{}/no/m"], "no such directory"),
        (["fit", "{}/d.csv", "--target", "label", "--task", "regression", "--out", "{}/n"], "text"),
        (["fit", "{}/d.csv", "--target", "price", "--width", "0", "--out", "{}/new"], "width"),
        (["apply", "{}/d.csv", "{}/d.csv", "--out", "{}/p.csv"], "not a model file"),
        (["apply", "{}/m", "{}/d.csv", "--out", "{}/p.txt"], "--out must be a file that ends in"),
        (["apply", "{}/m", "{}/other.csv", "--out", "{}/p.csv"], "column 'size': missing"),
        (["apply", "{}/m", "{}/d.csv", "--out", "{}/p.csv", "--proba"], "--proba: only for"),
    ],
)
def test_bad_input_is_one_line_and_exit_2(tmp_path, table, command, message, capsys):
    assert fit(tmp_path, "d.csv", "price", "--columns", "size,kind", "--estimator", "one-step") == 0
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")
    capsys.readouterr()
    assert main([part.format(tmp_path) for part in command]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert message in captured.err
    assert captured.err.count("\n") == 1
