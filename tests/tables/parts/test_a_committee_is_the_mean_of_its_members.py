"""Several members: each is a network of its own, all share the rows, everything stays exact."""

import numpy as np
import pytest

import onegrad as og
from onegrad.tables import source
from onegrad.tables.fitting.training_set import held_rows

RNG = np.random.default_rng(0)
X = RNG.standard_normal((600, 4))
Y = np.tanh(X[:, 0] + X[:, 1] * X[:, 2]) + 0.1 * RNG.standard_normal(600)


def committee(members=3, **settings):
    return og.AlternatingRegressor(25, members=members, rounds=3, random_state=0, **settings)


@pytest.fixture(scope="module")
def three():
    return committee().fit(X, Y)


def test_the_first_member_is_the_single_network(three):
    one = committee(1).fit(X, Y)
    first, single = three.fitted_.members[0], one.fitted_.members[0]
    np.testing.assert_array_equal(first.layer.W, single.layer.W)
    np.testing.assert_array_equal(first.readout.coef, single.readout.coef)
    assert not np.array_equal(three.fitted_.layers[1].W, three.fitted_.layers[2].W)


def test_the_prediction_is_the_mean(three):
    fitted = three.fitted_
    each = [member.predict(X) for member in fitted.members]
    np.testing.assert_allclose(fitted.predict(X), np.mean(each, 0), rtol=1e-9)
    linear = fitted.features(X) @ three.readout_
    constant = fitted.predict(X) - linear
    np.testing.assert_allclose(constant, constant[0] + np.zeros_like(constant), atol=1e-12)


def test_deviations_add_what_the_members_disagree_about(three):
    members = three.fitted_.members
    spread = np.var([m.predict(X) for m in members], axis=0)
    expected = np.mean([m.variance(X) for m in members], axis=0) + spread
    assert spread.max() > 1e-3
    _, std = three.predict(X, return_std=True)
    np.testing.assert_allclose(std, np.sqrt(expected[:, 0]) * Y.std(), rtol=1e-9)


def test_every_member_holds_out_rows_of_its_own(three):
    """Residuals are those of the first member's rows, then of the second's, and so on."""
    residuals = three.fitted_.statistics.residuals
    assert residuals.shape == (360, 1)
    alone = committee(1).fit(X, Y).fitted_.statistics.residuals
    np.testing.assert_allclose(residuals[:120], alone, rtol=1e-12)
    assert three.choice_["held_out_rows"] == 360
    statistics = three.fitted_.statistics
    assert statistics.effective_rows == 360
    best = [min(t["score"] for t in statistics.trials if t["member"] == m) for m in range(3)]
    assert three.held_out_loss_ == pytest.approx(np.mean(best), rel=1e-9)
    many = committee(7).fit(X, Y).fitted_.statistics  # more members than turns
    assert len(many.residuals) == 840
    assert many.effective_rows == pytest.approx(600)


def test_rows_take_turns_in_being_held_out():
    """But a row with most of the weight, which is never held out."""
    w = np.random.default_rng(1).random(1000) + 0.5
    masks = [held_rows(w, 0.2, member) for member in range(6)]
    np.testing.assert_array_equal(np.sum(masks[:5], 0), 1)
    np.testing.assert_array_equal(masks[5], masks[0])
    for mask in masks:
        assert w[mask].sum() == pytest.approx(0.2 * w.sum(), rel=0.01)
    w = np.ones(50)
    w[20] = 1000
    masks = [held_rows(w, 0.2, member) for member in range(5)]
    assert not any(mask[20] for mask in masks)
    assert all(mask.any() for mask in masks)


def test_few_rows_of_any_weights_make_a_committee():
    for seed in range(12):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(3, 31))
        x, w = rng.standard_normal((n, 3)), rng.exponential(size=n) ** rng.integers(0, 6)
        family = (og.AlternatingClassifier, og.AlternatingRegressor)[seed % 2]
        y = x[:, 0] if seed % 2 else np.arange(n) % 3
        model = family(members=6, rounds=1, random_state=seed).fit(x, y, sample_weight=w)
        assert np.isfinite(model.fitted_.predict(x)).all(), seed
        total = model.feature_importances_.sum()
        assert total == pytest.approx(1) or total == 0, seed


@pytest.mark.full
def test_a_committee_of_classes_is_better_than_its_members():
    """Scores of members are on one scale, so that each of them counts."""
    from sklearn.metrics import log_loss

    labels = (Y > 0).astype(int)
    settings = {"random_state": 0, "rounds": 2}
    fitted = og.AlternatingClassifier(members=3, **settings).fit(X[:400], labels[:400])
    alone = og.AlternatingClassifier(members=1, **settings).fit(X[:400], labels[:400])

    def loss(model):
        return log_loss(labels[400:], model.predict_proba(X[400:]))

    assert loss(fitted) < loss(alone)
    sizes = [np.std(m.predict(X)) for m in fitted.fitted_.members]
    assert max(sizes) < 2 * min(sizes)


def test_members_share_one_reading_of_the_rows():
    reads = []

    def blocks():
        reads.append("start")
        for i in range(0, 600, 200):
            yield X[i : i + 200], Y[i : i + 200]

    streamed = committee().fit(source(blocks))
    assert len(reads) == 2  # the sample, the moments
    np.testing.assert_array_equal(streamed.readout_, committee().fit(X, Y).readout_)
