r"""Features that the theorems put in place of the trained ones.

*Spiked*:
:math:`F_\ell = F_0 + \sum_{k=1}^{\ell} c_k(c_1\eta)^k\,q_k(\tilde X\beta)(a^{\circ k})^\top`.
As printed, :math:`q_k(t)=t^k` and :math:`\beta = X^\top y/n`. Corrected, :math:`\beta` uses the
residual of the step and :math:`q_k(t) = E_z(t + \delta z)^k` with :math:`c_1\delta` the length of
the gradient's part that is not rank one: that part lengthens every neuron.

*Gaussian equivalent*: :math:`c_0 + c_1\tilde XW^\top + c_{>1}Z` with independent standard normal Z.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from onegrad.arrays import Array, namespace
from onegrad.exceptions import InvalidInput
from onegrad.networks.network import FeatureMap, Network
from onegrad.networks.sampling import SampleBlock, Sampler
from onegrad.networks.streams import GAUSSIAN, Purpose

TILE_COLUMNS = 1024  # columns of independent normals that share a stream


def spikes_of_step(n: int, eta: float) -> int:
    r"""Number of spikes that the equivalent of a step :math:`\eta=n^\alpha` has.

    .. math:: \ell = \lfloor 2\alpha/(1-2\alpha)\rfloor + 1

    At a threshold the spike that begins there is counted, unlike in theory, whose windows are
    open. There is no spike below alpha = 0. See Moniri et al. 2024, Theorem 3.3.
    """
    if eta < 1:
        return 0
    alpha = math.log(eta) / math.log(n)
    if alpha >= 0.5:
        raise InvalidInput("alpha", float(f"{alpha:.4g}"), "< 1/2 for the spiked features")
    return math.floor(2 * alpha / (1 - 2 * alpha)) + 1


def smoothed_power(t: Array, delta: Array, k: int) -> Array:
    r""":math:`E_z(t+\delta z)^k = \sum_j \binom{k}{2j}(2j-1)!!\,\delta^{2j}t^{k-2j}`."""
    double_factorial, total = 1, t**k
    for j in range(1, k // 2 + 1):
        double_factorial *= 2 * j - 1
        total = total + math.comb(k, 2 * j) * double_factorial * delta ** (2 * j) * t ** (k - 2 * j)
    return total


def spiked(network: Network, etas: tuple[float, ...], printed: bool) -> FeatureMap:
    """Return the spiked approximation of one step, corrected or as printed."""
    p, a, first = network.sampler.problem, network.a, network.first
    if p.steps != 1:
        raise InvalidInput("steps", p.steps, "1 for the spiked features")
    c = [float(x) for x in p.sigma.c]
    counts = [spikes_of_step(p.n, eta) for eta in etas]
    if printed:
        beta, delta = first.beta_labels, 0.0 * a[:, 0]
    else:
        # row i of G is a_i (c_1 beta + zeta_i); (c_1 delta)^2 averages |zeta_i|^2, weight a_i^2
        beta = first.beta
        zeta = first.G - c[1] * a[..., None] * beta[:, None, :]
        length = (zeta * zeta).sum(-1).sum(-1) / (a * a).sum(-1)
        delta = length**0.5 / abs(c[1]) if c[1] else 0.0 * length
    untrained = network.untrained()

    def features(block: SampleBlock, neurons: slice) -> Iterator[Array]:
        (F_0,) = untrained.tiles(block, neurons)
        t = (block.X @ beta[..., None])[..., 0]  # (B, rows)
        for eta, count in zip(etas, counts, strict=True):
            F = F_0
            for k in range(1, count + 1):
                q = smoothed_power(t, delta[:, None], k)
                F = F + c[k] * (c[1] * eta) ** k * q[..., None] * (a[:, neurons] ** k)[:, None, :]
            yield F

    return FeatureMap(p.N, len(etas), features)


def gaussian_equivalent(sampler: Sampler, linear: FeatureMap) -> FeatureMap:
    """Return c_0 + c_1 X W^T + c_{>1} Z for several networks, from their X W^T.

    Training and test rows have their own Z. It is a matrix of tiles, each with its own stream, so
    that any part of it can be drawn on its own.
    """
    sigma, streams = sampler.problem.sigma, sampler.streams

    def normals(block: SampleBlock, columns: range) -> Array:
        """Return these columns of Z; they start at a tile."""
        parts = []
        for j in range(columns.start, columns.stop, TILE_COLUMNS):
            key = (Purpose.NORMALS, block.purpose, j // TILE_COLUMNS)
            rows = block.X.shape[1]
            parts.append(streams.entries(GAUSSIAN, key, block.start, rows, TILE_COLUMNS))
        return namespace(block.X).concatenate(parts, -1)[..., : len(columns)]

    def features(block: SampleBlock, neurons: slice) -> Iterator[Array]:
        noise = math.sqrt(sigma.nonlinear_energy) * normals(block, range(linear.width)[neurons])
        noise = noise + float(sigma.c[0])
        for P in linear.tiles(block, neurons):
            yield float(sigma.c[1]) * P + noise

    return FeatureMap(linear.width, linear.networks, features)
