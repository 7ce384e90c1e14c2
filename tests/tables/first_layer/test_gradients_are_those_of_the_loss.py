"""Gradients in the weights and in the inputs, against finite differences."""

import numpy as np
import pytest

from onegrad.functions import resolve
from onegrad.tables.first_layer.layer import Layer, gradient_outer_product
from onegrad.tables.first_layer.one_step import step_gradient
from onegrad.tables.first_layer.scaling import ScaledRows, Scaling
from onegrad.tables.model.targets import ClassTargets

RNG = np.random.default_rng(0)
N, D, K, H = 5, 3, 2, 1e-6
ROWS = ScaledRows(
    RNG.standard_normal((1500, D)), RNG.standard_normal((1500, K)), RNG.integers(1, 4, 1500) * 1.0
)  # more rows than a block
W, B, A = RNG.standard_normal((N, D)), RNG.standard_normal(N), RNG.standard_normal((N, K))


def layer(weights, skip=False):
    return Layer(Scaling.identity(D), weights, B, resolve("tanh"), skip)


def test_in_the_weights():
    """The loss is half the weighted mean of squared residuals."""

    def loss(weights):
        square = ((ROWS.t - layer(weights)(ROWS.z) @ A) ** 2).sum(1)
        return 0.5 * ROWS.w @ square / ROWS.w.sum()

    G = step_gradient(ROWS, layer(W), A, "full", intercept=False)
    for place in np.ndindex(N, D):
        move = np.zeros((N, D))
        move[place] = H
        slope = (loss(W + move) - loss(W - move)) / (2 * H)
        np.testing.assert_allclose(G[place], -slope, rtol=1e-6, atol=1e-8)


def test_in_the_inputs():
    for skip in (False, True):
        network = layer(W, skip)
        coef = RNG.standard_normal((network.width, K))
        moves = H * np.eye(D)
        g = [(network(ROWS.z + e) - network(ROWS.z - e)) @ coef / (2 * H) for e in moves]
        expected = np.einsum("ink,jnk,n->ij", g, g, ROWS.w) / ROWS.w.sum()
        got = gradient_outer_product(ROWS, (network, coef))
        np.testing.assert_allclose(got, expected, rtol=1e-6)


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
