"""Columns of many values: mean targets, cross-fitted on the sample, exact under any change."""

import numpy as np
import pytest

import onegrad as og
from onegrad.tables.rows.encoding import FOLDS, TargetMeans, folds_of


@pytest.fixture
def cities(pd):
    def draw(rows, seed, informative=True):
        """300 cities, each with an effect of its own, or with none."""
        effects = np.random.default_rng(0).standard_normal(300)
        rng = np.random.default_rng(seed)
        city = rng.integers(0, 300, rows)
        y = effects[city] * informative + 0.3 * rng.standard_normal(rows)
        x = rng.standard_normal(rows)
        return pd.DataFrame({"x": x, "city": [f"c{i:03d}" for i in city]}), y

    return draw


def model():
    return og.OneStepRegressor(10, eta=0.0, random_state=0)


def test_a_row_never_sees_its_own_target():
    rng = np.random.default_rng(0)
    codes, keys = rng.integers(0, 6, 400), rng.integers(0, 2**63, 400, dtype=np.uint64)
    t, w, folds = rng.standard_normal((400, 2)), rng.random(400), folds_of(keys)
    means = TargetMeans.of(list("abcdef"), codes, t, w, folds)
    assert set(folds) == set(range(FOLDS))

    def shrunk(rows):
        return (w[rows] @ t[rows] + means.strength * mean) / (w[rows].sum() + means.strength)

    mean = w @ t / w.sum()
    for i in range(0, 400, 37):
        others = (codes == codes[i]) & (folds != folds[i])
        np.testing.assert_allclose(means(codes, folds)[:, i], shrunk(others))
    expected = [shrunk(codes == 3), mean]  # of a row to be predicted; of a value never seen
    np.testing.assert_allclose(means(np.array([3, -1]), None).T, expected)


def test_values_beyond_the_frequent_ones_are_predicted(cities):
    (X, y), (X_new, y_new) = cities(6000, 1), cities(2000, 2)
    got = model().fit(X, y)
    assert got.input_names_[-1] == "city mean"
    left = np.mean((got.predict(X_new) - y_new) ** 2) / np.var(y_new)
    assert left < 0.15  # the noise is 0.08; without statistics 236 of 300 cities are unknown: 0.8
    assert got.choice_["held_out_loss"] == pytest.approx(left, abs=0.04)


def test_noise_is_not_learned(cities):
    """Were a row's own target in its mean, the fit would seem to explain a third of it."""
    (X, y), (X_new, y_new) = cities(2400, 3, informative=False), cities(1500, 4, informative=False)
    got = model().fit(X, y)
    assert np.mean((got.predict(X_new) - y_new) ** 2) / np.var(y_new) < 1.12
    assert got.choice_["held_out_loss"] > 0.9


def test_the_order_of_rows_does_not_matter(cities):
    X, y = cities(1500, 5)
    order = np.random.default_rng(0).permutation(1500)
    shuffled = model().fit(X.iloc[order], y[order])
    np.testing.assert_array_equal(shuffled.readout_, model().fit(X, y).readout_)


def test_each_class_has_a_mean_and_repeated_rows_teach_nothing_wrong(cities):
    X, y = cities(1200, 6)
    labels = np.digitize(y, [-0.5, 0.5])
    got = og.OneStepClassifier(10, eta=0.0, random_state=0).fit(X, labels)
    assert got.input_names_[-3:] == ["city mean 0", "city mean 1", "city mean 2"]
    assert np.mean(got.predict(X) == labels) > 0.6
    # with the column alone all rows of a city are equal: it has no other folds to learn from
    got = og.OneStepClassifier(10, eta=0.0, random_state=0).fit(X[["city"]], labels)
    assert np.mean(got.predict(X[["city"]]) == labels) > np.bincount(labels).max() / len(labels)


def test_unique_names_are_no_surprise(pd):
    """A column in which every row has its own value never warns of new ones."""
    X = pd.DataFrame({"x": np.arange(200.0), "name": [f"n{i}" for i in range(200)]})
    model().fit(X, np.arange(200.0)).predict(X.assign(name="other"))
