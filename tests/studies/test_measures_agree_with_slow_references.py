"""Measures of the open questions against references that are slow and obviously right."""

import dataclasses
import math

import numpy as np
import pytest

import naive
from onegrad import Problem, simulate
from onegrad.arrays import get_ops
from onegrad.experiments.cell import Cell
from onegrad.networks.one_network import network_of
from onegrad.networks.sampling import RowSet
from onegrad.networks.streams import Purpose
from onegrad.studies.measures import MEASURES
from onegrad.studies.measures.matrices import leading_vectors
from onegrad.studies.measures.three_layers import ThreeLayers
from onegrad.studies.measures.training import (
    BATCH_ROWS,
    BUDGETS,
    METHODS,
    PENALTIES,
    RATES,
    SETTINGS,
    WEIGHT_DECAY,
    Start,
    TrainingTask,
    adamw,
    choose_and_fit,
    output,
    overlap,
    ridge_predictions,
    spectral_subspace,
    stepped_weights,
)
from onegrad.studies.measures.unit_index import correlation, of_unit_index

SMALL = Problem(n=40, d=5, N=7, activation="tanh", teacher="tanh", noise=0.1, eta=1.0)
TWO = "H1@1/2 + H2@1/4 + H1@2/2 + H2@2/4"
RNG = np.random.default_rng(0)


# -- full training ---------------------------------------------------------------------------


def one_adamw(X, y, W, a, orders, rate):
    """Train one network row by row, parameter by parameter."""
    theta = [W.copy(), a.copy(), np.zeros(1)]
    m, v = ([np.zeros_like(t) for t in theta] for _ in range(2))
    for t, shares in enumerate(orders):
        g = [np.zeros_like(x) for x in theta]
        for i in (shares * len(y)).astype(int):
            z = np.tanh(theta[0] @ X[i])
            r = (theta[1] @ z + theta[2][0] - y[i]) / BATCH_ROWS
            back = r * theta[1] * (1 - z**2)
            for k, part in enumerate((np.outer(back, X[i]), r * z, r)):
                g[k] += part
        lr = rate * 0.5 * (1 + math.cos(math.pi * t / len(orders)))
        for k in range(3):
            m[k] = 0.9 * m[k] + 0.1 * g[k]
            v[k] = 0.999 * v[k] + 0.001 * g[k] ** 2
            m_hat, v_hat = m[k] / (1 - 0.9 ** (t + 1)), v[k] / (1 - 0.999 ** (t + 1))
            if k < 2:
                theta[k] = theta[k] - lr * WEIGHT_DECAY * theta[k]
            theta[k] = theta[k] - lr * m_hat / (np.sqrt(v_hat) + 1e-8)
    return theta


def test_adamw_trains_all_settings_as_one_by_one():
    X, y = RNG.standard_normal((30, 5)), RNG.standard_normal(30)
    start = Start(RNG.standard_normal((7, 5)), RNG.standard_normal(7), RNG.random((6, BATCH_ROWS)))
    rates = np.array([0.01, 0.1, 0.3])
    W, a, c = adamw(SMALL.sigma, X, y, start, rates, get_ops())
    for k, rate in enumerate(rates):
        expected = one_adamw(X, y, *start, rate)
        for value, reference in zip((W[k], a[k, :, 0], c[k]), expected, strict=True):
            assert value == pytest.approx(reference, rel=1e-9, abs=1e-12)


def test_training_chooses_the_number_of_minibatches():
    rng = np.random.default_rng(4)
    X, X_test = rng.standard_normal((40, 5)), rng.standard_normal((50, 5))
    task = TrainingTask(X, np.tanh(2 * X[:, 0]), X_test, np.tanh(2 * X_test[:, 0]))
    start = Start(rng.standard_normal((7, 5)), rng.standard_normal(7), rng.random((64, BATCH_ROWS)))
    (rate, share), predictions = choose_and_fit(SMALL, task, start, "trained", "cpu")
    mean, scale, errors = task.y.mean(), task.y.std(), {}
    for number in (4, 16, 64):
        few = start._replace(orders=start.orders[:number])
        theta = adamw(SMALL.sigma, X[10:], (task.y[10:] - mean) / scale, few, RATES["trained"],
                      get_ops("cpu", "float32"))  # fmt: skip
        miss = output(SMALL.sigma, theta, X[:10]) - (task.y[:10] - mean) / scale
        errors |= {
            (r, number / 64): e for r, e in zip(RATES["trained"], (miss**2).mean(-1), strict=True)
        }
    assert (rate, share) == min(errors, key=lambda key: errors[key])
    assert len(errors) == SETTINGS and predictions.shape == (50,)


def test_ridge_of_a_method_is_that_of_scikit_learn():
    from sklearn.linear_model import Ridge

    X, y, new = RNG.standard_normal((30, 5)), RNG.standard_normal(30), RNG.standard_normal((9, 5))
    W, ops = RNG.standard_normal((2, 7, 5)), get_ops()
    found = ridge_predictions(SMALL.sigma, W, X, y, new, np.array([0.01, 1.0]), ops)
    for k in range(2):
        F, G = np.tanh(X @ W[k].T), np.tanh(new @ W[k].T)
        scale = F.var(0).mean()
        for j, ridge in enumerate((0.01, 1.0)):
            model = Ridge(alpha=30 * ridge * scale).fit(F, y)
            assert found[k, j] == pytest.approx(model.predict(G), rel=1e-8)


