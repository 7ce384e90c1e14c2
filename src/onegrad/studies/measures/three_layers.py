r"""Three layers, :math:`f(x) = a\cdot\sigma(W_2\sigma(W_1x))`, beside two on the same rows.

One step on the first layer, the second or both, then ridge. Rows of :math:`W_2` are
N(0, s^2 I/(N E sigma^2)): with s = 1 both layers see inputs of variance one. Both gradients are
taken at the untrained weights, on the labels as residual. The network of two layers has the same
:math:`W_1`, readout and rows.

A ReLU network with a constant in the readout knows s only through its step and its penalty:
with s, a step of size eta/s on the first layer and the penalty s^2 lambda it is that of s = 1.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np

from onegrad.arrays import Array, Floats, Ops, get_ops, to_numpy, transpose
from onegrad.experiments.cell import Cell
from onegrad.experiments.measure import CellValues, option_of, per_seed
from onegrad.functions.hermite import normalised_hermite
from onegrad.networks.fits import fits
from onegrad.networks.network import ALL_NEURONS, FeatureMap, Network
from onegrad.networks.one_network import network_of
from onegrad.networks.run import risks
from onegrad.networks.sampling import SampleBlock, step_rows
from onegrad.problem import Problem
from onegrad.studies.measures.matrices import leading_vectors

SINGULAR_VECTORS, MAX_ALIGNED_DEGREE = 6, 4  # that are returned
STEP_KINDS = ("none", "first", "second", "both", "two")


@dataclass(frozen=True)
class ThreeLayers:
    """The network of two layers, untrained weights behind it, and minus the gradients of three."""

    network: Network
    W2: Array  # (N, N)
    first: Array  # (N, d)
    second: Array  # (N, N)

    @classmethod
    def of(cls, p: Problem, seed: int, ops: Ops, scale: float = 1.0) -> Self:
        """Draw the weights and take both gradients on the batch of the first step."""
        sigma, network = p.sigma, network_of(p, seed, ops)
        normals = np.random.default_rng((seed, p.n, p.d)).standard_normal((p.N, p.N))
        W2 = ops.asarray(normals * scale / math.sqrt(p.N * sigma.second_moment))
        first, second = ops.zeros(p.N, p.d), ops.zeros(p.N, p.N)
        for block in network.sampler.blocks(step_rows(p, 0)):
            X, y = block.X[0], block.y[0]
            P = X @ network.W[0].T
            H = sigma(P)
            # (rows, N), at the second layer
            back = y[:, None] * sigma.derivative(H @ W2.T) * network.a[0] / p.rows_of_step
            first = first + ((back @ W2) * sigma.derivative(P)).T @ X
            second = second + back.T @ H
        return cls(network, W2, first, second)

    def features(self, kind: str, etas: tuple[float, ...]) -> FeatureMap:
        """Return the last features after a step of a kind and of each size."""
        sigma = self.network.sampler.problem.sigma
        steps = {"first": self.first, "both": self.first, "two": self.network.first.G[0]}

        def tiles(block: SampleBlock, neurons: slice = ALL_NEURONS) -> Iterator[Array]:
            for eta in etas:
                step = eta * steps[kind] if kind in steps else 0.0
                F = sigma(block.X @ transpose(self.network.W[0] + step))
                if kind != "two":
                    behind = eta * self.second if kind in ("second", "both") else 0.0
                    F = sigma(F @ transpose(self.W2 + behind))
                yield F[..., neurons]

        return FeatureMap(len(self.W2), len(etas), tiles)


@per_seed
def three_layers(cell: Cell, device: str, seed: int) -> CellValues:
    """Return the test error by what the step is on, (seeds, etas, ridges), as `test_KIND`."""
    n_test, scale = option_of(cell, "n_test", 20_000), option_of(cell, "scale", 1.0)
    layers = ThreeLayers.of(cell.problem, seed, get_ops(device), scale)
    sampler, values = layers.network.sampler, {}
    for kind in STEP_KINDS:
        features = layers.features(kind, cell.etas[:1] if kind == "none" else cell.etas)
        risk = risks(sampler, features, fits(sampler, features, cell.ridges), n_test)[0]
        values[f"test_{kind}"] = to_numpy(risk) + cell.problem.noise**2
    return values


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
    layers = ThreeLayers.of(p, seed, ops)
    sampler = layers.network.sampler
    X = sampler.all_ridge_rows().X[0]
    Z = ops.asarray(np.random.default_rng((seed, p.n, p.N)).standard_normal((p.n, p.N)))
    h = normalised_hermite(to_numpy(X @ sampler.beta_star[0, :, 0]), MAX_ALIGNED_DEGREE)[1:]
    h = h / np.linalg.norm(h, axis=1)[:, None]
    values: dict[str, list[list[Floats]]] = {"two": [], "first": [], "linear": []}
    for eta in cell.etas:
        H = p.sigma(X @ (layers.network.W[0] + eta * layers.first).T)
        P = H @ layers.W2.T
        features = {"two": H, "first": p.sigma(P), "linear": c0 + c1 * P + beyond * Z}
        for name, F in features.items():
            values[name].append([(h @ leading_vectors(to_numpy(F), SINGULAR_VECTORS)[1]).T ** 2])
    return values
