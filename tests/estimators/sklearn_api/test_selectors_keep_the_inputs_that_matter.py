"""Selectors of scikit-learn rank columns by `feature_importances_`, not by the readout."""

import numpy as np
import pandas as pd
import pytest
from sklearn.feature_selection import RFE, SelectFromModel

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


def test_the_former_name_of_the_readout_warns():
    model = og.OneStepRegressor(width=5, random_state=0).fit(X, Y)
    with pytest.warns(DeprecationWarning, match="readout_"):
        np.testing.assert_array_equal(model.coef_, model.readout_)


def test_a_column_has_the_sum_of_what_it_is_encoded_as():
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
    encoded = dict(zip(model.input_names_, model.feature_importances_encoded_, strict=True))
    city = sum(encoded[f"city={name}"] for name in ("Bern", "Oslo", "Rome"))
    gap = encoded["gap"] + encoded["gap missing"]
    expected = [city, encoded["size"], gap, encoded["day"]]
    np.testing.assert_allclose(model.feature_importances_, expected)
    assert model.feature_importances_.sum() == pytest.approx(1)
    assert model.feature_importances_[:2].sum() > 0.9
    assert dict(model.report().inputs)["city"] == pytest.approx(city)
