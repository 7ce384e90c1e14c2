"""Text, dates and gaps in cross_val_score, GridSearchCV, clone, pipelines and set_output."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import onegrad as og
from frames import CONTAINERS, people

FRAME, Y = people(300)


@pytest.fixture(params=["pandas", "polars"])
def X(request):
    return CONTAINERS[request.param](FRAME)


def small(kind=og.OneStepRegressor, **settings):
    return kind(25, random_state=0, **settings)


def test_cross_validation_and_search(X):
    scores = cross_val_score(small(), X, Y, cv=3)
    assert scores.shape == (3,)
    assert scores.mean() > 0.2
    search = GridSearchCV(small(), {"width": [5, 25], "ridge": ["auto", 1.0]}, cv=2).fit(X, Y)
    assert search.best_estimator_.feature_names_in_.tolist() == list(FRAME.columns)
    assert np.corrcoef(search.predict(X), Y)[0, 1] > 0.5


def test_clone_and_pipelines(X):
    fitted = small(categorical_features=["paid"]).fit(X, Y)
    again = clone(fitted).fit(X, Y)
    np.testing.assert_array_equal(again.readout_, fitted.readout_)
    assert "paid=true" in fitted.input_names_
    pipeline = make_pipeline(FunctionTransformer(), small()).fit(X, Y)
    np.testing.assert_array_equal(pipeline.predict(X), small().fit(X, Y).predict(X))


def test_classes_of_text_from_tables(X):
    labels = np.where(np.median(Y) < Y, "dear", "cheap")
    for y in (labels, pd.Series(labels), pd.Series(labels, dtype="category")):
        fitted = small(og.OneStepClassifier).fit(X, y)
        assert fitted.score(X, labels) > 0.7
    assert fitted.classes_.tolist() == ["cheap", "dear"]


@pytest.mark.parametrize("form", ["pandas", "polars"])
def test_features_as_a_frame_for_any_model(X, form):
    pytest.importorskip(form)
    features = small(og.OneStepFeatures).set_output(transform=form)
    out = features.fit_transform(X, Y)
    assert list(out.columns) == list(features.get_feature_names_out())
    assert type(out).__module__.startswith(form)
    pipeline = make_pipeline(small(og.OneStepFeatures), Ridge()).fit(X, Y)
    assert pipeline.score(X, Y) > 0.4


def test_several_numbers_a_row_from_a_table(X):
    both = np.column_stack([Y, -2 * Y])
    got = small().fit(X, both).predict(X)
    assert got.shape == (300, 2)
    np.testing.assert_allclose(got[:, 1], -2 * got[:, 0], atol=1e-3)
