"""Settings drawn at random over the whole range: how many values are off, and by how much.

Reference: tests/numbers/uniform_random_settings.json, 40 settings with 40 networks each.
"""

import json
import warnings
from pathlib import Path

import numpy as np
import pytest

from onegrad import AssumptionWarning, Problem
from onegrad.theory.uniform import uniform_errors

DATA = Path(__file__).parents[2] / "numbers" / "uniform_random_settings.json"
SETTINGS = json.loads(DATA.read_text())["settings"]
NOT_FIELDS = ("id", "alphas", "mean", "se")


def problems(setting, **changes):
    base = Problem(**{k: v for k, v in setting.items() if k not in NOT_FIELDS} | changes)
    alphas = setting["alphas"]
    return [base.replace(eta=0.0) if a is None else base.replace(alpha=a) for a in alphas]


def deviation(setting, **changes):
    """|prediction/mean - 1| beyond two standard errors, (steps, 2), and in standard errors."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AssumptionWarning)
        found = uniform_errors(problems(setting, **changes))
    mean, se = np.array(setting["mean"]), np.array(setting["se"])
    off = np.abs(np.column_stack([found.train, found.test]) - mean)
    return np.maximum(off - 2 * se, 0.0) / mean, off / se


@pytest.fixture(scope="module")
def found():
    return [deviation(setting) for setting in SETTINGS]


def test_nearly_all_values_are_within_a_percent_and_two_standard_errors(found):
    beyond = np.concatenate([x for x, _ in found])
    assert np.mean(beyond > 0.01) <= 0.01
    assert beyond.max() <= 0.03


def test_deviations_look_like_standard_errors_for_both_residuals(found):
    for residual in ("labels", "full"):
        z = [z for s, (_, z) in zip(SETTINGS, found, strict=True) if s["residual"] == residual]
        assert np.mean(np.concatenate(z)) < 1.1  # 0.8 for a normal


def test_another_residual_would_be_seen():
    full = [s for s in SETTINGS if s["residual"] == "full"][:6]
    beyond = np.concatenate([deviation(s, residual="labels")[0] for s in full])
    assert np.mean(beyond > 0.01) > 0.2
