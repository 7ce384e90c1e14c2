"""Measures of the open questions against references that are slow and obviously right."""

import math

import numpy as np
import pytest

import naive
from onegrad import Problem, simulate
from onegrad.arrays import get_ops
from onegrad.experiments.cell import Cell
from onegrad.networks.network import Network
from onegrad.networks.sampling import RowSet, Sampler
from onegrad.networks.streams import Purpose
from onegrad.studies.measures import MEASURES
from onegrad.studies.measures.giant_step import errors_on_data_set
from onegrad.studies.measures.matrices import leading_vectors
from onegrad.studies.measures.three_layers import draw_networks
from onegrad.studies.measures.training import (
    BATCH_ROWS,
    METHODS,
    PENALTIES,
    RATES,
    SETTINGS,
    Start,
    adamw,
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


def one_adamw(X, y, W, a, orders, rate, decay, biases):
    """Train one network row by row, parameter by parameter."""
    theta = [W.copy(), a.copy(), np.zeros(1), np.zeros(len(a))]
    m, v = ([np.zeros_like(t) for t in theta] for _ in range(2))
    for t, shares in enumerate(orders):
        g = [np.zeros_like(x) for x in theta]
        for i in (shares * len(y)).astype(int):
            z = np.tanh(theta[0] @ X[i] + theta[3])
            r = (theta[1] @ z + theta[2][0] - y[i]) / BATCH_ROWS
            back = r * theta[1] * (1 - z**2)
            for k, part in enumerate((np.outer(back, X[i]), r * z, r, back)):
                g[k] += part
        lr = rate * 0.5 * (1 + math.cos(math.pi * t / len(orders)))
        for k in range(4 if biases else 3):
            m[k] = 0.9 * m[k] + 0.1 * g[k]
            v[k] = 0.999 * v[k] + 0.001 * g[k] ** 2
            m_hat, v_hat = m[k] / (1 - 0.9 ** (t + 1)), v[k] / (1 - 0.999 ** (t + 1))
            if k < 2:
                theta[k] = theta[k] - lr * decay * theta[k]
            theta[k] = theta[k] - lr * m_hat / (
                np.sqrt(v_hat) + 1e-8 / math.sqrt(1 - 0.999 ** (t + 1))
            )
    return theta


def test_adamw_trains_all_settings_as_one_by_one():
    X, y = RNG.standard_normal((30, 5)), RNG.standard_normal(30)
    start = Start(RNG.standard_normal((7, 5)), RNG.standard_normal(7), RNG.random((6, BATCH_ROWS)))
    settings = np.array([[0.01, 0.1, 0.3], [0.5, 0.01, 2.0]])
    for biases in (False, True):
        W, a, c, *b = adamw(SMALL.sigma, X, y, start, settings, biases, get_ops())
        for k in range(3):
            rate, decay = settings[:, k]
            expected = one_adamw(X, y, *start, rate, decay, biases)
            values = [W[k], a[k, :, 0], c[k]] + [x[k] for x in b]
            for value, reference in zip(values, expected, strict=False):
                assert value == pytest.approx(reference, rel=1e-9, abs=1e-12), biases


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
    assert {len(RATES[m]) * len(PENALTIES[m]) for m in METHODS} == {SETTINGS}


def test_methods_agree_on_both_backends():
    pytest.importorskip("torch")
    options = (("adam_steps", 20), ("n_test", 500))
    cell = Cell("training-methods", SMALL, (1.0,), (0.01,), 0, 2, options)
    values = [MEASURES["training-methods"].function(cell, device) for device in ("cpu", "torch")]
    for name in values[0]:
        assert values[0][name] == pytest.approx(values[1][name], rel=1e-3), name


# -- three layers ----------------------------------------------------------------------------


def test_gradients_of_three_layers_are_slopes():
    p, rng = SMALL, np.random.default_rng(3)
    networks = draw_networks(p, get_ops(), np.random.default_rng(3))
    draws = (rng.standard_normal((p.N, p.d)), rng.standard_normal((p.N, p.N)))
    W1, W2 = draws[0] / math.sqrt(p.d), draws[1] / math.sqrt(p.N * p.sigma.second_moment)
    a = rng.standard_normal(p.N) / math.sqrt(p.N)
    X = rng.standard_normal((p.n, p.d))
    y = np.tanh(X[:, 0]) + p.noise * rng.standard_normal(p.n)

    def product(V1, V2):
        """Return the mean of y f, whose slopes the step follows."""
        return (y * (np.tanh(np.tanh(X @ V1.T) @ V2.T) @ a)).mean()

    for gradient, slot in ((networks.first, 0), (networks.second, 1)):
        for i, j in ((1, 2), (4, 0)):
            steps = []
            for sign in (1, -1):
                V = [W1.copy(), W2.copy()]
                V[slot][i, j] += sign * 1e-6
                steps.append(product(*V))
            assert gradient[i, j] == pytest.approx((steps[0] - steps[1]) / 2e-6, rel=1e-4)
    two = ((y[:, None] * (1 - np.tanh(X @ W1.T) ** 2) * a).T @ X) / p.n
    assert networks.two == pytest.approx(two)


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


def test_a_giant_step_is_that_of_the_simulation():
    p = Problem(n=300, d=16, N=24, activation="relu:raw", teacher=TWO, eta=100.0, ridge=0.1,
                ridge_rows="same")  # fmt: skip
    cell = Cell("giant-step", p, (p.step,), (p.ridge,), 0, 3, (("data_sets", 2), ("n_test", 2000)))
    values = MEASURES["giant-step"].function(cell, "cpu")
    protocols = {
        "plain": {},
        "own": {"labels": "residual-linear"},
        "output": {"labels": "residual-linear", "residual": "mean-field"},
        "least_squares": {"labels": "residual-least-squares"},
    }
    for name, fields in protocols.items():
        expected = simulate(p.replace(**fields), 3, n_test=2000).test.values.ravel()
        found = values[name][:, 0, 0]
        assert (found if found.ndim == 1 else found[:, 0]) == pytest.approx(expected, rel=1e-9)


def test_the_notebook_takes_the_linear_part_of_the_test_rows_off():
    p = Problem(n=300, d=16, N=24, activation="relu:raw", teacher=TWO, eta=100.0, ridge=0.1)
    errors = errors_on_data_set(p, 0, 1, 2000, get_ops())
    sampler = Sampler.of(p, (0,), get_ops(), data_set=1)
    network = Network.of(sampler)
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
    assert errors["notebook"] == pytest.approx((miss**2).mean())


def test_an_index_of_variance_one():
    p = Problem(n=50, d=8, N=9, activation="relu", teacher="H1 + H2/sqrt(2)", alpha=0.4,
                inputs="spiked(8)", input_overlap=0.6)  # fmt: skip
    u, q = np.linspace(-4, 4, 9), 1 + 8 * 0.36
    difference = of_unit_index(p).sigma_star(u) - p.sigma_star(u / math.sqrt(q))
    assert difference == pytest.approx(difference[0])  # a constant, which centred labels lose


def test_a_correlation_is_that_of_the_inputs():
    h, beta, v = np.array([1.0, 0.5, -0.2]), np.array([0.6, 0.8, 0.0]), np.array([0.0, 0.6, 0.8])
    X = RNG.standard_normal((200_000, 3))
    X = X + (3 - 1) * (X @ v)[:, None] * v  # covariance I + 8 v v^T
    expected = np.corrcoef(X @ h, X @ beta)[0, 1]
    assert correlation(h, beta, 8.0, v) == pytest.approx(expected, abs=4 / math.sqrt(len(X)))
