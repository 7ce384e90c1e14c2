"""partial_fit, merge and remove change the readout exactly as if the rows had always been so."""

import numpy as np
import pytest

import onegrad as og
from model_cases import CASES
from onegrad.exceptions import AssumptionWarning, InvalidInput

pytestmark = [
    pytest.mark.filterwarnings("ignore:the model was learned from"),
    pytest.mark.filterwarnings("ignore:column 'city'"),  # nothing was learned of
]


def assert_same(model, other, X):
    assert model.n_rows_ == other.n_rows_
    np.testing.assert_array_equal(model.readout_, other.readout_)
    np.testing.assert_array_equal(model._scores(X), other._scores(X))


@pytest.mark.parametrize("name", CASES)
def test_parts_in_any_order_are_the_whole_and_removed_rows_leave_no_trace(name):
    case = CASES[name]
    start, n = case.fit(), case.rows + 60
    X, _ = case.take(slice(0, 1300, 13))

    def filled(rows):
        return start.blank().partial_fit(*case.take(rows))

    assert name != "neighbours" or start.fitted_.row_parts
    before, parts = start.fitted_.layers[0].W.copy(), start.blank()
    whole = filled(slice(n))
    for rows in np.array_split(np.random.default_rng(1).permutation(n), 5):
        parts.partial_fit(*case.take(rows))
    assert_same(parts, whole, X)
    alone = [whole._scores(case.take([row])[0]) for row in range(0, 260, 13)]
    np.testing.assert_allclose(np.concatenate(alone), whole._scores(X)[:20], 1e-6, 1e-9)
    merged = filled(slice(70)).merge(filled(slice(70, n)))
    assert_same(merged, whole, X)
    assert_same(merged.remove(*case.take(slice(100, n))), filled(slice(100)), X)
    assert np.array_equal(merged.fitted_.layers[0].W, before)


@pytest.mark.parametrize("sample_rows", [40, 100])
def test_bounds_that_came_with_a_row_go_with_it(sample_rows):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((100, 3)), rng.standard_normal(100)
    model = og.OneStepRegressor(30, sample_rows=sample_rows, random_state=0).fit(X, y)
    before = model.predict(9 * X)
    row, other = (X[:1] / 3, np.array([99.0])), (X[:1] / 4, np.array([-98.0]))
    model.partial_fit(X[:2], [500.0, 0.1], [0.0, 1.0]).remove(X[1:2], [0.1])
    assert model.fitted_.targets.bounds[1] < 4
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
    whole = few.blank().partial_fit(X, y)
    np.testing.assert_array_equal(few.partial_fit(X[300:], y[300:]).readout_, whole.readout_)


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
