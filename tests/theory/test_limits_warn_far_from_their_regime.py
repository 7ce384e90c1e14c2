"""A theory of a limit says so where the uniform theory is far away, and what that has."""

import warnings

import pytest

import onegrad as og
from onegrad.cli import main

PROBLEM = og.Problem(
    n=4000, d=500, N=1000, activation="softplus", teacher="H1 + H2/sqrt(2)", alpha=0.4
)


@pytest.mark.parametrize(
    ("theory", "alpha"), [("small-step", 0.4), ("random-features", 0.4), ("staircase", 0.26)]
)
def test_the_warning_has_both_numbers(theory, alpha):
    with pytest.warns(og.AssumptionWarning, match="uniform theory has") as caught:
        prediction = og.predict(PROBLEM, theory, alpha=alpha)
    (text,) = [str(w.message) for w in caught if "uniform theory has" in str(w.message)]
    uniform = og.predict(PROBLEM, alpha=alpha)
    assert f"test = {prediction.test:.4g} at eta = {prediction.eta:.3g}" in text
    assert text.endswith(str(uniform)[:-1].partition("test=")[2])
    assert any("uniform theory has" in str(w) for w in prediction.warnings)


@pytest.mark.parametrize(
    ("theory", "step"),
    [
        ("small-step", {"eta": 1.0}),
        ("random-features", {"eta": 0.0}),
        ("staircase", {"alpha": 0.1}),
    ],
)
def test_within_its_regime_a_theory_is_silent(theory, step):
    with warnings.catch_warnings():
        warnings.simplefilter("error", og.AssumptionWarning)
        og.predict(PROBLEM, theory, **step)


def test_the_worst_point_of_a_grid_is_named():
    with pytest.warns(og.AssumptionWarning, match=r"at eta = 27\.6"):
        og.predict(PROBLEM, "small-step", alpha=[0.0, 0.1, 0.4])


def test_the_command_line_says_it_too(capsys):
    assert main(["predict", "--theory", "small-step"]) == 0
    assert "where the uniform theory has 0.5" in capsys.readouterr().err


def test_functions_and_commands_without_a_problem_have_the_same_one(capsys):
    assert main(["predict", "--json"]) == 0
    import json

    printed = json.loads(capsys.readouterr().out)["problem"]
    assert og.predict().problem.to_dict() == printed == og.spectrum().problem.to_dict()
    assert og.spectrum(alpha=0.3).problem == PROBLEM.replace(alpha=0.3)
    with pytest.raises(og.InvalidInput, match="alpha must be one value"):
        og.spectrum(PROBLEM, alpha=[0.1, 0.3])
