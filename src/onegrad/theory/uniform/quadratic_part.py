r"""The quadratic part of the teacher off v, as far as neurons can tell it from noise.

With z along the teacher's directions off v, labels have coefficients on the orthonormal functions
:math:`q_{ii} = (z_i^2-1)/\sqrt2` and :math:`q_{ij} = z_iz_j`, and a neuron with weights w along
those directions reads them with

.. math:: \tfrac12E\sigma''\cdot(\sqrt2\,w_i^2,\; 2w_iw_j), \qquad
    \mathrm{Cov}(w_i, w_j) = \tfrac1d\sum_r\varpi_{ri}\varpi_{rj}\kappa_r.

Each is of order 1/d; but N neurons share them, and a direction that M singles out has
:math:`\kappa_r` of several times its average. The part that all directions have alike acts through
the length of x and is taken off.
"""

import itertools
from dataclasses import dataclass

import numpy as np

from onegrad.arrays import Floats

MIN_RELATIVE_SINGULAR_VALUE = 1e-6


@dataclass(frozen=True)
class QuadraticPart:
    """Labels and neurons on the Q functions above."""

    Y: Floats  # (Q, K) coefficients of the labels
    mean: Floats  # (Q, U, K) coefficients of neurons, averaged over their random weights
    bend: Floats  # (U, K) half of E sigma''
    fluctuation: Floats  # (U, Q, Q) covariance of the products of weights that multiply `bend`


def quadratic_part(
    hessian: Floats, value: Floats, norm: Floats, kappa: Floats, vector: Floats, rho: Floats, d: int
) -> QuadraticPart:
    """Return the quadratic part of labels and neurons.

    hessian : mean second derivatives of the labels, (t, t, K).
    value : mean outputs of the neurons, (U, K).
    norm : squared lengths of the samples; the longer half comes first, at the same indices.
    kappa, vector : variances of the blocks, (U, R), and their vectors along the directions off v,
        (R, m), of which the teacher's are the first t.
    rho : root of the average variance over all directions, (U, 1).
    """
    longer, shorter = np.split(value, 2, axis=1)
    size = norm * np.sqrt(max(1 - 3 / d, 0.0))  # of z^2 - 1 given the length, over sqrt(2)
    bend = size * np.tile((longer - shorter) / ((norm[0] - norm[-1]) * rho**2), 2)
    t = len(hessian)
    pairs = list(itertools.combinations_with_replacement(range(t), 2))
    i, j = np.array(pairs).T
    factor = np.where(i == j, np.sqrt(2), 2.0)
    vector = vector[:, :t]
    C = (vector.T * kappa[:, None, :]) @ vector / d  # (U, t, t)
    excess = C - rho[:, :, None] ** 2 * np.eye(t) / d
    mean = (factor * excess[:, i, j]).T  # (Q, U)
    # Cov(w_i w_j, w_k w_l) = C_ik C_jl + C_il C_jk
    i_, j_ = i[:, None], j[:, None]
    covariance = C[:, i_, i] * C[:, j_, j] + C[:, i_, j] * C[:, j_, i]
    Y = size * hessian[i, j] / np.where(i == j, np.sqrt(2), 1.0)[:, None]
    V = orthonormal_span(Y)  # functions that no label has are left out
    mean, fluctuation = V.T @ mean, V.T @ (np.outer(factor, factor) * covariance) @ V
    return QuadraticPart(V.T @ Y, mean[:, :, None] * bend, bend, fluctuation)


def orthonormal_span(vectors: Floats) -> Floats:
    """Return an orthonormal basis, (t, r) with r >= 1, of the span of the columns of (t, K)."""
    if len(vectors) == 1:
        return np.ones((1, 1))
    basis, sizes, _ = np.linalg.svd(vectors, full_matrices=False)
    rank = max(int((sizes > MIN_RELATIVE_SINGULAR_VALUE * sizes[0]).sum()), 1)
    return basis[:, :rank]
