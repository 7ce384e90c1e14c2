"""Gradients in the weights and in the inputs, against finite differences."""

import numpy as np

from onegrad.functions import resolve
from onegrad.tables.first_layer.gradient import gradient_outer_product, weight_gradient
from onegrad.tables.first_layer.layer import Layer
from onegrad.tables.first_layer.scaling import ScaledRows, Scaling

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

    G = weight_gradient(ROWS, layer(W), A, lambda rows, h: rows.t - np.tanh(h) @ A)
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
