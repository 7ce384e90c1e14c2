r"""The quadratic part of the teacher off v, as far as neurons tell it from noise.

With z along the teacher's directions off v, labels have coefficients on the orthonormal functions
:math:`q_{ii} = (z_i^2-1)/\sqrt2` and :math:`q_{ij} = z_iz_j`, and a neuron with weights w along
those directions reads them with

.. math:: \tfrac12E\sigma''\cdot(\sqrt2\,w_i^2,\; 2w_iw_j), \qquad
    \mathrm{Cov}(w_i, w_j) = \tfrac1d\sum_r\varpi_{ri}\varpi_{rj}\kappa_r.

Each is of order 1/d; but N neurons share them, and a direction that M singles out has
:math:`\kappa_r` of several times its average. The part that all directions have alike acts through
the length of x and is taken off.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from onegrad.arrays import Floats
from onegrad.theory.uniform.gauss import SpectralMeasure

NEGLIGIBLE = 1e-6  # beside the largest


@dataclass(frozen=True)
class Quadratic:
    """Labels and neurons on the Q functions above.

    Y : (Q, K). mean : (Q, U, K), what neurons read on average over their random weights.
    bend : (U, K), half of E sigma''; wobble : (U, Q, Q), covariance of what multiplies it.
    """

    Y: Floats
    mean: Floats
    bend: Floats
    wobble: Floats


def quadratic(
    bent: Floats,
    value: Floats,
    norm: Floats,
    kappa: Floats,
    nodes: SpectralMeasure,
    rho: Floats,
    d: int,
) -> Quadratic:
    """From the labels' second derivatives, (t, t, K), and the neurons' mean outputs, (U, K).

    norm : squared lengths of the samples; the longer half comes first, at the same indices.
    kappa : (U, R), of the blocks `nodes` that the teacher's directions, the first t of theirs, are
        seen in; rho : (U, 1), the root
        of its average over all directions.
    """
    longer, shorter = np.split(value, 2, axis=1)
    size = norm * np.sqrt(max(1 - 3 / d, 0.0))  # of z^2 - 1 given the length, over sqrt(2)
    bend = size * np.tile((longer - shorter) / ((norm[0] - norm[-1]) * rho**2), 2)
    t = len(bent)
    pairs = list(itertools.combinations_with_replacement(range(t), 2))
    i, j = np.array(pairs).T
    factor = np.where(i == j, np.sqrt(2), 2.0)
    vector = nodes.vector[:, :t]
    C = (vector.T * kappa[:, None, :]) @ vector / d  # (U, t, t)
    alone = C - rho[:, :, None] ** 2 * np.eye(t) / d
    mean = (factor * alone[:, i, j]).T  # (Q, U)
    # Cov(w_i w_j, w_k w_l) = C_ik C_jl + C_il C_jk
    wobble = C[:, i[:, None], i] * C[:, j[:, None], j] + C[:, i[:, None], j] * C[:, j[:, None], i]
    Y = size * bent[i, j] / np.where(i == j, np.sqrt(2), 1.0)[:, None]
    V = spanned(Y)  # functions that no label has are left out
    mean, wobble = V.T @ mean, V.T @ (np.outer(factor, factor) * wobble) @ V
    return Quadratic(Y=V.T @ Y, mean=mean[:, :, None] * bend, bend=bend, wobble=wobble)


def spanned(vectors: Floats) -> Floats:
    """An orthonormal basis, (t, r) with r >= 1, of what the columns of (t, K) span."""
    if len(vectors) == 1:
        return np.ones((1, 1))
    left, sizes, _ = np.linalg.svd(vectors, full_matrices=False)
    return np.asarray(left[:, : max(int((sizes > NEGLIGIBLE * sizes[0]).sum()), 1)])
