"""Feature learning finds the inputs that matter and beats untrained features where they exist."""

import numpy as np
import pytest

import onegrad as og


@pytest.fixture(scope="module")
def single_index():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1500, 20))
    u = X @ (np.arange(20) < 3) / np.sqrt(3)
    return X, u + u**2 - 1


def error(model, X, y):
    model.fit(X[:1000], y[:1000])
    return np.mean((model.predict(X[1000:]) - y[1000:]) ** 2) / y.var()


def test_each_family_beats_the_one_before(single_index):
    untrained = error(og.OneStepRegressor(200, eta=0, random_state=0), *single_index)
    one_step = error(og.OneStepRegressor(200, random_state=0), *single_index)
    alternating = error(og.AlternatingRegressor(200, random_state=0), *single_index)
    assert one_step < 0.8 * untrained
    assert alternating < 0.2 * one_step


def test_importance_names_the_inputs(single_index):
    X, y = single_index
    model = og.AlternatingRegressor(200, random_state=0).fit(X, y)
    share = model.feature_importances_
    assert share.sum() == pytest.approx(1)
    assert share[:3].sum() > 0.9
    values, vectors = np.linalg.eigh(model.metric_)
    assert values[-1] > 0.9 * values.sum()  # one direction
    assert abs(vectors[:3, -1].sum()) / np.sqrt(3) > 0.95  # and it is the teacher's


def test_a_step_leaves_spikes_in_the_spectrum(single_index):
    X, y = single_index
    settings = {"inputs": "raw", "bias": "none", "skip": False, "activation": "tanh"}
    large = og.OneStepRegressor(200, eta=30.0, ridge=0.01, random_state=0, **settings).fit(X, y)
    none = og.OneStepRegressor(200, eta=0.0, ridge=0.01, random_state=0, **settings).fit(X, y)
    assert len(large.spectrum_.spikes) >= 1
    assert len(none.spectrum_.spikes) == 0
    np.testing.assert_array_equal(large.spectrum_.untrained, none.spectrum_.untrained)
    assert large.alpha_ == pytest.approx(np.log(30) / np.log(1500))
    assert "implied alpha" in str(large.report())


def test_rows_may_come_in_any_order(single_index):
    X, y = single_index
    p = np.random.default_rng(1).permutation(len(X))
    one = og.AlternatingRegressor(30, rounds=2, random_state=0).fit(X, y)
    trials = one.fitted_.statistics.trials
    assert one.held_out_loss_ == min(trial["score"] for trial in trials)
    assert one.choice_["held_out_rows"] == 300 and trials[0]["update"] == "none"
    assert "<table>" in one._repr_mimebundle_()["text/html"]
    other = og.AlternatingRegressor(30, rounds=2, random_state=0).fit(X[p], y[p])
    np.testing.assert_array_equal(one.readout_, other.readout_)
