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
    bent: Floats, bend: Floats, kappa: Floats, nodes: SpectralMeasure, rho2: Floats, d: int
) -> Quadratic:
    """From the labels' second derivatives, (t, t, K), and the neurons' bend.

    kappa : (U, R), of the blocks that the teacher's directions are seen in; rho2 : its average over
        all directions.
    """
    t = len(bent)
    pairs = list(itertools.combinations_with_replacement(range(t), 2))
    i, j = np.array(pairs).T
    size = np.where(i == j, np.sqrt(2), 2.0)
    C = (nodes.vector.T * kappa[:, None, :]) @ nodes.vector / d  # (U, t, t)
    alone = C - rho2[:, None, None] * np.eye(t) / d
    mean = (size * alone[:, i, j]).T  # (Q, U)
    # Cov(w_i w_j, w_k w_l) = C_ik C_jl + C_il C_jk
    wobble = C[:, i[:, None], i] * C[:, j[:, None], j] + C[:, i[:, None], j] * C[:, j[:, None], i]
    return Quadratic(
        Y=bent[i, j] / np.where(i == j, np.sqrt(2), 1.0)[:, None],
        mean=mean[:, :, None] * bend,
        bend=bend,
        wobble=np.outer(size, size) * wobble,
    )
