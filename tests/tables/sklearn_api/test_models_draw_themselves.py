"""`plot` draws importances, predictions, intervals and calibration."""

import numpy as np
import pytest

import onegrad as og
from onegrad.exceptions import InvalidInput

RNG = np.random.default_rng(0)
X = RNG.standard_normal((300, 3))
Y = np.maximum(X[:, 0], 0) + 0.1 * RNG.standard_normal(300)


@pytest.fixture
def axes():
    from matplotlib.figure import Figure

    return Figure().subplots()


def test_pictures_of_a_regression(axes):
    model = og.OneStepRegressor(30, random_state=0).fit(X[:200], Y[:200])
    bars = model.plot(ax=axes).patches
    assert sorted(bar.get_width() for bar in bars) == sorted(model.feature_importances_)
    line = model.plot("predicted", X[200:], Y[200:], axes.figure.add_subplot()).lines[-1]
    np.testing.assert_array_equal(line.get_xdata(), model.predict(X[200:]))
    drawn = model.plot("intervals", X[200:], Y[200:], axes.figure.add_subplot())
    low, high = model.predict_interval(X[200:])
    inside = np.mean((low <= Y[200:]) & (Y[200:] <= high))
    assert f"{inside:.0%} in" in [label.get_label() for label in drawn.lines]


def test_pictures_of_a_classification(axes):
    labels = np.where(Y > 0.3, "high", "low")
    model = og.OneStepClassifier(30, random_state=0).fit(X[:200], labels[:200])
    drawn = model.plot("calibration", X[200:], labels[200:], axes)
    shares = drawn.lines[1].get_ydata()
    assert len(shares) == 10
    assert np.mean(shares) == pytest.approx(model.score(X[200:], labels[200:]))


def test_unknown_pictures_and_missing_rows_are_one_line():
    model = og.OneStepRegressor(30, random_state=0).fit(X, Y)
    with pytest.raises(InvalidInput, match="kind must be"):
        model.plot("calibration")
    with pytest.raises(InvalidInput, match="needs rows"):
        model.plot("predicted")
