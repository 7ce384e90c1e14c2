"""Intervals cover what was asked for with repeated rows, with weights, and after `calibrate`."""

import numpy as np
import pytest

import onegrad as og
from onegrad.exceptions import InvalidInput
from onegrad.tables.model.intervals import interval_width

pytestmark = pytest.mark.filterwarnings("ignore:the model was learned from")


def small(**settings):
    return og.AlternatingRegressor(60, members=1, rounds=3, **settings)


def covered(model, X, y):
    low, high = model.predict_interval(X, 0.9)
    return np.mean((low <= y) & (y <= high))


def test_few_rows_that_are_repeated_often_count_as_often():
    """Half of the rows are ten kinds that nothing explains, of sizes 1 to 10.

    The others are unique and easy. The wanted half-width is that of the ninth tenth of all rows.
    """
    kinds = np.arange(1.0, 11.0)

    def draw(rng, n):
        hard = rng.random(n) < 0.5
        x = rng.standard_normal((n, 3))
        y = x[:, 0].copy()
        x[hard] = 0.5
        y[hard] = rng.choice(np.concatenate([-kinds, kinds]), hard.sum())
        return x, y

    shares = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        model = small(random_state=seed).fit(*draw(rng, 2000))
        shares.append(covered(model, *draw(rng, 4000)))
    assert np.mean(shares) == pytest.approx(0.9, abs=0.03)  # 0.45 when each kind counted once


def test_intervals_are_those_of_the_weighted_law():
    shares = []
    for seed in range(4):
        rng = np.random.default_rng(seed)

        def draw(n, rng=rng):
            x, hard = rng.standard_normal((n, 2)), rng.random(n) < 0.5
            return x, x[:, 0] + np.where(hard, 5, 0.1) * rng.standard_normal(n), hard

        x, y, hard = draw(1000)
        X, Y, H = draw(40_000)
        of_law = rng.random(40_000) < np.where(H, 1, 1 / 9)
        model = small(random_state=seed).fit(x, y, sample_weight=np.where(hard, 9.0, 1.0))
        shares.append(covered(model, X[of_law], Y[of_law]))
    assert np.mean(shares) == pytest.approx(0.9, abs=0.025)  # 0.83 without weights


def test_the_quantile_counts_weights():
    residuals = np.array([[3.0], [1.0], [-2.0]])
    assert interval_width(residuals, np.ones(3), 1000.0, 0.6) == 2
    assert interval_width(residuals, np.array([1.0, 8.0, 1.0]), 1000.0, 0.6) == 1
    assert interval_width(residuals, np.array([8.0, 1.0, 1.0]), 1000.0, 0.6) == 3
    with pytest.raises(InvalidInput, match="more than the 3 held-out rows"):
        interval_width(residuals, np.ones(3), 3.0, 0.9)


def test_calibration_is_weighted_and_refuses_rows_of_the_model():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((300, 3)), rng.standard_normal(300)
    model = small(random_state=0).fit(X[:150], y[:150])
    with pytest.raises(InvalidInput, match="3 of its rows are in the model"):
        model.calibrate(X[147:], y[147:])
    wide = np.abs(y[150:]) > 1
    widths = []
    for weights in (None, np.where(wide, 1.0, 9.0), np.where(wide, 9.0, 1.0)):
        low, high = model.calibrate(X[150:], y[150:], weights).predict_interval(X[:1])
        widths.append(float((high - low)[0]))
    assert widths[1] < widths[0] < widths[2]


def test_rows_are_counted_as_they_leave():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100, 2))
    model = small(random_state=0).fit(np.concatenate([X, X[:5]]), [*X[:, 0], *X[:5, 0]])
    assert model.n_rows_ == 105
    model.remove(X[:5], X[:5, 0])
    assert model.n_rows_ == 100
    for rows_left in (100, 95):  # half of a row is still a row
        model.remove(X[:5], X[:5, 0], np.full(5, 0.5))
        assert model.n_rows_ == rows_left


def test_sums_that_are_no_longer_exact_are_said():
    X = np.random.default_rng(0).standard_normal((200, 3))
    model = small(random_state=0).fit(X, X[:, 0])
    for size in (1e7, 1e20):
        with pytest.warns(og.AssumptionWarning, match="no longer exact"):
            model.blank().partial_fit(X, X[:, 0]).partial_fit(X[:1] + 0.1, [size])
