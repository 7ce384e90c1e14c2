r"""The models beside the trained network: what theorems put in its place, and baselines.

*Spiked*:
:math:`F_\ell = F_0 + \sum_{k=1}^{\ell} c_k(c_1\eta)^k\,q_k(\tilde X\beta)(a^{\circ k})^\top`.
with :math:`\beta = X^\top r/n` of the residual and :math:`q_k(t) = E_z(t + \delta z)^k`, where
:math:`c_1\delta` is the length of the gradient's part that is not rank one: that part lengthens
every neuron. Moniri et al. 2024 have :math:`X^\top y/n` and :math:`t^k` (docs/theory.md).

*Gaussian equivalent*: :math:`c_0 + c_1\tilde XW^\top + c_{>1}Z` with independent standard normal Z.

Kernel ridge is in the units of N features: ridge means the same as for the network.

* `ntk`: tangent features of the first layer,
  :math:`K = \tfrac1d XX'^\top \odot S\,\mathrm{diag}(Na_i^2)\,S'^\top` with
  :math:`S=\sigma'(XW_0^\top)`
* `inner-product-kernel`: infinitely many untrained neurons,
  :math:`K = N k(x\cdot x'/d)`, :math:`k(t) = \sum_k k!\,c_k^2 t^k`
* `rbf-kernel`: :math:`K = N\exp(-\|x-x'\|^2/2d)`
"""

import math
from collections.abc import Iterator, Sequence

import numpy as np

from onegrad.arrays import Array, Floats, namespace, to_numpy
from onegrad.exceptions import InvalidInput
from onegrad.functions import IDENTITY
from onegrad.functions.function import Function
from onegrad.networks.network import ALL_NEURONS, FeatureMap, Network
from onegrad.networks.sampling import RowSet, SampleBlock, Sampler
from onegrad.networks.streams import GAUSSIAN, Purpose
from onegrad.problem.conventions import step_window
from onegrad.ridge import Fit, solve_dual

TILE_COLUMNS = 1024  # columns of independent normals that share a stream
SERIES_TERMS = 12  # of k; x . x'/d is small off the diagonal and about one on it


def features_of(model: str, network: Network, etas: tuple[float, ...]) -> FeatureMap:
    """Return the feature map of a model at distinct etas; the untrained network's at zero alone."""
    if model == "linear":
        return FeatureMap(network.sampler.problem.d, 1, _inputs)
    if model == "random-features":
        return network.untrained()
    if model == "spiked" and any(etas):
        return spiked(network, etas)
    f = IDENTITY if model == "gaussian-equivalent" else None
    p = network.sampler.problem
    moves = any(etas) or p.weight_decay or p.later_alpha
    features = network.trained(etas, f) if moves else network.untrained(f)
    return features if f is None else gaussian_equivalent(network.sampler, features)


def _inputs(block: SampleBlock, neurons: slice = ALL_NEURONS) -> Iterator[Array]:
    """Yield the inputs themselves, the features of the linear model."""
    yield block.X[..., neurons]


# -- in place of the trained features --------------------------------------------------------


def spikes_of_step(n: int, eta: float) -> int:
    r"""Number of spikes that the equivalent of a step :math:`\eta=n^\alpha` has.

    See `onegrad.problem.conventions.step_window`.
    """
    if eta <= 0:
        return 0
    alpha = math.log(eta) / math.log(n)
    if alpha >= 0.5:
        raise InvalidInput("alpha", float(f"{alpha:.4g}"), "< 1/2 for the spiked features")
    return step_window(alpha)[0]


