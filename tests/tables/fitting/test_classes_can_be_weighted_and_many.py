"""class_weight is the weight of rows; several labels a row; rare labels."""

import numpy as np
import pytest

import onegrad as og
from onegrad.exceptions import InvalidInput
from onegrad.tables import source

RNG = np.random.default_rng(0)
X = RNG.standard_normal((400, 3))
RARE = (X[:, 0] + 0.8 * RNG.standard_normal(400) > 1.6).astype(int)
KINDS = [og.OneStepClassifier, og.AlternatingClassifier]


def model(kind, **settings):
    extra = {"eta": 1.0} if kind is og.OneStepClassifier else {"rounds": 2}
    return kind(15, random_state=0, **extra, **settings)


@pytest.mark.parametrize("kind", KINDS)
def test_a_class_weight_is_a_weight_of_its_rows(kind):
    weights = {0: 1.0, 1: 3.0}
    by_class = model(kind, class_weight=weights, ridge=1e-3, hold_out=0.0).fit(X, RARE)
    by_row = model(kind, ridge=1e-3, hold_out=0.0).fit(X, RARE, sample_weight=1.0 + 2.0 * RARE)
    if kind is og.OneStepClassifier:  # the same step: weighted rows in both
        np.testing.assert_allclose(by_class.predict(X), by_row.predict(X))
    plain = model(kind, ridge=1e-3, hold_out=0.0).fit(X, RARE)
    assert by_class.predict(X).sum() > plain.predict(X).sum()


@pytest.mark.parametrize("kind", KINDS)
def test_balanced_classes_weigh_the_same(kind, tmp_path):
    balanced = model(kind, class_weight="balanced").fit(X, RARE)
    n = np.bincount(RARE)
    np.testing.assert_allclose(balanced.fitted_.targets.weights, 400 / (2 * n))
    recall = [np.mean(m.predict(X)[RARE == 1]) for m in (balanced, model(kind).fit(X, RARE))]
    assert recall[0] > recall[1] + 0.2
    np.savez(tmp_path / "d.npz", X=X, y=RARE)
    streamed = model(kind, class_weight="balanced").fit(source(tmp_path / "d.npz", target="y"))
    np.testing.assert_allclose(streamed.readout_, balanced.readout_)


def test_other_class_weights_are_refused():
    for weights in ("even", {7: 1.0}, {0: -1.0}, {0: np.nan}, {0: 1e300}, 3):
        with pytest.raises(InvalidInput, match="class_weight"):
            model(og.OneStepClassifier, class_weight=weights).fit(X, RARE)


@pytest.mark.parametrize("kind", KINDS)
def test_several_labels_a_row(kind):
    y = np.column_stack([X[:, 0] > 0, X[:, 1] > 0.3, X[:, 0] + X[:, 2] > 0]).astype(int)
    frame = dict(zip("abc", X.T, strict=True))
    fitted = model(kind).fit(frame, y)
    predicted, p = fitted.predict(frame), fitted.predict_proba(frame)
    assert predicted.shape == p.shape == (400, 3)
    assert np.mean(predicted == y) > 0.85
    np.testing.assert_array_equal(predicted, p > 0.5)
    for k in range(3):  # each label is calibrated by itself
        assert abs(p[:, k].mean() - y[:, k].mean()) < 0.05
    with pytest.raises(InvalidInput, match="matrix of 0 and 1 with 3 columns"):
        fitted.partial_fit(frame, y[:, :2])
    with pytest.raises(ValueError, match=r"0 and 1|multioutput"):
        model(kind).fit(X, y * np.arange(3))


def test_features_know_labels_that_are_rare():
    """One label in 3,000 rows, and a sample of 100: all rows are learned from."""
    X = np.random.default_rng(1).standard_normal((3000, 2))
    y = np.where(X[:, 0] > 0, "up", "down").astype(object)
    y[1234] = "odd"
    fitted = og.OneStepFeatures(10, eta=1.0, sample_rows=100, random_state=0).fit(X, y)
    assert fitted.n_rows_ == 3000
    assert fitted.fitted_.targets.values.tolist() == ["down", "odd", "up"]
