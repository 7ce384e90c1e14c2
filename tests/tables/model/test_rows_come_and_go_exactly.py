"""partial_fit, merge and remove change the readout exactly as if the rows had always been so."""

import numpy as np
import pytest

import onegrad as og
from onegrad.exceptions import AssumptionWarning, InvalidInput

pytestmark = pytest.mark.filterwarnings("ignore:the model was learned from")

RNG = np.random.default_rng(0)
CELLS = RNG.random((16, 16))  # no ridge, no direction, no trend: what neighbours explain
X = RNG.uniform(0, 16, (2000, 2))
Y = CELLS[tuple(X.astype(int).T)]
X_NEW = RNG.uniform(0, 16, (300, 2))
LOCAL = {"budget": "fast", "rounds": 0, "random_state": 0}
STARTS = {
    "one": og.AlternatingRegressor(30, rounds=2, random_state=0),
    "three": og.AlternatingRegressor(30, members=3, rounds=2, random_state=0),
    "neighbours": og.AlternatingRegressor(members=2, **LOCAL),
    "classes with neighbours": og.AlternatingClassifier(**LOCAL),
}


@pytest.fixture(scope="module", params=STARTS)
def start_and_targets(request):
    start, y = STARTS[request.param], Y > 0.5 if "classes" in request.param else Y
    start.fit(X, y)
    local = "neighbours" in request.param
    assert len(start.fitted_.row_parts) == (len(start.fitted_.members) if local else 0)
    return start, y


def filled(start, X, y):
    return start.blank().partial_fit(X, y)


def assert_same(model, other):
    assert model.n_rows_ == other.n_rows_
    np.testing.assert_array_equal(model.readout_, other.readout_)
    np.testing.assert_array_equal(model._scores(X_NEW), other._scores(X_NEW))
    for left, known in zip(model.fitted_.row_parts, other.fitted_.row_parts, strict=True):
        np.testing.assert_array_equal(left.rows.keys, known.rows.keys)


def test_parts_in_any_order_are_the_whole(start_and_targets):
    start, y = start_and_targets
    whole, parts = filled(start, X, y), start.blank()
    for rows in np.array_split(np.random.default_rng(1).permutation(len(X)), 7):
        parts.partial_fit(X[rows], y[rows])
    assert_same(parts, whole)
    alone = np.concatenate([whole._scores(X_NEW[i : i + 1]) for i in range(20)])
    np.testing.assert_allclose(alone, whole._scores(X_NEW[:20]), rtol=1e-6, atol=1e-9)


def test_merged_estimators_are_the_whole_and_removed_rows_leave_no_trace(start_and_targets):
    start, y = start_and_targets
    before = start.fitted_.layers[0].W.copy()
    merged = filled(start, X[:700], y[:700]).merge(filled(start, X[700:], y[700:]))
    assert_same(merged, filled(start, X, y))
    forgotten = merged.remove(X[1000:], y[1000:])
    assert_same(forgotten, filled(start, X[:1000], y[:1000]))
    assert np.array_equal(forgotten.fitted_.layers[0].W, before)
    with pytest.warns(AssumptionWarning, match="importances"):
        assert forgotten.feature_importances_.shape == (2,)


@pytest.mark.parametrize("sample_rows", [40, 100])
def test_bounds_that_came_with_a_row_go_with_it(sample_rows):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((100, 3)), rng.standard_normal(100)
    model = og.OneStepRegressor(30, sample_rows=sample_rows, random_state=0).fit(X, y)
    before = model.predict(9 * X)
    row, other = (X[:1] / 3, np.array([99.0])), (X[:1] / 4, np.array([-98.0]))
    model.partial_fit(*row).merge(model.blank().partial_fit(*other))
    assert model.fitted_.targets.bounds == (-98.0, 99.0)
    model.remove(*row)
    assert model.fitted_.targets.bounds[1] < 4
    np.testing.assert_array_equal(model.remove(*other).predict(9 * X), before)


def test_a_layer_of_few_rows_counts_many_exactly():
    """Some neurons have their kink on the last of the few rows, and are off but for rounding."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3000, 8))
    y = np.maximum(X[:, 0] + X[:, 1], 0) + 0.3 * rng.standard_normal(3000)
    few = og.AlternatingRegressor(budget="fast", random_state=0).fit(X[:300], y[:300])
    whole = filled(few, X, y)
    np.testing.assert_array_equal(few.merge(filled(few, X[300:], y[300:])).readout_, whole.readout_)


def test_what_does_not_fit_together_is_refused():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((100, 3)), rng.standard_normal(100)
    start, other = (
        og.AlternatingRegressor(30, rounds=2, random_state=seed).fit(X, y) for seed in (0, 1)
    )
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
