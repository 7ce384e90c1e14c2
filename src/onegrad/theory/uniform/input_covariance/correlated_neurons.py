"""Nodes of a neuron whose weights along and off the learned directions are correlated."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from onegrad.arrays import Floats
from onegrad.theory.uniform.discretisation import NodeMask
from onegrad.theory.uniform.input_covariance.preparation import SECOND_SPACING, PreparedDraw
from onegrad.theory.uniform.quadrature_nodes import (
    neurons_of_one_length,
    without_negligible,
)
from onegrad.theory.uniform.rules import TWO_POINT_NODES, GradedRule

MIN_ALONG_V = 0.02  # of the initial variance along v
MIN_VARIANCE_OFF_V = 1e-6  # along a second index, relative to that before the step


@dataclass(frozen=True)
class CorrelatedNeurons:
    """Nodes of a neuron."""

    g: Floats  # readout
    bias: Floats  # input at the mean of the inputs
    own: Floats  # epsilon
    epsilon: Floats  # epsilon_2
    noise: Floats  # gamma^2 g^2 nu phi_0
    length: Floats  # sign of the fluctuation of its length
    s: Floats  # (i, U) weights along the indices after the step
    deviations: Floats  # (i, U) their random parts
    inside: Floats  # (U, i, i) covariance of those, times d
    regression: Floats  # (D, i, U) mean weights in the explicit space per unit of the deviations
    weight: Floats
    coefficients: Floats  # (KERNELS, U) of the kernels in K_u
    # of nodes on a grid: along a second index, of biases and lengths, across, and along v
    mask: NodeMask


def correlated_neurons(prepared: PreparedDraw, k: int) -> CorrelatedNeurons:
    """Return nodes of a neuron: k in its weight along v, a few in each smaller fluctuation."""
    problem, step, V = prepared.problem, prepared.step, prepared.indices
    x, p = prepared.neuron_rule.nodes(k)
    moves = step.gamma * step.b * prepared.slopes.ravel()
    parts = [
        neurons_of_one_length(problem, float(t), x, p, prepared.across, step.initial_along_v)
        for t in moves
    ]
    g, along, omega, sign, weight = (np.concatenate(part) for part in zip(*parts, strict=True))
    size = len(along) // prepared.slopes.size  # of one bias and one length
    length = np.tile(np.repeat(TWO_POINT_NODES, size), len(step.activations))
    weight = weight * np.repeat(step.bias_weights, 2 * size) / 2
    c1, mask = np.repeat(prepared.slopes.ravel(), size), np.ones(len(weight), bool)
    node = np.repeat(np.arange(len(step.activations)), 2 * size)
    across = np.zeros(len(g))
    if prepared.second_rules is not None:
        across, weight, at = _across_second_index(prepared, k, length * sign, weight)
        mask = without_negligible(weight)
        across, weight, at = across[mask], weight[mask] / weight[mask].sum(), at[mask]
        g, along, omega, sign, length = (y[at] for y in (g, along, omega, sign, length))
        c1, node = c1[at], node[at]

    def by_bias(name: str) -> Floats:
        return np.array([getattr(a, name) for a in step.activations])[node]

    gamma_g = step.gamma * g
    along_row = g / math.sqrt(problem.N)
    full = problem.residual == "full"
    initial = math.sqrt(step.initial_along_v)
    own = by_bias("d3") * step.b / initial**2 * (initial * omega + step.row_along_v * along_row)
    own_noise = np.sqrt(step.energy * by_bias("own_noise") / problem.rows_of_step)
    own += own_noise * length * sign - full * by_bias("own_output") * along_row
    own *= gamma_g
    epsilon, noise = by_bias("d2") * gamma_g, gamma_g**2 * by_bias("nu") * problem.phi_step
    coefficients = step.coefficients(epsilon, noise, own)
    mean_square = step.spectrum.mean_square
    bias = by_bias("bias") + gamma_g * c1 * step.moved_bias
    bias += epsilon * mean_square * step.b / initial * omega
    KV = np.tensordot(step.kernels @ V.T, coefficients, axes=(0, 0))  # (D, i, U)
    inside = np.tensordot(V, KV, axes=1).transpose(2, 0, 1)  # (U, i, i)
    inside[:, 0, 0] = np.maximum(inside[:, 0, 0], MIN_ALONG_V * step.initial_along_v)
    s = along + omega * (np.sqrt(inside[:, 0, 0]) - initial)
    deviations, s = (omega * np.sqrt(inside[:, 0, 0]))[None], s[None]
    if len(V) > 1:
        second = float(V[1] @ (step.sigma * V[1]))
        rows_noise = problem.phi_step * float(V[1] @ step.kernels[-1] @ V[1])  # s^2 e^T S e
        inside[:, 1, 1] += epsilon**2 * prepared.lengths.t1 * rows_noise
        towards = inside[:, 0, 1] / inside[:, 0, 0]
        off_v = np.maximum(inside[:, 1, 1] - towards * inside[:, 0, 1], MIN_VARIANCE_OFF_V * second)
        inside[:, 1, 1] = off_v + towards * inside[:, 0, 1]
        off_v = towards * deviations[0] + across * np.sqrt(off_v / problem.d)
        deviations, s = np.vstack([deviations, off_v]), np.vstack([s, off_v])
    regression = np.linalg.solve(inside, KV.transpose(2, 1, 0)).transpose(2, 1, 0)
    return CorrelatedNeurons(
        g,
        bias,
        own,
        epsilon,
        noise,
        length,
        s,
        deviations,
        inside,
        np.asarray(regression, dtype=np.float64),
        weight,
        coefficients,
        mask.reshape(-1, prepared.slopes.size, size // k, k),
    )


def _across_second_index(
    prepared: PreparedDraw, k: int, parity: Floats, weight: Floats
) -> tuple[Floats, Floats, np.ndarray[Any, np.dtype[np.intp]]]:
    """Return weights along a second index, in deviations, with probabilities and their neurons.

    A neuron has the half of all nodes whose sign is its parity: every pair of small fluctuations
    is then independent, which is all that second order needs.
    """
    assert prepared.second_rules is not None
    rule = prepared.second_rules[1]
    half = (rule.count(second_spacing(prepared.neuron_rule, k)) + 1) // 2
    z, p = rule.nodes(2 * half)
    at, node = np.nonzero(parity[:, None] * z > 0)
    order = np.lexsort((at, np.abs(z[node])))
    at, node = at[order], node[order]
    return z[node], 2 * weight[at] * p[node], at


def second_spacing(rule: GradedRule, k: int) -> float:
    """Return the distance of nodes of a second index where a rule has k, in its variable."""
    return SECOND_SPACING * max(rule.count(0.1) - 1, 1) * 0.1 / max(k - 1, 1)
