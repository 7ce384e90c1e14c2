"""Two steps on fresh batches: the theory agrees with networks.

The settings are nine of 68 random ones, three steps each, simulated with 64 networks by a plain
program of its own (benchmarks/uniform_settings.py compares all of them).
"""

import json
from pathlib import Path

import numpy as np
import pytest

import onegrad as og

pytestmark = pytest.mark.filterwarnings("ignore::onegrad.AssumptionWarning")
MAX_DEVIATION = 4.0  # standard errors, in 54 values
NUMBERS = Path(__file__).parents[3] / "numbers" / "two_steps.json"
SETTINGS = json.loads(NUMBERS.read_text())


def problem_of(setting):
    fields = {k: v for k, v in setting.items() if k not in ("id", "alphas", "mean", "se")}
    return og.Problem(**fields)


def deviations(problem, setting):
    """Return (prediction - mean)/se of train and test at each step."""
    found = og.predict(problem, alpha=setting["alphas"])
    predicted = np.column_stack([found.train, found.test])
    return (predicted - setting["mean"]) / setting["se"]


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda s: f"{s['residual']}-{s['id']}")
def test_errors_agree_in_standard_errors(setting):
    assert np.abs(deviations(problem_of(setting), setting)).max() < MAX_DEVIATION


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda s: f"{s['residual']}-{s['id']}")
def test_another_second_step_disagrees(setting):
    """A second step of twice the size is told apart, or none where it is as small as that."""
    problem = problem_of(setting)
    twice = setting["later_alpha"][0] + np.log(2) / np.log(problem.n)
    others = (problem.replace(later_alpha=[twice]), problem.replace(steps=1, later_alpha=""))
    furthest = max(np.abs(deviations(other, setting)).max() for other in others)
    assert furthest > 2 * MAX_DEVIATION


@pytest.mark.parametrize("fields", [{"steps": 3}, {"steps": 2, "batches": "same"},
                                    {"steps": 2, "ridge_rows": "same"}])  # fmt: skip
def test_what_is_not_derived_is_refused(fields):
    problem = og.Problem(n=300, d=150, N=200, alpha=0.2, **fields)
    with pytest.raises(og.OutOfScope):
        og.predict(problem)
