"""One member of a given width that is one search learns what it learned in version 0.1.

Kinks lie on rows, so that the last bit of a product decides on which side such a row is: machines
that round differently differ by up to 5 % of a deviation, and so do predictions here.
"""

import json
from pathlib import Path

import numpy as np

import onegrad as og

THEN = json.loads((Path(__file__).parents[2] / "numbers" / "version_0_1.json").read_text())
RNG = np.random.default_rng(12)
X = RNG.standard_normal((400, 3))
Y = np.abs(X[:, 0] - X[:, 1]) + 0.5 * X[:, 2] + 0.05 * RNG.standard_normal(400)
X_NEW = RNG.standard_normal((40, 3))
ASKED = {"width": 60, "members": 1, "rounds": 32, "random_state": 3}


def test_numbers():
    predicted = og.AlternatingRegressor(**ASKED).fit(X, Y).predict(X_NEW)
    difference = predicted - np.array(THEN["regressor"])
    assert np.abs(difference).max() < 0.1 * np.std(predicted)
    assert np.sqrt(np.mean(difference**2)) < 0.03 * np.std(predicted)


def test_classes():
    """Probabilities have a prior since version 0.3, and are no longer as extreme as they were."""
    p = og.AlternatingClassifier(**ASKED).fit(X, Y > 1).predict_proba(X_NEW)[:, 1]
    p_then = np.array(THEN["classifier"])
    np.testing.assert_array_equal(p > 0.5, p_then > 0.5)
    assert np.corrcoef(p, p_then)[0, 1] > 0.99