def smoothed_power(t: Array, delta: Array, k: int) -> Array:
    r""":math:`E_z(t+\delta z)^k = \sum_j \binom{k}{2j}(2j-1)!!\,\delta^{2j}t^{k-2j}`."""
    double_factorial, total = 1, t**k
    for j in range(1, k // 2 + 1):
        double_factorial *= 2 * j - 1
        total = total + math.comb(k, 2 * j) * double_factorial * delta ** (2 * j) * t ** (k - 2 * j)
    return total


def spiked(network: Network, etas: tuple[float, ...]) -> FeatureMap:
    """Return the spiked approximation of one step."""
    p, a = network.sampler.problem, network.a
    if p.steps != 1:
        raise InvalidInput("steps", p.steps, "1 for the spiked features")
    if p.weight_decay:
        raise InvalidInput("weight_decay", p.weight_decay, "0 for the spiked features")
    c = [float(x) for x in p.sigma.c]
    counts = [spikes_of_step(p.n, eta) for eta in etas]
    beta, delta = spike_direction(network)
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


def spike_direction(network: Network) -> tuple[Array, Array]:
    """Return beta (B, d) and delta (B,) of the spikes."""
    a, first, c1 = network.a, network.first, float(network.sampler.problem.sigma.c[1])
    # row i of G is a_i (c_1 beta + zeta_i); (c_1 delta)^2 averages |zeta_i|^2, weight a_i^2
    zeta = first.G - c1 * a[..., None] * first.beta[:, None, :]
    length = (zeta * zeta).sum(-1).sum(-1) / (a * a).sum(-1)
    return first.beta, length**0.5 / abs(c1) if c1 else 0.0 * length


def spike_norms(network: Network, rows: SampleBlock, eta: float, degrees: int) -> Array:
    r"""Return the operator norms of the spikes k = 1..degrees at these rows.

    .. math:: |c_k|\,|c_1\eta|^k\,|q_k(\tilde X\beta)|\,|a^{\circ k}| \asymp n^{(\alpha-1/2)k+1}

    The result has shape (B, degrees).
    """
    c, a = network.sampler.problem.sigma.c, network.a
    beta, delta = spike_direction(network)
    t = (rows.X @ beta[..., None])[..., 0]
    norms = []
    for k in range(1, degrees + 1):
        q = smoothed_power(t, delta[:, None], k)
        lengths = ((q * q).sum(-1) * (a ** (2 * k)).sum(-1)) ** 0.5
        norms.append(abs(float(c[k])) * abs(float(c[1]) * eta) ** k * lengths)
    return namespace(a).stack(norms, -1)


def distance_to_spiked(network: Network, rows: SampleBlock, eta: float) -> float:
    r"""Return :math:`\|F - F_\ell\|_{op}/\sqrt n` of a single network at these rows.

    The theorem says that it goes to zero. See Moniri et al. 2024, Theorem 3.3.
    """
    (F,) = network.trained((eta,)).tiles(rows)
    (F_l,) = spiked(network, (eta,)).tiles(rows)
    return operator_norm(to_numpy(F - F_l)[0]) / math.sqrt(rows.X.shape[1])


def operator_norm(A: Floats) -> float:
    """Return the largest singular value of a matrix, by Lanczos steps."""
    if not A.any():
        return 0.0
    from scipy.sparse.linalg import svds  # takes a while to load

    # not a randomised decomposition: where values lie close, as at the edge of a bulk, its few
    # passes stop short of the largest
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


# -- kernels ---------------------------------------------------------------------------------


def kernel(name: str, network: Network, X: Array, Y: Array) -> Array:
    """Return the kernel of this name between rows X (B, m, d) and Y (B, n, d), as (B, m, n)."""
    ops, p = network.sampler.ops, network.sampler.problem
    products = ops.product(X, Y)
    if name == "ntk":
        S, T = (ops.product(rows, network.W, p.sigma.derivative) for rows in (X, Y))
        return (products / p.d) * ops.product(S * (p.N * network.a * network.a)[:, None, :], T)
    if name == "rbf-kernel":
        squares = (X * X).sum(-1)[..., None] + (Y * Y).sum(-1)[..., None, :]
        return p.N * namespace(X).exp((products - squares / 2) / p.d)
    t = products / p.d
    total = 0.0 * t
    for term in reversed(_dual_activation(p.sigma)):  # Horner
        total = total * t + term
    return p.N * total


def _dual_activation(sigma: Function) -> list[float]:
    r"""Return the terms of :math:`k(t) = \sum_k k!\,c_k^2t^k`, its tail in one power.

    With the tail, :math:`k(1)=E\sigma^2`. A polynomial with non-negative coefficients, hence
    positive definite for inputs of any length.
    """
    terms = [math.factorial(k) * float(sigma.c[k]) ** 2 for k in range(SERIES_TERMS)]
    return [*terms, max(sigma.second_moment - sum(terms), 0.0)]


def kernel_fit(
    name: str, network: Network, ridges: Sequence[float], n_test: int, leave_one_out: bool
) -> tuple[Fit, Floats]:
    """Fit kernel ridge on the rows of the ridge fit; return it and its risk (B, R) on test rows."""
    sampler, cast = network.sampler, network.sampler.ops.exact.cast
    rows = sampler.all_ridge_rows()
    K = cast(kernel(name, network, rows.X, rows.X))
    fit = solve_dual(K, cast(rows.y), ridges, sampler.problem.intercept, leave_one_out)
    del K
    total = np.zeros((sampler.stack_size, len(ridges)))
    for block in sampler.blocks(RowSet(Purpose.TEST, n_test)):
        f = cast(kernel(name, network, block.X, rows.X)) @ fit.coef
        r = block.clean[..., None] - f - fit.intercept[:, None]
        total += to_numpy((r * r).sum(-2))
    return fit, total / n_test
