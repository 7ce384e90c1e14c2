"""Random settings that no coefficient was fitted to: accuracy covers, spread is the spread.

The settings are tests/numbers/uniform_unseen_settings.json, which says where they come from;
`python benchmarks/calibrate_accuracy.py` makes the same comparison over whole files.
"""

import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from onegrad import Problem
from onegrad.theory.uniform import uniform_errors

pytestmark = pytest.mark.filterwarnings("ignore::onegrad.AssumptionWarning")
SETTINGS = json.loads(
    (Path(__file__).parents[2] / "numbers" / "uniform_unseen_settings.json").read_text()
)["settings"]
FIELDS = ("n", "d", "N", "n_step", "activation", "teacher", "noise", "ridge", "weights", "readout",
          "residual")  # fmt: skip


@cache
def compared():
    """Per value: how far off, standard error, accuracy (all relative), spread seen and said."""
    rows = []
    for s in SETTINGS:
        base = Problem(**{k: s[k] for k in FIELDS})
        steps = [{"eta": 0.0} if a is None else {"alpha": a} for a in s["alphas"]]
        found = uniform_errors([base.replace(**step) for step in steps])
        for j, name in enumerate(("train", "test")):
            mean, se = (np.array(s[k])[:, j] for k in ("mean", "se"))
            value, bar, spread = (getattr(x, name) for x in (found, found.accuracy, found.spread))
            seen = se**2 * s["networks"] - j * 2 / s["test_rows"] * mean**2
            rows += zip(
                value / mean - 1, se / mean, bar, np.sqrt(np.maximum(seen, 0)) / spread,
                strict=True,
            )  # fmt: skip
    return np.array(rows).T


def test_accuracy_and_two_standard_errors_cover():
    off, se, bar, _ = compared()
    assert np.mean(np.abs(off) <= bar + 2 * se) >= 0.95


def test_accuracy_is_small_where_the_theory_is_good():
    bar = compared()[2]
    assert np.median(bar) < 0.012
    assert np.all(bar > 0)


def test_accuracy_is_not_decoration():
    """A tenth of it would not cover: on the whole the stated errors are of the size of the real."""
    off, se, bar, _ = compared()
    beyond = np.abs(off) - 2 * se
    large = bar > 0.02
    assert large.any() and beyond[large].max() > 0.005
    assert np.mean(np.abs(off) <= 0.1 * bar + se) < 0.9


def test_spread_is_the_standard_deviation_of_networks():
    """Forty networks know theirs to 11 %, sixteen to 18 %."""
    ratio = compared()[3]
    assert np.median(ratio) == pytest.approx(1.0, abs=0.15)
    assert np.mean((ratio > 0.5) & (ratio < 2)) > 0.85
