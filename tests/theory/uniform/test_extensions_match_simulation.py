"""Intercept, laws of the labels, several indices, no linear part: against simulated networks.

Reference: tests/numbers/uniform_extensions.json, n = 1000, d = 400, N = 600 (400 seeds on a GPU),
at three step sizes each. Seeds are shared, so that deviations within a group go together.
"""

import json
import warnings
from pathlib import Path

import numpy as np
import pytest

from onegrad import AssumptionWarning, Problem
from onegrad.theory.uniform import uniform_errors

DATA = Path(__file__).parents[2] / "numbers"
GROUPS = json.loads((DATA / "uniform_extensions.json").read_text())["groups"]
REFUSED = json.loads((DATA / "uniform_refused.json").read_text())["groups"]
RUNS = [(name, run) for name, runs in GROUPS.items() for run in runs]


def predicted(run, **changes):
    problem = Problem(**(run["problem"] | changes))
    with warnings.catch_warnings():  # noise without a fourth moment, large spikes
        warnings.simplefilter("ignore", AssumptionWarning)
        return uniform_errors([problem.replace(alpha=alpha) for alpha in run["alpha"]])


@pytest.mark.parametrize(
    ("name", "run"), RUNS, ids=[f"{n}-{r['problem']['activation']}" for n, r in RUNS]
)
def test_each_setting_is_within_one_percent_or_three_standard_errors(name, run):
    found = predicted(run)
    ours = np.stack([found.train, found.test], 1)
    accuracy = np.stack([found.accuracy.train, found.accuracy.test], 1)
    mean, se = np.array(run["mean"]), np.array(run["se"])
    assert (np.abs(ours - mean) <= np.maximum(0.01 * mean, 3 * se)).all()
    assert (np.abs(ours - mean) <= accuracy * ours + 2 * se).all()


WITHOUT = {"intercept": False, "noise_law": "gaussian", "corrupted": 0.0}


@pytest.mark.parametrize("name", ["intercept", "corrupted"])
def test_ignoring_the_extension_would_be_seen(name):
    far = 0
    for run in GROUPS[name]:
        plain, (train, test) = predicted(run, **WITHOUT), run["mean"][1]
        far += max(abs(plain.train[1] / train - 1), abs(plain.test[1] / test - 1)) > 0.05
    assert far >= 3


@pytest.mark.parametrize("name", ["spiked", "power-law"])
def test_a_covariance_is_not_ignored(name):
    for run in REFUSED[name]:
        if run["problem"]["inputs"] == "spiked(100)":
            continue  # a quarter of all variance in one direction: docs/input_covariance.md
        found, mean, se = predicted(run), np.array(run["mean"]), np.array(run["se"])
        ours = np.stack([found.train, found.test], 1)
        assert (np.abs(ours - mean) <= np.maximum(0.01 * mean, 3 * se)).all()
        plain = predicted(run, inputs="gaussian")
        assert np.abs(np.stack([plain.train, plain.test], 1) / mean - 1).max() > 0.02


def test_every_group_has_six_settings():
    assert set(GROUPS) == {"intercept", "noise", "corrupted", "indices", "no linear part"}
    assert all(len(runs) >= 6 for runs in GROUPS.values())
