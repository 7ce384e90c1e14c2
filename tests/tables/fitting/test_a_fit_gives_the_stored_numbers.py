"""Small fits of both families predict what they predicted when the numbers were stored.

Kinks lie on rows, so that the last bit of a product decides on which side such a row is: machines
that round differently differ by up to 5 % of a deviation, and so do predictions here.
"""

import json
from pathlib import Path

import numpy as np

import onegrad as og

NUMBERS = Path(__file__).parents[2] / "numbers" / "fits.json"
RNG = np.random.default_rng(12)
X = RNG.standard_normal((400, 3))
Y = np.abs(X[:, 0] - X[:, 1]) + 0.5 * X[:, 2] + 0.05 * RNG.standard_normal(400)
X_NEW = RNG.standard_normal((40, 3))
SMALL = {"width": 60, "random_state": 3}


def predictions():
    """Numbers, and scores of classes, by estimator."""
    alternating, one_step = {**SMALL, "rounds": 32}, {**SMALL, "eta": "auto"}
    return {
        "alternating": og.AlternatingRegressor(**alternating).fit(X, Y).predict(X_NEW),
        "one-step": og.OneStepRegressor(**one_step).fit(X, Y).predict(X_NEW),
        "classes": og.AlternatingClassifier(**alternating).fit(X, Y > 1).decision_function(X_NEW),
    }


def test_fits_are_those_that_were_stored():
    stored = json.loads(NUMBERS.read_text("utf-8"))
    for name, predicted in predictions().items():
        difference = predicted - np.array(stored[name])
        assert np.abs(difference).max() < 0.1 * np.std(predicted), name
        assert np.sqrt(np.mean(difference**2)) < 0.03 * np.std(predicted), name
