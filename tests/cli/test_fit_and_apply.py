"""onegrad fit and apply: files in, a model, predictions out, beside columns of the data."""

import json
import subprocess

import numpy as np
import pytest

from onegrad.cli import main
from onegrad.parallel.cluster import cluster_client
from onegrad.tables import load
from programs import ONEGRAD, complaint, json_of

pytestmark = pytest.mark.compat  # tables are pandas' and Arrow's
ROWS = 50
SMALL = ["--estimator", "one-step", "--width", "6", "--columns", "x", "--no-card", "--force"]


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

    fit(tmp_path, "d.parquet", "label", "--columns", "size,kind", "--frozen")
    assert load(tmp_path / "m").fitted_.is_frozen
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


@pytest.fixture
def plain(tmp_path, monkeypatch):
    import pandas as pd

    monkeypatch.chdir(tmp_path)
    x, ids = np.linspace(-1, 1, ROWS), 2**60 + np.arange(ROWS)
    frame = pd.DataFrame({"x": x, "id": ids, "town": ["a, b", 'say "c"'] * (ROWS // 2), "y": x**2})
    frame.astype({"id": str}).to_csv("d.csv", index=False)
    frame.to_parquet("d.parquet")
    return frame


def test_columns_come_back_as_they_were(plain, monkeypatch):
    import pandas as pd

    monkeypatch.setattr("onegrad.tables.rows.file_partitions.ROWS_PER_BLOCK", 7)
    assert main(["fit", "d.csv", "--target", "y", "--out", "m", *SMALL]) == 0
    expected = load("m").predict(plain[["x"]])
    for data, out in (("d.csv", "p.parquet"), ("d.parquet", "p.csv"), ("d.csv", "q.csv")):
        assert main(["apply", "m", data, "--keep", "town,id,town", "--out", out]) == 0
        csv = out.endswith(".csv")
        read = pd.read_csv(out, dtype={"id": str}) if csv else pd.read_parquet(out)
        assert list(read.columns) == ["town", "id", "prediction"]
        assert list(read["id"].astype(str)) == list(plain["id"].astype(str)), (data, out)
        assert list(read["town"]) == list(plain["town"])
        np.testing.assert_allclose(read["prediction"], expected, rtol=1e-12)


@pytest.mark.parametrize("text", [False, True])
def test_rows_without_a_target_are_counted_and_left_out(text, plain, capsys):
    frame = plain.assign(y=np.where(plain["x"] > 0, "up", "down")) if text else plain
    gaps = frame.copy()
    gaps.loc[[3, 7, 20], "y"] = None if text else np.nan
    gaps.to_csv("g.csv", index=False)
    gaps.to_parquet("g.parquet")
    frame.drop([3, 7, 20]).to_csv("whole.csv", index=False)
    assert main(["fit", "whole.csv", "--target", "y", "--out", "whole", *SMALL]) == 0
    for data in ("g.csv", "g.parquet"):
        capsys.readouterr()
        command = ["fit", data, "--target", "y", "--out", "gaps", *SMALL]
        assert "3 rows have no value; add --drop-missing" in complaint(capsys, *command)
        assert main([*command, "--drop-missing"]) == 0
        assert "3 rows without --target 'y' left out" in capsys.readouterr().err
        np.testing.assert_array_equal(load("gaps").readout_, load("whole").readout_)


@pytest.fixture(scope="module")
def long_table(tmp_path_factory):
    here = tmp_path_factory.mktemp("pipe")
    x = np.random.default_rng(0).standard_normal(40_000)  # several blocks
    (here / "d.csv").write_text("x,y\n" + "".join(f"{v},{v * v}\n" for v in x), "utf-8")
    assert (
        main(["fit", str(here / "d.csv"), "--target", "y", "--out", str(here / "m"), *SMALL]) == 0
    )
    return here


def test_what_is_printed_is_what_would_be_in_the_file(long_table, capfd):
    command = ["apply", str(long_table / "m"), str(long_table / "d.csv"), "--std", "--out"]
    assert main([*command, str(long_table / "p.csv")]) == 0
    capfd.readouterr()
    assert main([*command, "-"]) == 0
    out, err = capfd.readouterr()
    assert out == (long_table / "p.csv").read_text("utf-8") and err == ""
    assert out.count("\n") == 40_001


@pytest.mark.full
def test_a_reader_that_has_enough_is_no_failure_to_talk_about(long_table):
    program = [*ONEGRAD, "apply", long_table / "m", long_table / "d.csv"]
    with subprocess.Popen(
        [*program, "--out", "-"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as writer:
        assert writer.stdout is not None and writer.stderr is not None
        assert writer.stdout.readline() == b'"prediction"\n'
        writer.stdout.close()
        assert writer.wait(120) == 1
        assert writer.stderr.read() == b""


@pytest.mark.full
def test_an_existing_cluster_gives_the_model_of_this_process(tmp_path, capsys):
    pytest.importorskip("distributed")
    X = np.random.default_rng(0).standard_normal((400, 3))
    lines = [f"{a},{b},{c},{np.tanh(a) + b}" for a, b, c in X]
    (tmp_path / "d.csv").write_text("a,b,c,y\n" + "\n".join(lines) + "\n", "utf-8")

    def fitted(name, *options):
        command = ["fit", str(tmp_path / "d.csv"), "--target", "y", "--out", str(tmp_path / name)]
        sizes = ["--width", "20", "--members", "2", "--budget", "fast"]
        assert main([*command, *sizes, *options]) == 0
        return load(tmp_path / name)

    here = fitted("here")
    capsys.readouterr()
    with cluster_client(workers=1) as client:
        there = fitted("there", "--cluster", client.scheduler.address, "--json")
    assert len(json.loads(capsys.readouterr().out)["ridge"]) == 2
    np.testing.assert_array_equal(there.readout_, here.readout_)
