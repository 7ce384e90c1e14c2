"""onegrad predict: tables, JSON, ranges and pictures."""

import pytest

import onegrad as og
from onegrad.cli import main
from programs import json_of

SIZES = ["--n", "200", "--d", "100", "--N", "133"]
PROBLEM = {"n": 200, "d": 100, "N": 133, "activation": "softplus", "teacher": "H1 + H2/sqrt(2)"}


def test_json_has_what_the_interface_promises(capsys):
    problem = og.Problem(**PROBLEM, noise=0.5, alpha=0.3)
    for theory in ("random-features", "small-step", "staircase", "uniform"):
        options = ["--noise", "0.5", "--alpha", "0.1,0.3", "--theory", theory]
        value = json_of(capsys, "predict", *SIZES, *options)
        assert value["theory"] == theory and value["problem"]["N"] == 133
        assert [row["alpha"] for row in value["results"]] == [0.1, 0.3]
        expected, last = og.predict(problem, theory=theory), value["results"][1]
        assert last["eta"] == pytest.approx(200**0.3)
        assert last["test"] == pytest.approx(float(expected.test), rel=1e-6), theory
        assert last["train"] == pytest.approx(float(expected.train), rel=1e-6), theory
        assert last["risk"] == pytest.approx(last["test"] - 0.25)
    assert json_of(capsys, "predict", *SIZES)["theory"] == "uniform"


def test_a_table_has_one_line_per_point_and_the_bound(capsys):
    assert main(["predict", *SIZES, "--ridge", "0.01,0.1,1", "--theory", "random-features"]) == 0
    said, header, *points, bound = capsys.readouterr().out.splitlines()
    assert said.startswith("random-features theory") and "test" in header and len(points) == 3
    assert bound == "no rotation-invariant kernel has a test error below 1"


def test_the_curve_is_drawn(tmp_path, capsys):
    path = tmp_path / "curve.svg"
    options = ["--alpha", "0:0.45:8", "--theory", "small-step", "--teacher", "H1 + H2"]
    assert main(["predict", *SIZES, *options, "--plot", str(path)]) == 0
    text = path.read_text()
    assert text.startswith("<?xml") and len(text) > 5000
    assert capsys.readouterr().err == f"wrote {path}\n"
