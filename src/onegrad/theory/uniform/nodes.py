r"""Quadrature for the random parts of a neuron and of a sample.

A neuron with readout g has the weight s along v, the squared length :math:`|w|^2`, and a step
:math:`\epsilon` along its own initial weight:

.. math::
    s_0 &= \omega/\sqrt d - \text{backward}\; g/\sqrt N, \qquad
    s = \gamma c_1(\xi) b g + s_0 (\sqrt{\kappa_v} + \epsilon), \qquad
    |w|^2 = 1 + \xi\sqrt{2/d} \\
    \kappa_v &= 1 + 4c_2\gamma g\,v^\top Mv + 4c_2^2\gamma^2g^2|Mv|^2
        + \gamma^2g^2\nu\phi_0\,v^\top Sv \\
    \epsilon &= \gamma g\,(6c_3 b s_0 + \sqrt{V}\chi) - \gamma\,\text{own}\;g^2/\sqrt N

with independent standard :math:`\omega, \xi, \chi` and :math:`c_1(\xi) = E\sigma'(|w|z)`. A sample
has the index :math:`\kappa = v\cdot x` and the squared length :math:`1 + \zeta\sqrt{2/d}` in all
other directions. All but g and :math:`\kappa` are of order :math:`1/\sqrt d`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from onegrad.functions.averages import gaussian_moments
from onegrad.functions.hermite import Floats, gauss_hermite
from onegrad.problem import Problem
from onegrad.theory.uniform.bulk import Learned
from onegrad.theory.uniform.setting import Scalars

LARGEST_GAUSS = 16
SIGNS = np.array([1.0, -1.0])  # two nodes of N(0, 1), exact to degree three: for O(1/sqrt d) noise


@dataclass(frozen=True)
class Neurons:
    """Nodes of the law of a neuron: (s, g, |w|^2, epsilon) and probability."""

    s: Floats
    g: Floats
    norm: Floats
    own: Floats
    weight: Floats


@dataclass(frozen=True)
class Samples:
    """Nodes of the law of a sample: index, squared length off it, and probability."""

    index: Floats
    norm: Floats
    weight: Floats


def gaussian_rule(k: int) -> tuple[Floats, Floats]:
    """k nodes of N(0, 1): Gauss-Hermite, or for many the trapezoidal rule on [-6, 6].

    Gauss-Hermite wins while the integrand is close to a polynomial; once it takes many nodes it
    spends them beyond |x| = 6, and equal spacing resolves the middle better.
    """
    if k <= LARGEST_GAUSS:
        return gauss_hermite(k)
    x = np.linspace(-6.0, 6.0, k)
    p = np.exp(-x * x / 2)
    return x, p / p.sum()


def sample_nodes(d: int, k: int) -> Samples:
    """k nodes of the index for each of two lengths."""
    x, p = gauss_hermite(k)
    return Samples(np.tile(x, 2), 1 + np.repeat(SIGNS, k) * np.sqrt(2 / d), np.tile(p, 2) / 2)


def neuron_nodes(problem: Problem, a: Scalars, v: Learned, k: int) -> Neurons:
    """Nodes of a neuron: k in its weight along v, two in each smaller fluctuation.

    The two-point nodes of xi, omega and chi share four combinations of signs, the third sign being
    the product of the others: every pair is independent, which is all that second order needs.
    """
    fluctuation = np.sqrt(2 / problem.d) if problem.weights == "gaussian" else 0.0
    lengths = np.sqrt(1 + SIGNS * fluctuation)
    c1 = gaussian_moments(problem.sigma, np.zeros(2), lengths).slope / lengths
    parts = [_given_length(problem, a, k, float(c)) for c in c1]
    g, s, s0, sign, weight = (np.concatenate(x) for x in zip(*parts, strict=True))
    xi = np.repeat(SIGNS, len(s) // 2)
    own = 6 * a.c3 * a.b * s0 + np.sqrt(a.own_noise) * xi * sign
    own = a.gamma * g * (own - a.own_output * g / np.sqrt(problem.N))
    step = a.gamma * g
    kappa_v = (
        1
        + 4 * a.c2 * step * v.vMv
        + step**2 * (4 * a.c2**2 * v.Mv2 + a.nu * problem.phi_step * v.vSv)
    )
    s = s + s0 * (np.sqrt(np.maximum(kappa_v, 0.0)) - 1 + own)
    return Neurons(s=s, g=g, norm=1 + fluctuation * xi, own=own, weight=weight / 2)


def _given_length(problem: Problem, a: Scalars, k: int, c1: float) -> tuple[Floats, ...]:
    """(g, s, s_0, sign, weight) of neurons of one length that move along v only."""
    t = a.gamma * c1 * a.b - a.backward / np.sqrt(problem.N)
    x, p = gaussian_rule(k)
    sign, weight = np.tile(SIGNS, k), np.repeat(p, 2) / 2
    if problem.readout == "gaussian":  # nodes in s, where the functions are steep, then g given s
        variance = t**2 + 1 / problem.d
        s = np.repeat(np.sqrt(variance) * x, 2)
        g = s * t / variance + sign / np.sqrt(problem.d * variance)
    else:
        values = SIGNS[:1] if problem.readout == "constant" else SIGNS
        g = np.repeat(values, 2 * k)
        s = t * g + np.tile(np.repeat(x, 2), len(values)) / np.sqrt(problem.d)
        sign, weight = np.tile(sign, len(values)), np.tile(weight, len(values)) / len(values)
    return g, s, s - a.gamma * c1 * a.b * g, sign, weight
