"""Selectors of scikit-learn rank columns by `feature_importances_`, not by the readout."""

import numpy as np
import pandas as pd
import pytest
from sklearn.feature_selection import RFE, SelectFromModel
from sklearn.inspection import permutation_importance

import onegrad as og

RNG = np.random.default_rng(0)
X = RNG.standard_normal((300, 6))
Y = np.maximum(X[:, 0] + X[:, 1], 0)


@pytest.mark.parametrize("kind", [og.OneStepRegressor, og.AlternatingRegressor])
def test_select_from_model(kind):
    selector = SelectFromModel(kind(width=40, random_state=0)).fit(X, Y)
    np.testing.assert_array_equal(selector.get_support(indices=True), [0, 1])
    np.testing.assert_array_equal(selector.transform(X), X[:, :2])


def test_recursive_elimination():
    selector = RFE(og.OneStepRegressor(width=40, random_state=0), n_features_to_select=2).fit(X, Y)
    np.testing.assert_array_equal(selector.get_support(indices=True), [0, 1])


def test_importances_are_those_of_columns_and_add_up():
    table = pd.DataFrame(
        {
            "city": RNG.choice(["Bern", "Oslo", "Rome"], 300),
            "size": X[:, 0],
            "gap": np.where(RNG.random(300) < 0.1, np.nan, X[:, 1]),
            "day": pd.date_range("2024-01-01", periods=300),
        }
    )
    y = (table["city"] == "Oslo") + np.maximum(table["size"], 0)
    model = og.AlternatingRegressor(width=40, rounds=4, random_state=0).fit(table, y)
    assert model.column_names_ == ["city", "size", "gap", "day"]
    assert len(model.feature_importances_encoded_) == len(model.input_names_) == 7
    assert model.feature_importances_encoded_.sum() == pytest.approx(1)
    assert model.feature_importances_.sum() == pytest.approx(1)
    assert model.feature_importances_[:2].sum() > 0.9
    assert dict(model.report().inputs)["city"] == model.feature_importances_[0]


def test_importances_have_the_order_of_permutation_importance():
    """Columns of text without a meaning had 9 % each, and a real effect 1 %."""
    rng = np.random.default_rng(1)
    table = pd.DataFrame(
        {
            "strong": rng.standard_normal(500),
            "grade": rng.choice(list("abcdefgh"), 500),
            "lift": rng.random(500) < 0.5,
            "note": rng.choice([f"n{i}" for i in range(30)], 500),
            "weak": rng.standard_normal(500),
        }
    )
    y = 3 * table["strong"] + 1.5 * table["lift"] + 0.6 * table["weak"]
    y += rng.standard_normal(500)
    model = og.AlternatingRegressor(budget="fast", random_state=0).fit(table[:350], y[:350])
    permuted = permutation_importance(model, table[350:], y[350:], n_repeats=5, random_state=0)
    order = [table.columns[j] for j in np.argsort(-permuted.importances_mean)]
    mine = [model.column_names_[j] for j in np.argsort(-model.feature_importances_)]
    assert mine[:3] == order[:3] == ["strong", "lift", "weak"]
    assert model.feature_importances_[[1, 3]].sum() < 0.05
