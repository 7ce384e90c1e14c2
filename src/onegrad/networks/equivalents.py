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

import numpy as np

from onegrad.arrays import Array, Floats, namespace, to_numpy
from onegrad.exceptions import InvalidInput
from onegrad.networks.network import ALL_NEURONS, FeatureMap, Network
from onegrad.networks.sampling import SampleBlock, Sampler
from onegrad.networks.streams import GAUSSIAN, Purpose
from onegrad.problem.conventions import step_window

TILE_COLUMNS = 1024  # columns of independent normals that share a stream


def spikes_of_step(n: int, eta: float) -> int:
    r"""Number of spikes that the equivalent of a step :math:`\eta=n^\alpha` has.

    See `onegrad.problem.conventions.step_window`.
    """
    if eta <= 0:
        return 0
    alpha = math.log(eta) / math.log(n)
    if alpha >= 0.5:
        raise InvalidInput("alpha", float(f"{alpha:.4g}"), "< 1/2 for the spiked features")
    return step_window(alpha).spikes


def smoothed_power(t: Array, delta: Array, k: int) -> Array:
    r""":math:`E_z(t+\delta z)^k = \sum_j \binom{k}{2j}(2j-1)!!\,\delta^{2j}t^{k-2j}`."""
    double_factorial, total = 1, t**k
    for j in range(1, k // 2 + 1):
        double_factorial *= 2 * j - 1
        total = total + math.comb(k, 2 * j) * double_factorial * delta ** (2 * j) * t ** (k - 2 * j)
    return total


def spiked(network: Network, etas: tuple[float, ...], printed: bool) -> FeatureMap:
    """Return the spiked approximation of one step, corrected or as printed."""
    p, a = network.sampler.problem, network.a
    if p.steps != 1:
        raise InvalidInput("steps", p.steps, "1 for the spiked features")
    c = [float(x) for x in p.sigma.c]
    counts = [spikes_of_step(p.n, eta) for eta in etas]
    beta, delta = spike_direction(network, printed)
    untrained = network.untrained()

    def features(block: SampleBlock, neurons: slice = ALL_NEURONS) -> Iterator[Array]:
        (F_0,) = untrained.tiles(block, neurons)
        t = (block.X @ beta[..., None])[..., 0]  # (B, rows)
        for eta, count in zip(etas, counts, strict=True):
            F = F_0
            for k in range(1, count + 1):
                q = smoothed_power(t, delta[:, None], k)
                F = F + c[k] * (c[1] * eta) ** k * q[..., None] * (a[:, neurons] ** k)[:, None, :]
            yield F

    return FeatureMap(p.N, len(etas), features)


def spike_direction(network: Network, printed: bool) -> tuple[Array, Array]:
    """Return beta (B, d) and delta (B,) of the spikes, corrected or as printed."""
    a, first, c1 = network.a, network.first, float(network.sampler.problem.sigma.c[1])
    if printed:
        return first.beta_labels, 0.0 * a[:, 0]
    # row i of G is a_i (c_1 beta + zeta_i); (c_1 delta)^2 averages |zeta_i|^2, weight a_i^2
    zeta = first.G - c1 * a[..., None] * first.beta[:, None, :]
    length = (zeta * zeta).sum(-1).sum(-1) / (a * a).sum(-1)
    return first.beta, length**0.5 / abs(c1) if c1 else 0.0 * length


def spike_norms(network: Network, rows: SampleBlock, eta: float, degrees: int) -> Array:
    r"""Return the operator norms of the corrected spikes k = 1..degrees at these rows.

    .. math:: |c_k|\,|c_1\eta|^k\,|q_k(\tilde X\beta)|\,|a^{\circ k}| \asymp n^{(\alpha-1/2)k+1}

    The result has shape (B, degrees).
    """
    c, a = network.sampler.problem.sigma.c, network.a
    beta, delta = spike_direction(network, printed=False)
    t = (rows.X @ beta[..., None])[..., 0]
    norms = []
    for k in range(1, degrees + 1):
        q = smoothed_power(t, delta[:, None], k)
        lengths = ((q * q).sum(-1) * (a ** (2 * k)).sum(-1)) ** 0.5
        norms.append(abs(float(c[k])) * abs(float(c[1]) * eta) ** k * lengths)
    return namespace(a).stack(norms, -1)


def distance_to_spiked(network: Network, rows: SampleBlock, eta: float, printed: bool) -> float:
    r"""Return :math:`\|F - F_\ell\|_{op}/\sqrt n` of a single network at these rows.

    The theorem says that it goes to zero. See Moniri et al. 2024, Theorem 3.3.
    """
    (F,) = network.trained((eta,)).tiles(rows)
    (F_l,) = spiked(network, (eta,), printed).tiles(rows)
    return operator_norm(to_numpy(F - F_l)[0]) / math.sqrt(rows.X.shape[1])


def operator_norm(A: Floats) -> float:
    """Return the largest singular value of a matrix, by Lanczos steps."""
    if not A.any():
        return 0.0
    from scipy.sparse.linalg import svds  # takes a while to load

    start = np.random.default_rng(0).standard_normal(min(A.shape))  # the same bits every time
    return float(svds(A, 1, v0=start, return_singular_vectors=False)[0])


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

    def features(block: SampleBlock, neurons: slice = ALL_NEURONS) -> Iterator[Array]:
        noise = math.sqrt(sigma.nonlinear_energy) * normals(block, range(linear.width)[neurons])
        noise = noise + float(sigma.c[0])
        for P in linear.tiles(block, neurons):
            yield float(sigma.c[1]) * P + noise

    return FeatureMap(linear.width, linear.networks, features)
