"""`onegrad predict` alone, sizes as ratios, and numbers that start with a minus."""

import pytest

import onegrad as og
from onegrad.cli import main
from onegrad.cli.options import DEFAULT_SETTING
from programs import json_of


def test_predict_alone_is_the_default_setting_and_says_so(capsys):
    found = json_of(capsys, "predict")
    assert found["setting"] == DEFAULT_SETTING and found["theory"] == "uniform"
    problem = og.Problem(
        n=4000, d=500, N=1000, activation="softplus", teacher="H1 + H2/sqrt(2)", alpha=0.4
    )
    (row,) = found["results"]
    assert row["alpha"] == 0.4
    assert row["test"] == pytest.approx(float(og.predict(problem).test), rel=1e-9)
    assert main(["predict", "--theory", "random-features"]) == 0
    said = capsys.readouterr().out.splitlines()[0]
    assert said.endswith("(default)") and "n = 4000, d = 500, N = 1000" in said


def test_other_options_change_the_default_setting(capsys):
    found = json_of(
        capsys, "predict", "--eta", "2", "--activation", "relu", "--theory", "small-step"
    )
    assert found["setting"] == DEFAULT_SETTING
    assert [row["eta"] for row in found["results"]] == [2.0]
    assert found["problem"]["activation"] == "relu" and found["problem"]["n"] == 4000
    assert json_of(capsys, "spectrum")["setting"] == DEFAULT_SETTING


def test_with_sizes_the_other_defaults_stay(capsys):
    sizes = ["--n", "60", "--d", "30", "--N", "40", "--theory", "random-features"]
    found, alone = json_of(capsys, "predict", *sizes), json_of(capsys, "predict")
    assert found["setting"] is None
    for name in ("activation", "teacher", "alpha", "ridge", "noise"):
        assert found["problem"][name] == alone["problem"][name]


def test_sizes_that_are_not_given_keep_their_defaults(capsys):
    for words, sizes in (
        ("--n 2000", (2000, 500, 1000)),
        ("--N 300", (4000, 500, 300)),
        ("--phi 0.25", (4000, 1000, 1000)),
        ("--d 100 --psi 0.5", (4000, 100, 200)),
    ):
        found = json_of(capsys, "predict", *words.split(), "--theory", "random-features")
        assert tuple(found["problem"][name] for name in ("n", "d", "N")) == sizes, words
        assert found["setting"] is None


def test_ratios_are_sizes(capsys):
    same = ["--n", "200", "--d", "100", "--N", "133"]
    given = ["--n", "200", "--phi", "0.5", "--psi", "0.75"]
    a, b = (json_of(capsys, "predict", *words, "--alpha", "0.2") for words in (same, given))
    assert a == b


def test_a_list_of_ratios_is_a_curve(capsys):
    words = ["--n", "200", "--phi", "0.5", "--psi", "0.5,1,2", "--theory", "random-features"]
    found = json_of(capsys, "predict", *words)
    assert [row["N"] for row in found["results"]] == [200, 100, 50]
    words = ["--n", "200", "--phi", "0.1:1:2", "--N", "100", "--theory", "random-features"]
    assert [row["d"] for row in json_of(capsys, "predict", *words)["results"]] == [20, 200]


def test_a_value_and_a_formula_may_start_with_a_minus(capsys):
    words = ["--n", "600", "--d", "300", "--N", "400", "--theory", "random-features"]
    for option, alphas in (
        ("--alpha -0.2:0.2:3", [-0.2, 0.0, 0.2]),
        ("--alpha -.1,0.1", [-0.1, 0.1]),
        ("--alpha -1e-1", [-0.1]),
        ("--alpha=-0.2:0.2:2", [-0.2, 0.2]),
    ):
        found = json_of(capsys, "predict", *words, *option.split())
        assert [row["alpha"] for row in found["results"]] == pytest.approx(alphas), option
    for teacher in ("-H1", "-(H1 + H2)", "-0.5*H1 + H2"):
        found = json_of(capsys, "predict", *words, "--eta", "0", "--teacher", teacher)
        assert found["problem"]["teacher"] == teacher
    assert json_of(capsys, "exponents", "-H3")["results"][0]["information"] == 3
