"""Pipelines, searches, inspection, calibration and stacking take the estimators as they are."""

import numpy as np
import pandas as pd
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import StackingClassifier
from sklearn.inspection import partial_dependence, permutation_importance
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import onegrad as og

RNG = np.random.default_rng(0)
X = RNG.standard_normal((300, 4))
Y = np.maximum(X[:, 0] + X[:, 1], 0) + 0.1 * RNG.standard_normal(300)
LABELS = np.where(Y > 0.4, "high", "low")


def regressor():
    return og.AlternatingRegressor(40, rounds=2, random_state=0)


def classifier():
    return og.AlternatingClassifier(40, rounds=2, random_state=0)


def test_a_pipeline_with_a_scaler_passes_gaps_on():
    gaps = X.copy()
    gaps[::9, 2] = np.nan
    scores = cross_val_score(make_pipeline(StandardScaler(), regressor()), gaps, Y, cv=3)
    assert scores.min() > 0.8


def test_a_grid_search_chooses_among_settings():
    search = GridSearchCV(regressor(), {"width": [2, 40], "rounds": [0, 2]}, cv=3).fit(X, Y)
    assert search.best_params_["width"] == 40
    assert search.best_score_ > 0.8


def test_permutation_importance_and_the_importances_agree():
    model = regressor().fit(X[:200], Y[:200])
    permuted = permutation_importance(model, X[200:], Y[200:], n_repeats=5, random_state=0)
    assert set(np.argsort(-permuted.importances_mean)[:2]) == {0, 1}
    assert set(np.argsort(-model.feature_importances_)[:2]) == {0, 1}


def test_partial_dependence_grows_with_an_input_that_matters():
    frame = pd.DataFrame(X, columns=list("abcd"))
    found = partial_dependence(regressor().fit(frame, Y), frame, ["a"], grid_resolution=5)
    assert (np.diff(found["average"][0]) > 0).all()


def test_probabilities_can_be_calibrated_again():
    model = CalibratedClassifierCV(classifier(), cv=3).fit(X[:200], LABELS[:200])
    assert log_loss(LABELS[200:], model.predict_proba(X[200:])) < 0.4


def test_a_stack_uses_the_classifier():
    members = [("network", classifier()), ("linear", LogisticRegression())]
    model = StackingClassifier(members, cv=3).fit(X[:200], LABELS[:200])
    assert model.score(X[200:], LABELS[200:]) > 0.85
