r"""Quadrature for a standard normal that is dense where the functions of it are steep.

A function that was smoothed over a width h at the point c is resolved by nodes whose spacing is h
there and grows with the distance from c: the trapezoidal rule in

.. math:: t(x) = \frac xL + \sum_j \mathrm{asinh}\frac{x - c_j}{h_j}.

It converges geometrically however small h is, and T = t(X) - t(-X), which grows with log(1/h) only,
says beforehand how many nodes are needed: one for each unit of it.

The mean output of a neuron with weight s along v is smoothed over :math:`\kappa = \rho/s`, and the
mean label over :math:`\sqrt{1-\theta^2}/\theta`: a kink, or a steep slope, ends up near
:math:`\kappa = 0` in the first and at its own place over :math:`\theta` in the second.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache, reduce

import numpy as np
from scipy.special import erfcinv, gammaln, stdtrit

from onegrad.arrays import Floats
from onegrad.functions.function import MAX_HERMITE_DEGREE, Function
from onegrad.functions.hermite import gauss_legendre
from onegrad.problem import Law

MAX_SPACING = 1.3  # L: distance of nodes where nothing is steep, per unit of t
REACH = 6.0  # P(|x| > 6) = 2e-9
LARGE_DEVIATION = 2.5  # standard deviations: a large index, a large readout
NEGLIGIBLE_ENERGY = 1e-6  # share of a polynomial's energy at degrees that are not resolved
RESOLVED_DEGREE = 6  # degree that MAX_SPACING and REACH resolve
MAX_WIDTH = 8.0  # no function is taken to be smoother than this
MIN_RELATIVE_NORM = 1e-9  # of a polynomial off those before it: below, there are no more nodes
START_POINTS = 65  # from which the inverse of t starts
FACTORIALS = np.array([float(math.factorial(k)) for k in range(MAX_HERMITE_DEGREE + 1)])
# of the law of r, of which smooth functions are averaged: resolvents off its support; not tuned
NOISE_NODES, TAIL_NODES = 7, 16
Rule = tuple[Floats, Floats]  # nodes and their probabilities
ONE_NODE = np.zeros(1), np.ones(1)  # of what does not vary
UNIFORM_READOUTS = 16  # nodes of a uniform readout: with 12, tanh was 0.1 % off after eta = n^0.75
TWO_POINT_NODES = np.array([1.0, -1.0])  # of N(0, 1), exact to degree three
TWO_POINT_RULE = TWO_POINT_NODES, np.full(2, 0.5)


@dataclass(frozen=True)
class GradedRule:
    """A rule for a standard normal that is dense around centres."""

    # where functions are steep, and over which width: (c_j, h_j)
    centres: tuple[tuple[float, float], ...]
    spacing: float = MAX_SPACING  # distance L of nodes elsewhere
    reach: float = REACH  # largest node X

    def count(self, unit: float) -> int:
        """Return the number of nodes that are `unit` apart in t."""
        ends = _stretched(self, np.array([-self.reach, self.reach]))[0]
        return int(np.ceil((ends[1] - ends[0]) / unit)) + 1

    @lru_cache(maxsize=64)  # noqa: B019 - rules are small values
    def nodes(self, k: int) -> tuple[Floats, Floats]:
        """Return k nodes and their probabilities."""
        # with few nodes, the errors of their spacing and of the cut are made equal
        reach = min(self.reach, float(np.sqrt(np.pi * max(k - 1, 1))))
        low, high = _stretched(self, np.array([-reach, reach]))[0]
        x = _inverse(self, np.linspace(low, high, k) if k > 1 else np.zeros(1))
        p = np.exp(-x * x / 2) / _stretched(self, x)[1]
        p /= p.sum()
        x = x - p @ x
        return x / np.sqrt(p @ (x * x)) if k > 1 else x, p  # the first two moments are exact


def _stretched(grading: GradedRule, x: Floats) -> tuple[Floats, Floats]:
    """Return t(x) and its slope."""
    t, slope = x / grading.spacing, np.full(x.shape, 1 / grading.spacing)
    for centre, width in grading.centres:
        t = t + np.arcsinh((x - centre) / width)
        slope = slope + 1 / np.hypot(x - centre, width)
    return t, slope


def _inverse(grading: GradedRule, t: Floats) -> Floats:
    """Return x(t) by Newton's method between points of a grid."""
    grid = np.linspace(-grading.reach, grading.reach, START_POINTS)
    right = np.searchsorted(_stretched(grading, grid)[0][1:-1], t) + 1
    low, high = grid[right - 1], grid[right]
    x = (low + high) / 2
    for _ in range(40):
        at, slope = _stretched(grading, x)
        x = np.clip(x - (at - t) / slope, low, high)
        if np.abs(at - t).max() < 1e-12:
            break
    return x


def index_rule(
    activation: Function, strength: float, teacher: Function, theta: float
) -> GradedRule:
    """Return the rule for the index v.x.

    strength : the largest s/rho of a neuron that counts.
    """
    steep = abs(strength) / np.hypot(1.0, smooth_width(activation))
    widths = {0.0: 1 / max(float(steep), 1 / MAX_WIDTH)}
    share = np.sqrt(max(1 - theta**2, 0.0) + smooth_width(teacher) ** 2)
    for kink in teacher.kinks or (0.0,):
        if abs(kink) < REACH * abs(theta):
            h = min(max(float(share) / abs(theta), 1e-8), MAX_WIDTH)
            widths[kink / theta] = min(widths.get(kink / theta, np.inf), h)
    degree = max(effective_degree(teacher, theta), effective_degree(activation, strength))
    crowding = max(1.0, float(np.sqrt(degree / RESOLVED_DEGREE)))
    reach = max(REACH, 2 * float(np.sqrt(degree)) + 2) if degree > RESOLVED_DEGREE else REACH
    return GradedRule(tuple(widths.items()), MAX_SPACING / crowding, reach)


