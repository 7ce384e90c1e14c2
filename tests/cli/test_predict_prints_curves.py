"""onegrad predict: tables, JSON, ranges and pictures."""

import pytest

import onegrad as og
from onegrad.cli import main
from programs import json_of

SIZES = ["--n", "200", "--d", "100", "--N", "133"]
PROBLEM = {"n": 200, "d": 100, "N": 133, "activation": "softplus", "teacher": "H1 + H2/sqrt(2)"}


@pytest.mark.parametrize("theory", ["random-features", "small-step", "staircase", "uniform"])
def test_json_has_what_the_interface_promises(theory, capsys):
    options = ["--noise", "0.5", "--alpha", "0.1,0.3", "--theory", theory]
    value = json_of(capsys, "predict", *SIZES, *options)
    assert value["theory"] == theory
    assert [row["alpha"] for row in value["results"]] == [0.1, 0.3]
    problem = og.Problem(**PROBLEM, noise=0.5, alpha=0.3)
    expected = og.predict(problem, theory=theory)
    last = value["results"][1]
    assert last["eta"] == pytest.approx(200**0.3)
    assert last["test"] == pytest.approx(float(expected.test), rel=1e-6)
    assert last["train"] == pytest.approx(float(expected.train), rel=1e-6)
    assert last["risk"] == pytest.approx(last["test"] - 0.25)
    assert value["problem"]["N"] == 133


def test_the_default_theory_is_uniform(capsys):
    value = json_of(capsys, "predict", *SIZES, "--alpha", "0.3")
    expected = og.predict(og.Problem(**PROBLEM, alpha=0.3), theory="uniform")
    assert value["theory"] == "uniform"
    assert value["results"][0]["test"] == pytest.approx(float(expected.test), rel=1e-9)


def test_a_table_has_one_line_per_point_and_the_bound(capsys):
    assert main(["predict", *SIZES, "--ridge", "0.01,0.1,1", "--theory", "random-features"]) == 0
    said, header, *points, bound = capsys.readouterr().out.splitlines()
    assert said.startswith("random-features theory") and "test" in header and len(points) == 3
    assert bound == "no rotation-invariant kernel has a test error below 1"


def test_the_curve_is_drawn_with_its_reference_lines(tmp_path, capsys):
    path = tmp_path / "curve.svg"
    options = ["--alpha", "0:0.45:8", "--theory", "small-step", "--teacher", "H1 + H2"]
    assert main(["predict", *SIZES, *options, "--plot", str(path)]) == 0
    text = path.read_text()
    assert text.startswith("<?xml")
    assert len(text) > 5000


def test_a_plot_of_one_point_is_refused(tmp_path, capsys):
    options = ["--alpha", "0.3", "--theory", "staircase", "--plot", str(tmp_path / "a.svg")]
    assert main(["predict", *SIZES, *options]) == 2
    assert "curve" in capsys.readouterr().err
