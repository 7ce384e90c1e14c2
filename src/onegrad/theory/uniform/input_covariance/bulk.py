r"""The bulk of a neuron's weights off the learned indices, for inputs with a covariance.

.. math:: Q_u = PK_uP - kk^\top/\kappa_v, \qquad k = PK_uv

The noise of M, which is not in the mean of K, spreads the deviation along a direction of variance s
by :math:`\epsilon_2s\sqrt{t_1}\mu_k`.
"""

import math
from dataclasses import dataclass

import numpy as np

from onegrad.arrays import Floats
from onegrad.theory.uniform.input_covariance.correlated_neurons import (
    CorrelatedNeurons,
    correlated_neurons,
)
from onegrad.theory.uniform.input_covariance.explicit_step import KERNELS
from onegrad.theory.uniform.input_covariance.preparation import PreparedDraw
from onegrad.theory.uniform.neuron_tilt import MIN_VARIANCE_SHARE

FEW_NODES = 7  # of a neuron, where an order of magnitude is asked for
MIN_VARIANCE = 1e-6  # of the bulk, relative to the mean
MIN_PART_OFF_V = 1e-3  # of a direction that stands alone


@dataclass(frozen=True)
class BulkBlocks:
    """Blocks of the bulk: directions that stand alone, then nodes of the noise of M in groups."""

    kappa: Floats  # (U, R) d times the variances of weights of mean length
    by_length: Floats  # (R,) their relative change for one deviation of the length
    omega: Floats  # (R,) shares of all d directions
    lone_axes: Floats  # (B, D) directions that stand alone, off the indices

    def types(self, kappa: Floats, groups: int) -> tuple[Floats, Floats]:
        """Return kappa, (U, R), and omega over directions alone and in groups: (U, T), (T,)."""
        top = len(self.lone_axes)
        shape = (groups, -1)
        counts = self.omega[top:].reshape(shape)
        share = counts / np.maximum(counts.sum(1, keepdims=True), 1e-300)
        rest = (kappa[:, top:].reshape(-1, *counts.shape) * share).sum(2)
        return np.hstack([kappa[:, :top], rest]), np.append(self.omega[:top], counts.sum(1))

    def shared(self, vector: Floats, prepared: PreparedDraw) -> Floats:
        """Return the squared parts of a vector, (D,), in the blocks."""
        parts = self.lone_axes @ vector
        rest = vector - self.lone_axes.T @ parts
        groups = (rest**2).reshape(-1, len(prepared.step.spectrum.values)).sum(0)
        groups = groups[prepared.step.spectrum.singles :]
        return np.append(parts**2, np.outer(groups, prepared.noise.weight))


def concentration(prepared: PreparedDraw) -> float:
    r"""Return one over the number of directions that carry a neuron's output beside v.

    .. math:: \Big\langle\frac1d\sum_r\omega_r\kappa_r^2/\rho^4\Big\rangle

    Where it is not small, the output given the index is not Gaussian.
    """
    neurons = correlated_neurons(prepared, FEW_NODES)
    bulk = bulk_blocks(prepared, neurons, mean_covariance(prepared, neurons))
    inverse = (bulk.kappa**2 @ bulk.omega) / (bulk.kappa @ bulk.omega) ** 2
    return float(neurons.weight @ inverse) / prepared.problem.d


