"""Joint training lowers the held-out loss where targets ask for it, and is left out elsewhere."""

import numpy as np
import pytest

import onegrad as og
from onegrad.arrays import get_ops
from onegrad.tables.first_layer import alternating, alternating_settings
from onegrad.tables.first_layer.joint_training import balanced, train_jointly
from onegrad.tables.fitting import task
from onegrad.tables.fitting.fit_progress import FitProgress
from onegrad.tables.fitting.training_set import scale_sample
from onegrad.tables.model.targets import ClassTargets
from onegrad.tables.parts.table import PART_KINDS
from onegrad.tables.rows.sample import sample_block

RNG = np.random.default_rng(0)
X = RNG.standard_normal((1500, 6))
PARITY = (X[:, 0] * X[:, 1] * X[:, 2] > 0).astype(int)  # no noise, no direction that explains it
SMALL = {"budget": "fast", "rounds": 2, "random_state": 0}


def begun(X, y, kind, classes):
    """The training set, and the best candidate of a short search."""
    sample = sample_block(X, y, None, 2000, 0, kind.labels)
    training_set = scale_sample(sample, kind, "standard").training_set(
        0, hold_out=0.2, step_share=None, threads=1, ops=get_ops("cpu"), progress=FitProgress()
    )
    settings = alternating.AlternatingSettings(
        width=100, members=None, rounds=2, budget="fast", ridge="auto", clip=4.0, inputs=None,
        corrections=None, classes=classes,
    )  # fmt: skip
    candidates = alternating.search(training_set, settings, np.random.default_rng(0))
    return training_set, candidates.best


def test_it_lowers_the_loss_and_says_by_how_much():
    training_set, best = begun(X, PARITY, task.classification(None), True)
    network = train_jointly(training_set, best, 0.004, np.random.default_rng(0))
    assert network.epoch > 0
    assert network.held_out_loss < 0.9 * best.score
    rows = training_set.held_out
    f = network.layer.features(rows.z) @ network.readout.coef + network.readout.intercept
    loss = rows.w @ training_set.targets.log_loss(f, rows.t, 2.0) / rows.w.sum()
    assert loss == pytest.approx(network.held_out_loss, rel=1e-3)
    again = train_jointly(training_set, best, 0.004, np.random.default_rng(0))
    np.testing.assert_array_equal(again.layer.W, network.layer.W)
    training_set.progress.stopped = True
    interrupted = train_jointly(training_set, best, 0.004, np.random.default_rng(0))
    assert interrupted is None or interrupted.epoch <= 1


def test_noise_is_not_learned():
    """The best line with much noise: every step leads away from it."""
    y = X @ np.ones(6) + 10 * RNG.standard_normal(len(X))
    training_set, best = begun(X, y, task.REGRESSION, False)
    network = train_jointly(training_set, best, 0.01, np.random.default_rng(0))
    assert network is None or network.held_out_loss > 0.98 * best.score


@pytest.mark.full
def test_heads_make_classes_without_noise_better(monkeypatch):
    monkeypatch.setattr(alternating_settings, "MANY_ROWS", 100)
    for name in ("networks", "trees"):
        monkeypatch.delitem(PART_KINDS, name)
    small = SMALL | {"budget": "default", "width": 400}
    corrected, plain = (
        og.AlternatingClassifier(corrections=corrections, **small).fit(X[:1000], PARITY[:1000])
        for corrections in ("auto", "none")
    )
    assert corrected.choice_["head_weight"] > 0
    scores = [model.score(X[1000:], PARITY[1000:]) for model in (corrected, plain)]
    assert scores[0] > scores[1] + 0.02
    (member,) = corrected.fitted_.members
    assert member.head is not None
    F = corrected.fitted_.features(X[1000:])
    z = corrected.fitted_.layers[0].scaling(X[1000:])
    others = sum(part(z)[:, 0] for part in corrected.fitted_.parts)
    expected = F @ corrected.readout_[:, 0] + member.readout.intercept[0] + others
    np.testing.assert_allclose(corrected.decision_function(X[1000:]), expected, rtol=1e-9)


@pytest.mark.parametrize("classes", [2, 3])
def test_residuals_are_minus_the_gradient_of_the_loss(classes):
    """Of the mean log-loss at the slope that is trained, in units of the logits."""
    labels = RNG.integers(0, classes, 30)
    targets = ClassTargets(np.arange(classes))
    t = targets.encode(labels)
    f = np.asarray(RNG.standard_normal(t.shape))
    h = 1e-6
    gradient = np.empty_like(f)
    for index in np.ndindex(f.shape):
        e = np.zeros_like(f)
        e[index] = h
        above, below = (targets.log_loss(g, t, 2.0).sum() for g in (f + e, f - e))
        gradient[index] = (above - below) / 2 / h
    slope = 4.0 if classes == 2 else 2.0  # of the logit in f: (-f, f) where there is one score
    np.testing.assert_allclose(targets.residual(f, t), -gradient / slope, atol=1e-6)


def test_balance_changes_no_function():
    W, b, a = RNG.standard_normal((5, 3)), RNG.standard_normal(5), 100 * RNG.standard_normal((5, 2))
    z = RNG.standard_normal((50, 3))
    V, c, e = balanced(W, b, a)
    f = np.maximum(z @ W.T + b, 0) @ a
    np.testing.assert_allclose(np.maximum(z @ V.T + c, 0) @ e, f, rtol=1e-4, atol=1e-3)
    sizes = np.sqrt((V**2).sum(1) + c**2), np.sqrt((e**2).sum(1))
    np.testing.assert_allclose(*sizes, rtol=1e-2)


@pytest.mark.full
def test_rounds_on_fewer_rows_than_the_sample(monkeypatch):
    """The search sees some rows of the sample, joint training and neighbours all of them."""
    monkeypatch.setitem(alternating.SEARCH_ROWS, "fast", 600)
    model = og.AlternatingClassifier(**SMALL).fit(X[:1200], PARITY[:1200])
    assert model.choice_["held_out_rows"] == 240
    assert model.score(X[1200:], PARITY[1200:]) > 0.7
