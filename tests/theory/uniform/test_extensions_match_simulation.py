"""Intercept, laws of the labels, several indices, no linear part: against simulated networks.

Reference: benchmarks/uniform_extensions.py, n = 1000, d = 400, N = 600 (400 seeds on a GPU), at
three step sizes each. Seeds are shared, so that deviations within a group go together.
"""

import json
import warnings
from pathlib import Path

import pytest

from onegrad import AssumptionWarning, Problem
from onegrad.theory.uniform import errors

DATA = Path(__file__).parents[2] / "numbers" / "uniform_extensions.json"
GROUPS = json.loads(DATA.read_text())["groups"]
RUNS = [(name, run) for name, runs in GROUPS.items() for run in runs]


def predicted(run, **changes):
    problem = Problem(**(run["problem"] | changes))
    with warnings.catch_warnings():  # noise without a fourth moment, large spikes
        warnings.simplefilter("ignore", AssumptionWarning)
        found = errors([problem.replace(alpha=alpha) for alpha in run["alpha"]])
    return list(zip(found.train, found.test, strict=True))


@pytest.mark.parametrize(
    "name, run", RUNS, ids=[f"{n}-{r['problem']['activation']}" for n, r in RUNS]
)
def test_each_setting_is_within_one_percent_or_three_standard_errors(name, run):
    for ours, means, errors_ in zip(predicted(run), run["mean"], run["se"], strict=True):
        for value, mean, se in zip(ours, means, errors_, strict=True):
            assert abs(value - mean) <= max(0.01 * mean, 3 * se)


WITHOUT = {"intercept": False, "noise_law": "gaussian", "corrupted": 0.0}


@pytest.mark.parametrize("name", ["intercept", "corrupted"])
def test_ignoring_the_extension_would_be_seen(name):
    far = 0
    for run in GROUPS[name]:
        plain, means = predicted(run, **WITHOUT), run["mean"]
        far += any(abs(a / b - 1) > 0.05 for a, b in zip(plain[1], means[1], strict=True))
    assert far >= 3


def test_every_group_has_six_settings():
    assert set(GROUPS) == {"intercept", "noise", "corrupted", "indices", "no linear part"}
    assert all(len(runs) >= 6 for runs in GROUPS.values())
