"""partial_fit, merge and remove change the readout exactly as if the rows had always been so."""

import numpy as np
import pytest

import onegrad as og
from onegrad.exceptions import AssumptionWarning, InvalidInput


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 3))
    return X, np.sin(2 * X[:, 0]) + X[:, 1]


@pytest.fixture(scope="module", params=[1, 3])
def start(request, data):
    X, y = data
    settings = {"width": 30, "rounds": 2, "members": request.param, "random_state": 0}
    return og.AlternatingRegressor(**settings).fit(X[:200], y[:200])


def filled(start, X, y):
    return start.blank().partial_fit(X, y)


def test_parts_in_any_order_are_the_whole(data, start):
    X, y = data
    whole = filled(start, X, y)
    parts = start.blank()
    for rows in np.array_split(np.random.default_rng(1).permutation(400), 7):
        parts.partial_fit(X[rows], y[rows])
    np.testing.assert_array_equal(parts.readout_, whole.readout_)
    assert parts.n_rows_ == 400


def test_merged_estimators_are_the_whole_and_removed_rows_leave_no_trace(data, start):
    X, y = data
    before = start.fitted_.layers[0].W.copy()
    a, b = filled(start, X[:150], y[:150]), filled(start, X[150:], y[150:])
    np.testing.assert_array_equal(a.merge(b).readout_, filled(start, X, y).readout_)
    forgotten = filled(start, X, y).remove(X[100:], y[100:])
    np.testing.assert_array_equal(forgotten.readout_, filled(start, X[:100], y[:100]).readout_)
    assert forgotten.n_rows_ == 100
    assert np.array_equal(forgotten.fitted_.layers[0].W, before)


def test_a_layer_of_few_rows_counts_many_exactly():
    """Some neurons have their kink on the last of the few rows, and are off but for rounding."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3000, 8))
    y = np.maximum(X[:, 0] + X[:, 1], 0) + 0.3 * rng.standard_normal(3000)
    few = og.AlternatingRegressor(budget="fast", random_state=0).fit(X[:300], y[:300])
    whole = filled(few, X, y)
    np.testing.assert_array_equal(few.merge(filled(few, X[300:], y[300:])).readout_, whole.readout_)


def test_what_does_not_fit_together_is_refused(data, start):
    X, y = data
    other = og.AlternatingRegressor(30, rounds=2, random_state=1).fit(X, y)
    with pytest.raises(InvalidInput, match="same first layer"):
        start.blank().merge(other)
    with pytest.raises(InvalidInput, match="cannot remove"):
        start.blank().remove(X, y)
    with pytest.raises(InvalidInput, match="no rows are left"):
        start.blank().predict(X)
    with pytest.raises(ValueError, match="features"):
        start.blank().partial_fit(X[:, :2], y)


def test_classes_are_known_from_the_start_or_refused():
    X, y = np.random.default_rng(0).standard_normal((60, 2)), np.repeat(["a", "b", "c"], 20)
    first = og.OneStepClassifier(10, random_state=0)
    first.partial_fit(X[:40], y[:40], classes=["a", "b", "c"])
    first.partial_fit(X[40:], y[40:])
    assert list(first.classes_) == ["a", "b", "c"]
    with pytest.warns(AssumptionWarning, match="20 rows were added"):
        assert first.predict_proba(X).shape == (60, 3)
    strict = og.OneStepClassifier(10, random_state=0).partial_fit(X[:40], y[:40])
    with pytest.raises(InvalidInput, match=r"label .*c.* is not among the classes a, b"):
        strict.partial_fit(X[40:], y[40:])
