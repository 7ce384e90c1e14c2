"""Pipelines, searches, selectors, inspection and stacks take arrays and tables as they are."""

import numpy as np
import pytest

import onegrad as og

pytestmark = pytest.mark.compat

RNG = np.random.default_rng(0)
X = RNG.standard_normal((300, 6))
Y = np.maximum(X[:, 0] + X[:, 1], 0)
LABELS = np.where(Y > 0.4, "high", "low")


def regressor(**settings):
    return og.AlternatingRegressor(**({"width": 40, "rounds": 2, "random_state": 0} | settings))


def one_step(kind=og.OneStepRegressor, **settings):
    return kind(**({"width": 25, "random_state": 0} | settings))


@pytest.fixture(scope="module", params=["pandas", "polars"])
def people(request):
    """A table with text, dates, gaps and what is true or false, and its targets."""
    import frames

    frame, y = frames.people(300)
    return frames.CONTAINERS[request.param](frame), y


def test_selectors_rank_columns_by_their_importance():
    from sklearn.feature_selection import RFE, SelectFromModel

    for model in (one_step(width=40), regressor()):
        selector = SelectFromModel(model).fit(X, Y)
        np.testing.assert_array_equal(selector.get_support(indices=True), [0, 1])
        np.testing.assert_array_equal(selector.transform(X), X[:, :2])
    selector = RFE(one_step(width=40), n_features_to_select=2).fit(X, Y)
    np.testing.assert_array_equal(selector.get_support(indices=True), [0, 1])


def test_importances_are_those_of_columns_and_add_up():
    import pandas as pd

    table = pd.DataFrame(
        {
            "city": RNG.choice(["Bern", "Oslo", "Rome"], 300),
            "size": X[:, 0],
            "gap": np.where(RNG.random(300) < 0.1, np.nan, X[:, 1]),
            "day": pd.date_range("2024-01-01", periods=300),
        }
    )
    y = (table["city"] == "Oslo") + np.maximum(table["size"], 0)
    model = regressor(rounds=4).fit(table, y)
    assert model.column_names_ == ["city", "size", "gap", "day"]
    assert len(model.feature_importances_encoded_) == len(model.input_names_) == 7
    assert model.feature_importances_encoded_.sum() == pytest.approx(1)
    assert model.feature_importances_.sum() == pytest.approx(1)
    assert model.feature_importances_[:2].sum() > 0.9
    assert dict(model.report().inputs)["city"] == model.feature_importances_[0]


def test_importances_have_the_order_of_permutation_importance():
    """Columns of text without a meaning had 9 % each, and a real effect 1 %."""
    import pandas as pd
    from sklearn.inspection import permutation_importance

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
    y = 3 * table["strong"] + 1.5 * table["lift"] + 0.6 * table["weak"] + rng.standard_normal(500)
    model = og.AlternatingRegressor(budget="fast", random_state=0).fit(table[:350], y[:350])
    permuted = permutation_importance(model, table[350:], y[350:], n_repeats=5, random_state=0)
    order = [table.columns[j] for j in np.argsort(-permuted.importances_mean)]
    mine = [model.column_names_[j] for j in np.argsort(-model.feature_importances_)]
    assert mine[:3] == order[:3] == ["strong", "lift", "weak"]
    assert model.feature_importances_[[1, 3]].sum() < 0.05


def test_searches_and_clones_take_tables(people):
    from sklearn.base import clone
    from sklearn.model_selection import GridSearchCV

    table, y = people
    search = GridSearchCV(one_step(), {"width": [5, 25], "ridge": ["auto", 1.0]}, cv=2)
    search.fit(table, y)
    assert search.best_estimator_.feature_names_in_.tolist() == list(table.columns)
    assert np.corrcoef(search.predict(table), y)[0, 1] > 0.5
    fitted = one_step(categorical_features=["paid"]).fit(table, y)
    assert "paid=true" in fitted.input_names_
    np.testing.assert_array_equal(clone(fitted).fit(table, y).readout_, fitted.readout_)
    both = one_step().fit(table, np.column_stack([y, -2 * y])).predict(table)
    np.testing.assert_allclose(both[:, 1], -2 * both[:, 0], atol=1e-3)


def test_labels_of_tables_have_any_type(people):
    import pandas as pd

    table, y = people
    labels = np.where(np.median(y) < y, "dear", "cheap")
    for column in (labels, pd.Series(labels), pd.Series(labels, dtype="category")):
        fitted = one_step(og.OneStepClassifier).fit(table, column)
        assert fitted.score(table, labels) > 0.7
    assert fitted.classes_.tolist() == ["cheap", "dear"]


def test_features_are_frames_for_any_model(people):
    from sklearn.linear_model import Ridge
    from sklearn.pipeline import make_pipeline

    table, y = people
    for form in ("pandas", "polars"):
        pytest.importorskip(form)
        features = one_step(og.OneStepFeatures).set_output(transform=form)
        out = features.fit_transform(table, y)
        assert list(out.columns) == list(features.get_feature_names_out())
        assert type(out).__module__.startswith(form)
    assert make_pipeline(one_step(og.OneStepFeatures), Ridge()).fit(table, y).score(table, y) > 0.4


@pytest.mark.full
def test_inspection_calibration_and_stacks():
    import pandas as pd
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.ensemble import StackingClassifier
    from sklearn.inspection import partial_dependence
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import log_loss

    frame = pd.DataFrame(X, columns=list("abcdef"))
    curve = partial_dependence(regressor().fit(frame, Y), frame, ["a"], grid_resolution=5)
    assert (np.diff(curve["average"][0]) > 0).all()
    classifier = og.AlternatingClassifier(40, rounds=2, random_state=0)
    model = CalibratedClassifierCV(classifier, cv=3).fit(X[:200], LABELS[:200])
    assert log_loss(LABELS[200:], model.predict_proba(X[200:])) < 0.4
    members = [("network", classifier), ("linear", LogisticRegression())]
    model = StackingClassifier(members, cv=3).fit(X[:200], LABELS[:200])
    assert model.score(X[200:], LABELS[200:]) > 0.85
