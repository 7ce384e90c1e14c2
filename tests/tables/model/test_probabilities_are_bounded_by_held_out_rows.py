"""No probability is further from the observed shares than the held-out rows support."""

import numpy as np
import pytest

import onegrad as og


def small(**settings):
    return og.AlternatingClassifier(60, members=1, rounds=3, random_state=0, **settings)


def test_a_rare_class_keeps_its_share():
    """Three positives of 2,000, independent of the inputs: 2e-20 without a prior."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((2000, 3)), np.zeros(2000, int)
    y[:3] = 1
    p = small().fit(X, y).predict_proba(rng.standard_normal((1000, 3)))[:, 1]
    assert 1e-4 < p.mean() < 1e-2


def test_held_out_rows_that_are_all_right_do_not_prove_certainty():
    """2 % of the labels are flipped: a log-loss of 2.1 without a prior, that of a coin is 0.69."""
    from sklearn.metrics import log_loss

    rng = np.random.default_rng(0)
    X = rng.standard_normal((5300, 3))
    y = (X[:, 0] > 0) ^ (rng.random(5300) < 0.02)
    model = small().fit(X[:300], y[:300])
    assert log_loss(y[300:], model.predict_proba(X[300:])) < 0.2
    rows = model.fitted_.statistics.link.rows
    assert model.predict_proba(X).min() >= 0.3 / (rows + 2)


def test_repeating_and_weighting_rows_are_the_same():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((120, 3)), rng.integers(0, 3, 120)
    twice = small().fit(np.concatenate([X, X]), np.concatenate([y, y]))
    weighted = small().fit(X, y, sample_weight=np.full(120, 2.0))
    np.testing.assert_allclose(twice.predict_proba(X), weighted.predict_proba(X), rtol=1e-6)


@pytest.mark.full
@pytest.mark.parametrize("name", ["iris", "breast_cancer"])
def test_small_tables_are_as_trustworthy_as_logistic_regression(name):
    """Five folds together: 0.96 and 0.4 without a prior, about 0.15 and 0.08 with it."""
    from sklearn import datasets
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import log_loss
    from sklearn.model_selection import StratifiedKFold
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    losses = []
    for train, test in StratifiedKFold(5, shuffle=True, random_state=0).split(X, y):
        ours = og.AlternatingClassifier(budget="fast", random_state=0).fit(X[train], y[train])
        linear = make_pipeline(StandardScaler(), LogisticRegression()).fit(X[train], y[train])
        losses.append([log_loss(y[test], m.predict_proba(X[test])) for m in (ours, linear)])
    ours, linear = np.mean(losses, 0)
    assert ours < 1.25 * linear