def test_a_step_is_minus_the_gradient_of_half_the_mean_square():
    p, X, y = SMALL, RNG.standard_normal((30, 5)), RNG.standard_normal(30)
    W, a = RNG.standard_normal((7, 5)), RNG.standard_normal(7)
    (after,) = stepped_weights(p, X, y, W, a, np.array([1.0]), 1)

    def loss(V):
        residual = y - np.tanh(X @ V.T) @ a / math.sqrt(7)
        return 0.5 * math.sqrt(7) * residual.var()  # its mean is taken off; f_0 is over sqrt(N)

    for i, j in ((0, 0), (3, 2)):
        h = np.zeros((7, 5))
        h[i, j] = 1e-5
        slope = (loss(W + h) - loss(W - h)) / 2e-5
        assert (after - W)[i, j] == pytest.approx(-slope, rel=1e-5)


def test_every_method_tries_as_many_settings():
    others = {m: PENALTIES.get(m, BUDGETS) for m in METHODS}
    assert {len(RATES[m]) * len(others[m]) for m in METHODS} == {SETTINGS}


def test_methods_agree_on_both_backends():
    pytest.importorskip("torch")
    options = (("adam_steps", 20), ("n_test", 500))
    cell = Cell("training-methods", SMALL, (1.0,), (0.01,), 0, 2, options)
    values = [MEASURES["training-methods"].function(cell, device) for device in ("cpu", "torch")]
    for name in values[0]:
        assert values[0][name] == pytest.approx(values[1][name], rel=1e-3), name


# -- three layers ----------------------------------------------------------------------------


def test_gradients_of_three_layers_are_slopes():
    p = SMALL.replace(n_step=30)
    layers = ThreeLayers.of(p, 3, get_ops())
    network = layers.network
    (block,) = network.sampler.blocks(RowSet(Purpose.STEP, 30))
    W1, a, X, y = network.W[0], network.a[0], block.X[0], block.y[0]

    def product(V1, V2):
        """Return the mean of y f, whose slopes the step follows."""
        return (y * (np.tanh(np.tanh(X @ V1.T) @ V2.T) @ a)).mean()

    for gradient, slot in ((layers.first, 0), (layers.second, 1)):
        for i, j in ((1, 2), (4, 0)):
            steps = []
            for sign in (1, -1):
                V = [W1.copy(), layers.W2.copy()]
                V[slot][i, j] += sign * 1e-6
                steps.append(product(*V))
            assert gradient[i, j] == pytest.approx((steps[0] - steps[1]) / 2e-6, rel=1e-4)


def test_a_relu_network_with_a_constant_knows_the_second_scale_by_step_and_penalty():
    p, s = SMALL.replace(activation="relu", intercept=True), 0.5
    small = Cell("three-layer-errors", p, (3.0 / s,), (0.1 * s**2,), 0, 2,
                 (("n_test", 500), ("scale", s)))  # fmt: skip
    unit = Cell("three-layer-errors", p, (3.0,), (0.1,), 0, 2, (("n_test", 500),))
    found, expected = (MEASURES[c.measure].function(c, "cpu")["test_first"] for c in (small, unit))
    assert found == pytest.approx(expected, rel=1e-9)
    bare = (dataclasses.replace(c, problem=p.replace(intercept=False)) for c in (small, unit))
    found, expected = (MEASURES[c.measure].function(c, "cpu")["test_first"] for c in bare)
    assert np.all(abs(found / expected - 1) > 1e-6), "not without the constant"


def test_leading_vectors_of_tall_and_wide_matrices():
    for A in (RNG.standard_normal((60, 12)), RNG.standard_normal((12, 60))):
        U, s, _ = np.linalg.svd(A)
        values, vectors = leading_vectors(A, 6)
        assert values == pytest.approx(s[:6] ** 2)
        assert np.abs((U[:, :6] * vectors).sum(0)) == pytest.approx(np.ones(6))


# -- subspaces, giant steps, spiked inputs ---------------------------------------------------


def test_one_look_takes_the_leading_vectors_of_the_moments():
    X, y = RNG.standard_normal((50, 6)), RNG.standard_normal(50)
    M, h = np.zeros((6, 6)), np.zeros(6)
    for x, label in zip(X, y - y.mean(), strict=True):
        M += label * (np.outer(x, x) - np.eye(6)) / 50
        h += label * x / 50
    V = np.linalg.eigh(M @ M + np.outer(h, h))[1][:, -2:]
    assert overlap(spectral_subspace(X, y, 2), V) == pytest.approx(1.0)
    assert overlap(np.eye(6)[:, :2], np.eye(6)[:, 1:3]) == pytest.approx(0.5)


GIANT = Problem(n=300, d=16, N=24, activation="relu:raw", teacher=TWO, eta=100.0, ridge=0.1,
                labels="residual-linear", ridge_rows="same")  # fmt: skip


