r"""Three layers, :math:`f(x) = a\cdot\sigma(W_2\sigma(W_1x))`, beside two on the same rows.

One step on the first layer, the second or both, then ridge. Rows of :math:`W_2` are
N(0, I/(N E sigma^2)), so that both layers see inputs of variance one. Both gradients are taken at
the untrained weights, on the labels as residual. The network of two layers has the same
:math:`W_1`, readout and rows.
"""

import math
from dataclasses import dataclass

import numpy as np

from onegrad.arrays import Array, Floats, Ops, get_ops, to_numpy
from onegrad.experiments.cell import Cell
from onegrad.experiments.measure import CellValues, option_of, per_seed
from onegrad.functions.hermite import normalised_hermite
from onegrad.networks.fits import normal_equations
from onegrad.problem import Problem
from onegrad.studies.measures.matrices import leading_vectors

SINGULAR_VECTORS, MAX_ALIGNED_DEGREE = 6, 4  # that are returned
STEP_KINDS = ("none", "first", "second", "both", "two")


@dataclass(frozen=True)
class Networks:
    """Untrained weights and minus their gradients; `two` is that of the network of two layers."""

    W1: Array  # (N, d)
    W2: Array  # (N, N)
    first: Array  # (N, d)
    second: Array  # (N, N)
    two: Array  # (N, d)

    def features(self, p: Problem, kind: str, eta: float, X: Array) -> Array:
        """Return the last features (rows, N) after a step of a kind."""
        step = {"first": self.first, "both": self.first, "two": self.two}
        W1 = self.W1 + eta * step[kind] if kind in step else self.W1
        H = p.sigma(X @ W1.T)
        if kind == "two":
            return H
        W2 = self.W2 + eta * self.second if kind in ("second", "both") else self.W2
        return p.sigma(H @ W2.T)


@per_seed
def three_layers(cell: Cell, device: str, seed: int) -> CellValues:
    """Return the test error by what the step is on, (seeds, etas, ridges), as `test_KIND`."""
    n_test = option_of(cell, "n_test", 20_000)
    p, ops = cell.problem, get_ops(device)
    rng = np.random.default_rng((seed, p.n, p.d))
    networks = draw_networks(p, ops, rng)
    (X, y), (X_test, _) = draw_rows(p, ops, rng, p.n), draw_rows(p, ops, rng, n_test)
    clean = p.sigma_star(X_test[:, 0])[:, None]

    def errors(kind: str, eta: float) -> Floats:
        F, F_test = (networks.features(p, kind, eta, rows) for rows in (X, X_test))
        fit = normal_equations(ops, F[None], y[None], False).path(cell.ridges)
        return to_numpy(((clean - F_test @ fit.coef[0]) ** 2).mean(0)) + p.noise**2

    etas = {kind: cell.etas[:1] if kind == "none" else cell.etas for kind in STEP_KINDS}
    return {f"test_{k}": [errors(k, eta) for eta in of_kind] for k, of_kind in etas.items()}


@per_seed
def three_layer_spectrum(cell: Cell, device: str, seed: int) -> CellValues:
    """Return what the leading singular vectors of the features are; (seeds, etas, 1, 6, 4).

    Squared cosines of the six leading left vectors with He_1, ..., He_4 of the teacher's index:
    two : of the first layer's features; first : of those behind the second layer, both after a step
    on the first of three layers; linear : of what Wang, Wu and Fan put in place of the latter,
    c_0 + c_1 H W_2^T + c_{>1} Z with independent normal Z, which holds for bounded spikes.
    """
    p, ops = cell.problem, get_ops(device)
    c0, c1 = float(p.sigma.c[0]), float(p.sigma.c[1])
    beyond = math.sqrt(p.sigma.nonlinear_energy)
    rng = np.random.default_rng((seed, p.n, p.d))
    networks = draw_networks(p, ops, rng)
    X, _ = draw_rows(p, ops, rng, p.n)
    Z = ops.asarray(rng.standard_normal((p.n, p.N)))
    h = normalised_hermite(to_numpy(X[:, 0]), MAX_ALIGNED_DEGREE)[1:]
    h = h / np.linalg.norm(h, axis=1)[:, None]
    values: dict[str, list[list[Floats]]] = {"two": [], "first": [], "linear": []}
    for eta in cell.etas:
        H = p.sigma(X @ (networks.W1 + eta * networks.first).T)
        P = H @ networks.W2.T
        features = {"two": H, "first": p.sigma(P), "linear": c0 + c1 * P + beyond * Z}
        for name, F in features.items():
            values[name].append([(h @ leading_vectors(to_numpy(F), SINGULAR_VECTORS)[1]).T ** 2])
    return values


def draw_networks(p: Problem, ops: Ops, rng: np.random.Generator) -> Networks:
    """Draw the weights and take both gradients on a first batch."""
    sigma = p.sigma
    W1 = ops.asarray(rng.standard_normal((p.N, p.d)) / math.sqrt(p.d))
    W2 = ops.asarray(rng.standard_normal((p.N, p.N)) / math.sqrt(p.N * sigma.second_moment))
    a = ops.asarray(rng.standard_normal(p.N) / math.sqrt(p.N))
    X, y = draw_rows(p, ops, rng, p.rows_of_step)
    P = X @ W1.T
    H = sigma(P)
    slopes = sigma.derivative(P)
    back = y[:, None] * sigma.derivative(H @ W2.T) * a / len(y)  # (n, N), at the second layer
    two = (y[:, None] * slopes * a / len(y)).T @ X
    return Networks(W1, W2, ((back @ W2) * slopes).T @ X, back.T @ H, two)


def draw_rows(p: Problem, ops: Ops, rng: np.random.Generator, count: int) -> tuple[Array, Array]:
    """Return inputs and labels; the teacher's direction is the first axis."""
    X = rng.standard_normal((count, p.d))
    y = np.asarray(p.sigma_star(X[:, 0])) + p.noise * rng.standard_normal(count)
    return ops.asarray(X), ops.asarray(y)
