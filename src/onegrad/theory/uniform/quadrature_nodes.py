r"""Quadrature nodes for the random parts of a neuron and of a sample.

A neuron with readout g has the weight s along v, the squared length :math:`|w|^2`, and a step
:math:`\epsilon` along its own initial weight:

.. math::
    s &= \gamma c_1(\xi) b g + (\sqrt{\kappa_v} + \epsilon)\,\omega/\sqrt d, \qquad
    |w|^2 = 1 + \xi\sqrt{2/d} \\
    \kappa_v &= 1 + 4c_2\gamma g\,v^\top Mv + 4c_2^2\gamma^2g^2|Mv|^2
        + \gamma^2g^2\nu\phi_0\,v^\top Sv \\
    \epsilon &= \gamma g\,(6c_3 b s_0 + \sqrt{V}\chi) - \gamma\,\text{own}\;g^2/\sqrt N,\qquad
    s_0 = \omega/\sqrt d - \text{backward}\;g/\sqrt N

with independent standard :math:`\omega, \xi, \chi` and :math:`c_1(\xi) = E\sigma'(|w|z)`. (The
part of s_0 along the readout row is added to the mean output, to first order, in
`discretisation`: its square is that of a direction of which v is only a part.)

A sample has the index :math:`\kappa = v\cdot x` and the squared length
:math:`1 + \zeta\sqrt{2/d}` in all other directions. All but g and :math:`\kappa` are of order
:math:`1/\sqrt d`.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from onegrad.arrays import Floats
from onegrad.functions.averages import gaussian_averages
from onegrad.functions.hermite import gauss_legendre
from onegrad.problem import Problem
from onegrad.theory.uniform.covariance import AlongStep
from onegrad.theory.uniform.first_step import StepNumbers
from onegrad.theory.uniform.gauss_nodes import SpectralMeasure
from onegrad.theory.uniform.rules import (
    LARGE_DEVIATION,
    TWO_POINT_NODES,
    TWO_POINT_RULE,
    UNIFORM_READOUTS,
    GradedRule,
)

NEGLIGIBLE_MASS = 1e-7  # of all nodes together that are left out of a grid
# of the deviation of bulk weights with the readout: below it two nodes do. With two alone, normal
# readouts of H2 or H3 had the errors of those of both signs, which are off by 5 to 18 %
MIN_GROWTH_RATE = 0.2
CONDITIONAL_SPACING = 1.6  # of nodes of the readout, in the variable of their rule


@dataclass(frozen=True)
class NeuronNodes:
    """Nodes of the law of a neuron."""

    s: Floats  # weight along v
    g: Floats  # readout
    norm: Floats  # |w|^2
    own: Floats  # epsilon
    weight: Floats  # probability
    start: Floats  # initial weight along v, omega/sqrt(d)
    along: Floats  # kappa_v


def sample_nodes(d: int, index: GradedRule, k: int) -> tuple[Floats, Floats, Floats]:
    """Return index, squared length off it and probability: k indices for each of two lengths."""
    x, p = index.nodes(k)
    return np.tile(x, 2), 1 + np.repeat(TWO_POINT_NODES, k) * np.sqrt(2 / d), np.tile(p, 2) / 2


def plane_nodes(
    d: int, first: GradedRule, k: int, second: GradedRule, m: int
) -> tuple[Floats, Floats, Floats]:
    """Return two indices, (2, K), squared length and probability: k by m nodes of each length."""
    x, p = first.nodes(k)
    y, q = second.nodes(m)
    indices = np.array([np.tile(x, m), np.repeat(y, k)])
    norm = 1 + np.repeat(TWO_POINT_NODES, k * m) * np.sqrt(2 / d)
    return np.tile(indices, 2), norm, np.tile(np.outer(q, p).ravel(), 2) / 2


def without_negligible(p: Floats) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Return True for all nodes but the least likely ones, the corners of a grid of rules."""
    order = np.argsort(p)
    mask = np.ones(len(p), bool)
    mask[order] = np.cumsum(p[order]) > NEGLIGIBLE_MASS * p.sum()
    return mask