def giant_step(p, seeds, *options):
    cell = Cell("giant-step", p, (p.step,), (p.ridge,), 0, seeds, (("n_test", 2000), *options))
    return MEASURES["giant-step"].function(cell, "cpu")


def test_a_giant_step_is_that_of_the_simulation():
    for labels in ("plain", "residual-linear", "residual-least-squares"):
        p = GIANT.replace(labels=labels)
        expected = simulate(p, 3, n_test=2000).test.values
        assert giant_step(p, 3)["test"].ravel() == pytest.approx(expected, rel=1e-9)


def test_what_a_giant_step_is_of_both_indices():
    least, most = giant_step(GIANT, 1)["overlaps"][0]
    network = network_of(GIANT, 0)
    G, U = network.first.G[0], network.sampler.beta_star[0]
    angles = np.linspace(0, np.pi, 20_001)
    units = U @ np.stack([np.cos(angles), np.sin(angles)])  # all of the teacher's plane
    shares = ((G @ units) ** 2).sum(0) / (G**2).sum()
    assert least == pytest.approx(shares.min(), rel=1e-6)
    assert most == pytest.approx(shares.max(), rel=1e-6)


def test_the_notebook_takes_the_linear_part_of_the_test_rows_off():
    p = GIANT.replace(residual="mean-field")
    (error,) = giant_step(p, 1, ("own_part", True))["test"].ravel()
    sampler = network_of(p.replace(labels="plain"), 0).sampler
    network = network_of(p, 0)
    (train,) = sampler.blocks(RowSet(Purpose.STEP, p.n))
    tests = list(sampler.blocks(RowSet(Purpose.TEST, 2000)))
    X, y = train.X[0], train.y[0]
    Z, z = (np.concatenate([getattr(block, name)[0] for block in tests]) for name in ("X", "clean"))
    y, left = y - y.mean() - X @ (X.T @ y / p.n), z - z.mean() - Z @ (Z.T @ z / 2000)
    W, a = network.W[0], network.a[0]
    residual = y - np.maximum(X @ W.T, 0) @ a / math.sqrt(p.N)
    W = W + p.step * naive.gradient(X, residual, W, a, p.sigma, p.sigma.derivative, 0.0)
    coef, _ = naive.ridge(np.maximum(X @ W.T, 0), y, p.ridge, False)
    miss = left - np.maximum(Z @ W.T, 0) @ coef
    assert error == pytest.approx((miss**2).mean())


# -- the learned direction, and what the weights have found -----------------------------------


def test_a_cosine_drawn_without_inputs_is_that_of_the_engine():
    laws = ({"noise": 1.0}, {"corrupted": 0.4}, {"noise": 2.0, "noise_law": "student-t(3)"})
    for fields in laws:
        p = Problem(n=80, d=30, N=1, activation="relu", teacher="H1 + H2/sqrt(2)", **fields)
        cell = Cell("drawn-cosine", p, (0.0,), (0.01,), 0, 20, (("draws", 200),))
        drawn = MEASURES["drawn-cosine"].function(cell, "cpu")["cosine"]
        measured = []
        for seed in range(300):
            network = network_of(p, seed)
            beta, star = network.first.beta[0], network.sampler.beta_star[0, :, 0]
            measured.append(beta @ star / np.linalg.norm(beta))
        se = math.hypot(np.std(drawn) / math.sqrt(20), np.std(measured) / math.sqrt(300))
        assert abs(np.mean(drawn) - np.mean(measured)) < 3 * se, fields
        assert se < 0.02, "the test can fail"


def test_an_index_of_variance_one():
    p = Problem(n=50, d=8, N=9, activation="relu", teacher="H1 + H2/sqrt(2)", alpha=0.4,
                inputs="spiked(8)", input_overlap=0.6)  # fmt: skip
    u, q = np.linspace(-4, 4, 9), 1 + 8 * 0.36
    difference = of_unit_index(p).sigma_star(u) - p.sigma_star(u / math.sqrt(q))
    assert difference == pytest.approx(difference[0])  # a constant, which centred labels lose


def test_a_spike_of_cosine_zero_is_orthogonal_to_the_teacher():
    p = Problem(n=50, d=8, N=9, teacher="H1", alpha=0.4, inputs="spiked(8)")
    sampler = network_of(of_unit_index(p), 1).sampler
    cosines = (sampler.inputs.direction[:, 0] * sampler.beta_star[..., 0]).sum(-1)
    assert cosines == pytest.approx([0], abs=1e-9)


def test_a_correlation_is_that_of_the_inputs():
    h, beta, v = np.array([1.0, 0.5, -0.2]), np.array([0.6, 0.8, 0.0]), np.array([0.0, 0.6, 0.8])
    X = RNG.standard_normal((200_000, 3))
    X = X + (3 - 1) * (X @ v)[:, None] * v  # covariance I + 8 v v^T
    expected = np.corrcoef(X @ h, X @ beta)[0, 1]
    assert correlation(h, beta, 8.0, v) == pytest.approx(expected, abs=4 / math.sqrt(len(X)))
