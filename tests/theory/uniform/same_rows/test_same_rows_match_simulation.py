"""Ridge on the rows of the step, against simulated networks.

References: ten of the random settings of benchmarks/settings (64 networks each), and three settings
of tests/numbers/uniform_refused.json with 200 seeds.
"""

import json
import warnings
from pathlib import Path

import numpy as np
import pytest

from onegrad import AssumptionWarning, Problem
from onegrad.theory.uniform import uniform_errors

DATA = Path(__file__).parents[3] / "numbers"
SETTINGS = json.loads((DATA / "same_rows.json").read_text())["settings"]
RUNS = json.loads((DATA / "uniform_refused.json").read_text())["groups"]["same rows"]
NOT_FIELDS = {"id", "alphas", "mean", "se"}
NETWORKS = 64  # behind each mean


def errors_of(fields, alphas, ridge_rows="same"):
    problem = Problem(**fields | {"ridge_rows": ridge_rows})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AssumptionWarning)
        return uniform_errors([problem.replace(alpha=alpha) for alpha in alphas])


def predicted(fields, alphas, ridge_rows="same"):
    errors = errors_of(fields, alphas, ridge_rows)
    return np.stack([errors.train, errors.test], 1)


@pytest.mark.parametrize("setting", SETTINGS, ids=[str(s["id"]) for s in SETTINGS])
def test_random_settings_are_within_two_percent_beyond_two_standard_errors(setting):
    fields = {k: v for k, v in setting.items() if k not in NOT_FIELDS}
    alphas, mean, se = (np.array(setting[k]) for k in ("alphas", "mean", "se"))
    ends = [0, -1]
    ours = predicted(fields, alphas[ends])
    assert (np.abs(ours - mean[ends]) <= 2 * se[ends] + 0.02 * mean[ends]).all()


def test_bars_and_spread_are_those_of_networks():
    covered, ratios = [], []
    for setting in SETTINGS:
        fields = {k: v for k, v in setting.items() if k not in NOT_FIELDS}
        errors = errors_of(fields, setting["alphas"][2:3])
        for kind, mean, se in zip(
            ("train", "test"), setting["mean"][2], setting["se"][2], strict=True
        ):
            value, bar = getattr(errors, kind)[0], getattr(errors.accuracy, kind)[0]
            covered.append((value - mean) ** 2 <= (2 * se) ** 2 + (bar * value) ** 2)
            ratios.append(getattr(errors.spread, kind)[0] / (se * np.sqrt(NETWORKS)))
    assert np.mean(covered) >= 0.85  # 95 % of many, 20 values here
    assert 0.7 < np.median(ratios) < 1.4


def test_other_rows_would_be_seen():
    far = 0
    for setting in SETTINGS:
        fields = {k: v for k, v in setting.items() if k not in NOT_FIELDS}
        fresh = predicted(fields, setting["alphas"][-1:], "fresh")
        far += np.abs(fresh / np.array(setting["mean"][-1:]) - 1).max() > 0.1
    assert far >= len(SETTINGS) - 1


@pytest.mark.parametrize("run", RUNS, ids=[r["problem"]["activation"] for r in RUNS])
def test_precise_settings_are_within_one_percent_or_three_standard_errors(run):
    fields = {k: v for k, v in run["problem"].items() if k != "ridge_rows"}
    mean, se = np.array(run["mean"]), np.array(run["se"])
    ours = predicted(fields, run["alpha"])
    assert (np.abs(ours - mean) <= np.maximum(0.01 * mean, 3 * se)).all()
