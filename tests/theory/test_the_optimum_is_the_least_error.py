"""`og.optimum`: no point of a grid is better, ends warn, budgets are kept, results are data."""

import json
import warnings

import numpy as np
import pytest

import onegrad as og

PROBLEM = og.Problem(
    n=1000, d=500, N=667, activation="relu", teacher="H1 + H2/sqrt(2)", noise=0.3, ridge=0.01,
    weights="sphere", readout="rademacher",
)  # fmt: skip


@pytest.fixture(scope="module")
def best() -> og.Optimum:
    return og.optimum(PROBLEM, over=("alpha", "ridge"))


@pytest.mark.filterwarnings("ignore::onegrad.AssumptionWarning")
def test_no_point_of_a_grid_is_better(best) -> None:
    grid = og.predict(PROBLEM, alpha=np.linspace(0.2, 0.7, 6), ridge=np.geomspace(0.05, 5, 7))
    assert best.test <= grid.test.min() * 1.0005
    assert 0.4 < best.values["alpha"] < 0.7 and 0.1 < best.values["ridge"] < 3
    assert best.problem.alpha == best.values["alpha"] and best.problem.n == PROBLEM.n
    assert best.test == pytest.approx(og.predict(best.problem).test, rel=2e-3)
    assert best.curve.test.min() >= best.test * 0.999


@pytest.mark.full
def test_networks_at_the_optimum_have_its_error_and_less_than_elsewhere(best) -> None:
    small = og.Problem(n=300, d=150, N=200, activation="relu", teacher="H1 + H2/sqrt(2)", noise=0.3)
    chosen = og.optimum(small)
    at = og.simulate(chosen.problem, seeds=24).test
    weak = og.simulate(chosen.problem.replace(ridge=1e-3, alpha=0.2), seeds=24).test
    assert abs(at.mean - chosen.test) < 3 * at.se + 2 * chosen.accuracy.test * chosen.test
    assert at.mean + 3 * at.se < weak.mean


def test_a_step_that_only_adds_noise_is_best_at_its_end() -> None:
    unlearnable = og.Problem(n=600, d=300, N=400, activation="tanh", teacher="H2", noise=1.0)
    with warnings.catch_warnings(action="ignore", category=og.AssumptionWarning):
        found = og.optimum(unlearnable, over="ridge")
    assert "ridge, is best at an end of the range" in str(found.warnings[0])
    assert found.values["ridge"] == pytest.approx(10.0, rel=0.2)
    assert found.over == ("ridge",)


def test_a_curve_of_optima_falls_with_the_width(best) -> None:
    with np.errstate(all="raise"):
        curve = og.optimum(PROBLEM, over=("ridge",), alpha=0.4, N=[250, 500, 1000])
    assert np.all(np.diff(curve.test) < 0) and curve.curve is None
    assert len(curve.results()) == 3 and curve.results()[1]["N"] == 500
    assert json.dumps(curve.to_dict()) and json.dumps(best.to_dict())
    assert "ridge" in curve._repr_html_() and "3 N" in repr(curve)
    assert list(curve.to_dataframe()["N"]) == [250, 500, 1000]


def test_a_budget_of_rows_is_spent() -> None:
    found = og.optimum(PROBLEM.replace(ridge=0.7, alpha=0.5), over="n_step", total=2000)
    assert found.problem.n + found.problem.n_step == 2000
    halves = og.predict(found.problem.replace(n=1000, n_step=1000))
    assert found.test <= halves.test and found.total == 2000


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"over": ("beta",)}, "over"),
        ({"over": ()}, "over"),
        ({"over": ("n_step",)}, "total"),
        ({"total": 100}, "total"),
        ({"ridge": [0.1, 1.0]}, "ridge"),
        ({"over": "ridge", "N": [1, 2], "alpha": [0.1, 0.2]}, "at most one list"),
    ],
)
def test_what_is_wrong_is_named(arguments, named) -> None:
    with pytest.raises(og.InvalidInput, match=named):
        og.optimum(PROBLEM, **arguments)


def test_pictures_mark_the_optimum(best) -> None:
    ax = best.plot()
    assert "optimum" in [text.get_text() for text in ax.get_legend().get_texts()]
    curve = og.optimum(PROBLEM, over="ridge", alpha=0.4, d=[100, 200]).plot()
    assert curve.get_xlabel() == "Inputs d" and curve.get_lines()
