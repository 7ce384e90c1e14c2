"""Which neurons come in, which stay: each rule against its definition computed the slow way."""

import numpy as np
import pytest

import onegrad as og
from naive import moments
from onegrad.ridge import NormalEquations
from onegrad.tables.first_layer.neurons import NEURON_KINDS, Metric, NeuronSampler

RNG = np.random.default_rng(0)
Z = RNG.standard_normal((300, 5)) @ np.diag([1.0, 2.0, 0.5, 1.0, 1.0])
SAMPLER = NeuronSampler(Z, RNG.integers(1, 4, size=300).astype(float))
METRIC = Metric(np.diag([4.0, 1.0, 0.0, 1.0, 0.0]), 0.75)


def drawn(kind, count=200, metric=METRIC):
    return SAMPLER.draw({kind: 1.0}, count, metric, np.random.default_rng(1))


def weighted_variance(values):
    share = SAMPLER.w / SAMPLER.w.sum()
    return share @ (values - share @ values) ** 2


def penalised_loss(F, y, ridge):
    F, y = F - F.mean(0), y - y.mean(0)
    a = np.linalg.solve(F.T @ F / len(F) + ridge * np.eye(F.shape[1]), F.T @ y / len(F))
    return ((y - F @ a) ** 2).sum() / len(F) + ridge * (a**2).sum()


def test_the_worth_of_a_feature_is_what_the_loss_grows_by_without_it():
    F, y = RNG.standard_normal((80, 6)) + 1, RNG.standard_normal((80, 2))
    equations, ridge = NormalEquations.of(moments(F, y)), 0.3
    L = equations.factor(ridge)
    worth = equations.removal_cost(equations.solve(ridge, L), L)
    whole = penalised_loss(F, y, ridge)
    grown = [penalised_loss(np.delete(F, i, 1), y, ridge) - whole for i in range(6)]
    np.testing.assert_allclose(worth, grown, rtol=1e-9)


def test_of_every_few_entrants_the_one_that_explains_most_comes_in():
    entrants, residual = drawn("any", 60), RNG.standard_normal((300, 2)) + 0.5
    chosen = SAMPLER.best_entrants(entrants, residual, per_place=3)
    share = SAMPLER.w / SAMPLER.w.sum()
    r = residual - share @ residual
    gains = []
    for w, b in zip(entrants.W, entrants.b, strict=True):
        h = np.maximum(Z @ w + b, 0)
        gains.append(((share * (h - share @ h)) @ r) ** 2 @ [1, 1] / weighted_variance(h))
    best = np.argmax(np.reshape(gains, (20, 3)), axis=1) + 3 * np.arange(20)
    np.testing.assert_array_equal(chosen.b, entrants.b[best])


def test_every_kind_has_unit_variance_and_switches_within_the_data():
    for kind in NEURON_KINDS:
        neurons = drawn(kind, 60)
        for w, b in zip(neurons.W, neurons.b, strict=True):
            h = Z @ w + b
            assert weighted_variance(h) == pytest.approx(1), kind
            assert h.min() <= 1e-9 and h.max() >= -1e-9, kind


def test_kinds_look_where_they_say():
    inputs = {kind: (drawn(kind).W != 0).sum(1) for kind in NEURON_KINDS}
    assert set(inputs["axis"]) == {1}
    assert set(inputs["pair"]) <= {1, 2} and 2 in inputs["pair"]
    many = drawn("axis", 6000).W
    shares = np.bincount(np.abs(many).argmax(1), minlength=5) / 6000
    np.testing.assert_allclose(shares, METRIC.importance, atol=4 * np.sqrt(0.25 / 6000))
    assert abs(np.sign(many.sum(1)).mean()) < 4 / np.sqrt(6000)
    for kind in ("any", "neighbours"):  # the metric has no use for the third and fifth input
        W = np.abs(drawn(kind).W)
        assert W[:, [2, 4]].max() < 1e-3 * W.max()


def test_neighbours_are_nearer_than_other_rows():
    plain = Metric(np.eye(5), 0.5)
    i = SAMPLER.draw_rows(np.random.default_rng(1).random(200))
    u = Z @ plain.root
    typical = np.median(np.linalg.norm(u[i] - u[RNG.permutation(300)[:200]], axis=1))
    W, at = NEURON_KINDS["neighbours"](SAMPLER, plain, 200, np.random.default_rng(1))
    apart = np.linalg.norm(at - Z[i], axis=1) * 2  # the kink is uniform between the two rows
    assert apart.mean() < 0.6 * typical
    np.testing.assert_allclose(np.linalg.norm(W, axis=1), np.linalg.norm(plain.root[0]), rtol=1e-6)


def test_shares_are_kept_and_mixed():
    neurons = SAMPLER.draw({"axis": 0.5, "any": 0.5}, 2000, METRIC, np.random.default_rng(0))
    axis = (neurons.W != 0).sum(1) == 1
    assert abs(axis.mean() - 0.5) < 4 * np.sqrt(0.25 / 2000)
    halves = axis[:1000].mean() - axis[1000:].mean()
    assert abs(halves) < 4 * np.sqrt(0.5 / 1000)


def test_products_and_steps_of_few_inputs_are_found():
    X = np.random.default_rng(2).uniform(-1, 1, (1200, 12))
    y = X[:, 3] * X[:, 7] + (X[:, 5] > 0.2)
    models = [og.AlternatingRegressor(150, rounds=n, random_state=0) for n in (0, 32)]
    errors = [np.mean((m.fit(X[:800], y[:800]).predict(X[800:]) - y[800:]) ** 2) for m in models]
    assert errors[1] < 0.5 * errors[0]
    assert models[1].feature_importances_[[3, 5, 7]].sum() > 0.9
    model = og.AlternatingRegressor(41, rounds=8, random_state=0).fit(X, y)
    assert model.fitted_.layers[0].W.shape == (41, 12)
    assert model.choice_["round"] > 2  # a quarter of the rounds is made at half the width