def bulk_blocks(prepared: PreparedDraw, neurons: CorrelatedNeurons, Q: Floats) -> BulkBlocks:
    """Return the blocks of the bulk; Q is the mean covariance of weights off the indices."""
    step, spectrum, V = prepared.step, prepared.step.spectrum, prepared.indices
    nodes, lengths, d = prepared.noise, prepared.lengths, prepared.problem.d
    top, size = spectrum.singles, len(spectrum.values)
    s, counts = spectrum.values[top:], spectrum.counts[top:].copy()
    # directions that stand alone have the first places; what is left of the indices is one
    # direction of the other groups for each of them
    lone_axes = np.zeros((0, len(step.v)))
    if top:
        lone_axes = orthonormal(np.eye(len(step.v))[:top], V, MIN_PART_OFF_V)
        lone_axes = np.linalg.eigh(lone_axes @ Q @ lone_axes.T)[1].T @ lone_axes
    lost = len(lone_axes) + len(V) - top
    parts = (V**2).reshape(len(V), -1, size).sum(1)[:, top:]
    parts = parts.sum(0) * s if not top else parts.sum(0)
    counts -= lost * parts / max(float(parts.sum()), 1e-300)

    moved = np.outer(neurons.epsilon, s) * (step.mean + step.shift * s)
    mean = s * (1 + np.outer(neurons.own, s) + moved) ** 2
    noise = np.outer(neurons.noise, s**2) * step.energy
    groups = spread_by_noise(prepared, neurons, s, mean, noise)
    variance, noise, along = variances_along(prepared, neurons, lone_axes)
    single = spread_by_noise(prepared, neurons, along, variance, noise) @ nodes.weight
    by_length = lengths.given_length(s, d, np.maximum(counts, 0.0) / spectrum.counts[top:])
    return BulkBlocks(
        np.hstack([single, groups.reshape(len(groups), -1)]),
        np.append(lengths.given_length(along, d), np.repeat(by_length, len(nodes.weight))),
        np.append(np.ones(len(lone_axes)), np.outer(np.maximum(counts, 0.0), nodes.weight)) / d,
        lone_axes,
    )


def mean_covariance(prepared: PreparedDraw, neurons: CorrelatedNeurons) -> Floats:
    """Return the mean over neurons of d times the covariance of weights off the indices."""
    step, V = prepared.step, prepared.indices
    P = np.eye(len(step.v)) - V.T @ V
    K = np.tensordot(neurons.coefficients @ neurons.weight, step.kernels, axes=1)
    leaning = neurons.regression * neurons.weight
    explained = np.einsum(
        "xiu,uij,yju->xy", leaning, neurons.inside, neurons.regression, optimize=True
    )
    return P @ (K - explained) @ P


def variances_along(
    prepared: PreparedDraw, neurons: CorrelatedNeurons, q: Floats
) -> tuple[Floats, Floats, Floats]:
    """Return d times the variances along directions q, (L, D), what S adds, (U, L), and before.

    The noise of M is not in them.
    """
    step = prepared.step
    s = q**2 @ step.sigma
    diagonal = np.array([((q @ kernel) * q).sum(1) for kernel in step.kernels])  # (KERNELS, L)
    plain = slice(KERNELS - 1)
    variance = neurons.coefficients[plain].T @ diagonal[plain]
    leaning = np.tensordot(q, neurons.regression, axes=1)  # (L, i, U)
    variance -= np.einsum("liu,uij,lju->ul", leaning, neurons.inside, leaning)
    variance = np.maximum(variance, MIN_VARIANCE_SHARE * s)
    return variance, np.outer(neurons.coefficients[-1], diagonal[-1]), s


def spread_by_noise(
    prepared: PreparedDraw, neurons: CorrelatedNeurons, s: Floats, mean: Floats, noise: Floats
) -> Floats:
    """Return variances spread by the noise of M and S, (U, R, k).

    s : variances of the directions before the step, (R,).
    mean, noise : variances after it, and what S adds, (U, R).
    """
    step, nodes = prepared.step, prepared.noise
    smallest = MIN_VARIANCE * step.spectrum.moment(1)
    deviation = np.outer(neurons.epsilon, s) * math.sqrt(prepared.lengths.t1)
    root = np.sqrt(np.maximum(mean, smallest))[:, :, None] + deviation[:, :, None] * nodes.mu
    return root**2 + noise[:, :, None] * nodes.s


def orthonormal(vectors: Floats, basis: Floats, tol: float) -> Floats:
    """Return vectors, one after another, made orthonormal and orthogonal to a basis."""
    start = len(basis)
    for x in vectors:
        y = x
        for _ in range(2):
            y = y - basis.T @ (basis @ y)
        size = float(np.linalg.norm(y))
        if size > tol * float(np.linalg.norm(x)):
            basis = np.vstack([basis, y / size])
    return basis[start:]
