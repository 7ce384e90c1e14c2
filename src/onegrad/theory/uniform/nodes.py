r"""Quadrature for the random parts of a neuron and of a sample.

A neuron with readout g has the weight s along v and a factor on its bulk weights:

.. math::
    s_0 = \omega/\sqrt d - \text{backward}\; g/\sqrt N, \qquad
    s = \gamma c_1(\xi) b g + s_0 (1 + \epsilon), \qquad
    |w|^2 = 1 + \xi\sqrt{2/d}, \qquad
    \epsilon = 6c_3\gamma g b s_0 - \gamma\,\text{own}\;g^2/\sqrt N

where :math:`\epsilon` is the step along the neuron's own weight, from the second Hermite term of
:math:`\sigma'`, and :math:`c_1(\xi) = E\sigma'(|w|z)`. A sample has the index
:math:`\kappa = v\cdot x` and the squared length :math:`1 + \zeta\sqrt{2/d}` in all other
directions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from onegrad.hermite import Floats, gauss_hermite
from onegrad.problem import Problem
from onegrad.theory.uniform.moments import gaussian_moments
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


def neuron_nodes(problem: Problem, a: Scalars, k: int) -> Neurons:
    """Nodes of a neuron: k in its weight along v, two in each smaller fluctuation."""
    norms = 1 + SIGNS * np.sqrt(2 / problem.d) if problem.weights == "gaussian" else np.ones(1)
    c1 = gaussian_moments(problem.sigma, np.zeros_like(norms), np.sqrt(norms)).slope
    parts = [_given_norm(problem, a, k, float(c)) for c in c1 / np.sqrt(norms)]
    g, s, s0, weight = (np.concatenate(x) for x in zip(*parts, strict=True))
    own = a.gamma * g * (6 * a.c3 * a.b * s0 - a.own_output * g / np.sqrt(problem.N))
    return Neurons(
        s=s + s0 * own,
        g=g,
        norm=np.repeat(norms, len(s) // len(norms)),
        own=own,
        weight=weight / len(norms),
    )


def _given_norm(problem: Problem, a: Scalars, k: int, c1: float) -> tuple[Floats, ...]:
    """(g, s, s_0, weight) of neurons of one length, without the step along their own weight."""
    t = a.gamma * c1 * a.b - a.backward / np.sqrt(problem.N)
    x, p = gaussian_rule(k)
    if problem.readout == "gaussian":  # nodes in s, where the functions are steep, then g given s
        variance = t**2 + 1 / problem.d
        s = np.repeat(np.sqrt(variance) * x, 2)
        g = s * t / variance + np.tile(SIGNS, k) / np.sqrt(problem.d * variance)
        weight = np.repeat(p, 2) / 2
    else:
        values = SIGNS[:1] if problem.readout == "constant" else SIGNS
        g = np.repeat(values, k)
        s = t * g + np.tile(x, len(values)) / np.sqrt(problem.d)
        weight = np.tile(p, len(values)) / len(values)
    return g, s, s - a.gamma * c1 * a.b * g, weight
