"""An activation with a mean, full residual: the initial output has a constant.

Reference: tests/numbers/uniform_raw.json, n = 600, 60 seeds.
"""

import json
from pathlib import Path

import pytest

import onegrad as og
from onegrad import AssumptionWarning, Problem
from onegrad.theory.direction import output_constants
from uniform_point import uniform_point

DATA = Path(__file__).parents[2] / "numbers" / "uniform_raw.json"
RUNS = json.loads(DATA.read_text())["settings"]


@pytest.mark.filterwarnings("ignore:uniform theory")
@pytest.mark.parametrize("run", RUNS, ids=lambda r: r["problem"].get("readout", "gaussian"))
def test_raw_activations_match_simulation(run):
    ours = uniform_point(Problem(**run["problem"]))
    for value, mean, se in zip((ours.train, ours.test), run["mean"], run["se"], strict=True):
        assert abs(value - mean) <= max(0.01 * mean, 3 * se)


def test_the_constant_matters():
    """With the residual y instead, equal readouts and the mean 8 of the output are far off."""
    run = RUNS[1]
    problem = Problem(**run["problem"])
    assert output_constants(problem) == pytest.approx([problem.N**0.5 / (2 * 3.14159265) ** 0.5])
    assert abs(uniform_point(problem.replace(residual="labels")).train / run["mean"][0] - 1) > 0.05


def test_a_constant_that_takes_over_warns():
    problem = Problem(**RUNS[1]["problem"]).replace(eta=4.0)
    with pytest.warns(AssumptionWarning, match="constant of the initial output"):
        og.predict(problem)