@lru_cache(maxsize=256)
def smooth_width(f: Function) -> float:
    r"""Width over which f is smooth: :math:`\sqrt{Ef'^2/Ef''^2}` without its linear part.

    It is zero for a function with a kink.
    """
    if f.kinks:
        return 0.0
    k = np.arange(MAX_HERMITE_DEGREE + 1)
    energy = f.c**2 * FACTORIALS
    slope, bend = (k * energy)[2:].sum(), (k * (k - 1) * energy)[2:].sum()
    return float(min(np.sqrt(slope / bend), MAX_WIDTH)) if bend > 0 else MAX_WIDTH


@lru_cache(maxsize=1024)
def effective_degree(f: Function, shrink: float) -> int:
    """Degree beyond which a polynomial, smoothed to He_k shrink^k, has no energy.

    It is zero for a function that is not a polynomial.
    """
    if f.polynomial is None:
        return 0
    k = np.arange(MAX_HERMITE_DEGREE + 1)
    energy = f.c**2 * FACTORIALS * min(abs(shrink), 1.0) ** (2 * k)
    tail = np.cumsum(energy[::-1])[::-1]
    return int(np.count_nonzero(tail > NEGLIGIBLE_ENERGY * tail[0])) - 1 if tail[0] > 0 else 0


def product_rule(rules: Sequence[tuple[Floats, Floats]]) -> tuple[Floats, Floats]:
    """Return the points of a product of rules, one axis in each row, and their probabilities."""
    axes = np.meshgrid(*[x for x, _ in rules], indexing="ij")
    p = reduce(np.multiply.outer, [weights for _, weights in rules])
    return np.array([axis.ravel() for axis in axes]), p.ravel()


def noise_nodes(law: Law, rows: int) -> tuple[Floats, Floats]:
    """Return nodes of the noise at deviation one: variance 1 unless the tail is cut."""
    if law.name == "gaussian":
        return cut_gaussian(NOISE_NODES, normal_cutoff(rows))
    if law.name == "rademacher":
        return np.array([-1.0, 1.0]), np.full(2, 0.5)
    if law.name == "uniform":
        x, w = gauss_legendre(NOISE_NODES)
        return np.sqrt(3) * x, w / 2
    assert law.name == "student-t" and law.parameter is not None
    nu = law.parameter
    edge = float(stdtrit(nu, 1 - 1 / (2 * max(rows, 20))))
    t, w = gauss_legendre(TAIL_NODES)
    top = np.arcsinh(edge)
    x = np.sinh(top * t)
    log_p = gammaln((nu + 1) / 2) - gammaln(nu / 2) - (nu + 1) / 2 * np.log1p(x * x / nu)
    p = w * np.exp(log_p) * np.cosh(top * t)
    return x * np.sqrt(1 - 2 / nu), p / p.sum()


def normal_cutoff(count: int) -> float:
    """Return the size beyond which fewer than one of `count` standard normals is expected."""
    return float(np.sqrt(2) * erfcinv(1 / max(count, 20)))


def cut_gaussian(k: int, edge: float) -> tuple[Floats, Floats]:
    """Return k Gauss-Legendre nodes of N(0, 1) on [-edge, edge], rescaled to unit variance."""
    t, w = gauss_legendre(k)
    x = edge * t
    p = w * np.exp(-x * x / 2)
    p /= p.sum()
    return x / np.sqrt(p @ (x * x)), p


def gauss_rule(x: Floats, weight: Floats, nodes: int) -> tuple[Floats, Floats]:
    """Return the Gauss rule of a discrete measure, nodes and weights; itself where it has few."""
    if len(x) <= nodes:
        return x, weight
    return conditional_gauss(x, weight, min(nodes, len(np.unique(x))))[:2]


def even_rule(k: int, edge: float) -> tuple[Floats, Floats]:
    """Return the trapezoidal rule for a standard normal: it serves functions with kinks."""
    x = np.linspace(-edge, edge, k)
    p = np.exp(-x * x / 2)
    p /= p.sum()
    return x / np.sqrt(p @ (x * x)), p


def conditional_gauss(x: Floats, p: Floats, k: int) -> tuple[Floats, Floats, Floats]:
    r"""Return Gauss nodes of a discrete measure, and how to average over it given the node.

    With orthonormal polynomials :math:`\phi_j`, :math:`E[f\mid x_k] = \sum_j\phi_j(x_k)E[\phi_jf]`.

    Returns nodes and weights, (k,), and the matrix (J, k) that takes values of f to these means.
    Where there are fewer points than nodes, one is repeated without weight.
    """
    total = float(p.sum())
    half = max(float(np.ptp(x)) / 2, MIN_RELATIVE_NORM)
    t = (x - (x.max() + x.min()) / 2) / half
    root = np.sqrt(p / total)
    Q, R = np.linalg.qr(np.polynomial.chebyshev.chebvander(t, min(k, len(x)) - 1) * root[:, None])
    size = np.abs(np.diag(R))
    small = size < MIN_RELATIVE_NORM * size[0]
    rank = int(np.argmax(small)) if small.any() else len(size)
    Q = Q[:, :rank] * np.sign(R[0, 0])
    nodes, vectors = np.linalg.eigh(Q.T @ (x[:, None] * Q))
    first = vectors[0]
    lift = (root[:, None] * Q) @ (vectors / first)
    weights = total * first**2
    if rank < k:
        again = np.append(np.arange(rank), np.full(k - rank, int(np.argmax(weights))))
        nodes, lift = nodes[again], lift[:, again]
        weights = np.append(weights, np.zeros(k - rank))
    return nodes, weights, lift