def readout_law(
    problem: Problem, normal: tuple[Floats, Floats] = TWO_POINT_RULE
) -> tuple[Floats, Floats]:
    """Return nodes of a readout g = sqrt(N) a and their probabilities; `normal` are Gaussian's.

    A uniform readout has about as many, and no fewer than `UNIFORM_READOUTS`.
    """
    match problem.readout:
        case "gaussian":
            return normal
        case "uniform":  # dense around zero, where features are steep
            x, p = gauss_legendre(max(UNIFORM_READOUTS, len(normal[0])) // 2)
            g = np.sqrt(3) * (1 + x) / 2
            return np.concatenate([-g[::-1], g]), np.concatenate([p[::-1], p]) / 4
        case "constant":
            return np.ones(1), np.ones(1)
    return TWO_POINT_RULE


def large_readout(problem: Problem) -> float:
    """Return the size of a readout that is large for its law."""
    return {"gaussian": LARGE_DEVIATION, "uniform": math.sqrt(3)}.get(problem.readout, 1.0)


def length_fluctuation(problem: Problem) -> float:
    """Return the standard deviation of the squared length of an initial weight."""
    return float(np.sqrt(2 / problem.d)) if problem.weights == "gaussian" else 0.0


def slopes_by_length(problem: Problem) -> Floats:
    r"""Return :math:`c_1(\xi) = E\sigma'(|w|z)` of neurons of the two lengths."""
    lengths = np.sqrt(1 + TWO_POINT_NODES * length_fluctuation(problem))
    return gaussian_averages(problem.sigma, np.zeros(2), lengths).slope / lengths


def conditional_readouts(problem: Problem, t: float, growth: float) -> tuple[Floats, Floats]:
    r"""Return nodes and probabilities of a neuron's readout given its weight along v.

    A normal readout has the variance :math:`1/(1 + dt^2)` given that weight: next to nothing after
    a long step, but all of it where c_1 = 0. More than two nodes are taken where the bulk weights,
    which grow with the readout, differ among them.

    t : move along v per unit of the readout.
    growth : relative growth of the variance of bulk weights at a large readout.
    """
    rate = np.sqrt(growth / (1 + problem.d * t**2)) / LARGE_DEVIATION
    if problem.readout != "gaussian" or rate < MIN_GROWTH_RATE:
        return TWO_POINT_RULE
    rule = GradedRule(((0.0, 1 / rate),))
    return rule.nodes(2 * (rule.count(CONDITIONAL_SPACING) // 2))  # no readout is zero


def neuron_nodes(
    problem: Problem,
    step: StepNumbers,
    slopes: Floats,  # c_1 of the two lengths, see `slopes_by_length`
    v: AlongStep,
    rule: GradedRule,
    k: int,
    # nodes and probabilities of the readout given that weight, see `conditional_readouts`
    across: tuple[Floats, Floats] = TWO_POINT_RULE,
) -> NeuronNodes:
    """Return nodes of a neuron: k in its weight along v, two in each smaller fluctuation.

    The two-point nodes of xi, omega and chi share four combinations of signs, the third sign being
    the product of the others: every pair is independent, which is all that second order needs.
    """
    x, p = rule.nodes(k)
    moves = step.gamma * slopes * step.b
    parts = [neurons_of_one_length(problem, float(t), x, p, across) for t in moves]
    g, s, omega, sign, weight = (np.concatenate(x) for x in zip(*parts, strict=True))
    xi = np.repeat(TWO_POINT_NODES, len(s) // 2)
    along_row = g / np.sqrt(problem.N)
    own = 6 * step.c3 * step.b * (omega - step.backward * along_row)
    own += np.sqrt(step.own_noise) * xi * sign - step.own_output * along_row
    own *= step.gamma * g
    kappa_v = weights_along_v(step, problem.phi_step, g, v)
    s = s + omega * (np.sqrt(kappa_v) - 1 + own)
    norm = 1 + length_fluctuation(problem) * xi
    return NeuronNodes(s, g, norm, own, weight=weight / 2, start=omega, along=kappa_v)


def weights_along_v(step: StepNumbers, phi_step: float, g: Floats, v: AlongStep) -> Floats:
    r"""Return d times the variance of random weights along v, :math:`\kappa_v`."""
    gamma_g = step.gamma * g
    squares = 4 * step.c2**2 * v.Mv_squared + step.nu * phi_step * v.S_vv
    return np.maximum(1 + 4 * step.c2 * gamma_g * v.M_vv + gamma_g**2 * squares, 0.0)


def bulk_variance(
    step: StepNumbers,
    phi_step: float,
    g: Floats,
    measure: SpectralMeasure,
    norm: Floats | float = 1.0,  # squared lengths |w|^2
    own: Floats | float = 0.0,  # steps epsilon along the neurons' own weights
) -> Floats:
    r"""Return d times the variance of bulk weights, (U, R), of neurons with readouts g.

    .. math:: \kappa_r = |w|^2[(1 + \epsilon + 2c_2\gamma g\mu_r)^2 + \gamma^2g^2\nu\phi_0 s_r]

    and :math:`4c_2^2\gamma^2g^2` times the excess of a matrix that is not symmetric.
    """
    gamma_g = step.gamma * g[:, None]
    norm, own = np.asarray(norm)[..., None], np.asarray(own)[..., None]
    along = 1 + own + 2 * step.c2 * gamma_g * measure.mu
    noise = step.nu * phi_step * measure.s + 4 * step.c2**2 * measure.excess
    return norm * (along**2 + gamma_g**2 * noise)


def neurons_of_one_length(
    problem: Problem,
    t: float,  # move along v per unit of the readout
    x: Floats,  # nodes of the weight along v, in units of its deviation
    p: Floats,  # their probabilities
    # nodes and probabilities of a normal readout given that weight
    across: tuple[Floats, Floats] = TWO_POINT_RULE,
    along_v: float = 1.0,  # d times the variance of the initial weight along v
) -> tuple[Floats, ...]:
    """Return (g, s, omega/sqrt(d), sign, weight) of neurons of one length moved along v only."""
    z, q = across
    k, variance = len(x), along_v / problem.d
    sign, weight = np.repeat(np.sign(z), k), np.outer(q, p).ravel()
    if problem.readout == "gaussian":  # nodes in s, where the functions are steep, then g given s
        total = t**2 + variance
        s = np.tile(np.sqrt(total) * x, len(z))
        g = s * t / total + np.repeat(z, k) * np.sqrt(variance / total)
    else:
        values, readouts = readout_law(problem)
        g = np.repeat(values, 2 * k)
        s = t * g + np.sign(g) * np.tile(x, 2 * len(values)) * np.sqrt(variance)
        sign, weight = np.tile(sign, len(values)), np.outer(readouts, weight).ravel()
    return g, s, (s - t * g) / np.sqrt(along_v), sign, weight
