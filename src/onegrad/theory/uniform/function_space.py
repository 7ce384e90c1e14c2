r"""The functions of a sample that neurons read, in coordinates.

All profiles of a fixed point are functions of a sample's few indices, known on K nodes. They span a
space of fewer dimensions F, orthonormal functions :math:`\phi` of which are found once; every
resolvent is then a matrix of size F:

.. math:: b_{ru} = \phi\,\beta_{ru}, \qquad G_r = \sum_ua_u\beta_{ru}\beta_{ru}^\top, \qquad
    L_r = I - \phi X_r\phi^\top\Pi, \quad X_r = (I + G_rW)^{-1}G_r, \quad W = \phi^\top\Pi\phi.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import qr

from onegrad.arrays import Floats
from onegrad.theory.uniform.gauss_nodes import Numbers

RELATIVE_TOLERANCE = 1e-13  # of what is left of the profiles outside the space
NEGLIGIBLE = 1e-5  # of a function that makes a difference: in N neurons one of relative size 1/N
PLANE_NODES, PLANE_TOLERANCE = 150, 1e-4  # on more nodes than one index has
# of a function over the noise, in all neurons together, with one index and on planes: what is less,
# ridge does not fit; chosen with docs/input_covariance.md, not tuned
MIN_FITTED_STRENGTH, MIN_PLANE_STRENGTH = 1e-5, 1e-3
MIN_NODE_WEIGHT = 1e-24  # that a node counts with


@dataclass(frozen=True)
class FunctionSpace:
    """Functions on K nodes, (K, F), orthonormal under weights (K,)."""

    functions: Floats
    weights: Floats

    @classmethod
    def spanned_by(cls, rows: Sequence[Floats], p: Floats, visible: float = 0.0) -> FunctionSpace:
        """Return the space of all rows, (m, K) each, on nodes of probability p.

        visible : relative size of a function that makes a difference.
        """
        weights = np.maximum(p, MIN_NODE_WEIGHT)
        root = np.sqrt(weights)
        scaled = np.vstack(rows) * root
        Q, R, _ = qr(scaled.T, mode="economic", pivoting=True)
        sizes = np.abs(np.diagonal(R))
        tolerance = max(RELATIVE_TOLERANCE, NEGLIGIBLE * visible)
        if len(p) >= PLANE_NODES:
            tolerance = PLANE_TOLERANCE
        rank = max(int((sizes > tolerance * sizes[0]).sum()), 1)
        return cls(Q[:, :rank] / root[:, None], weights)

    @classmethod
    def fitted_by(cls, rows: Sequence[Floats], p: Floats) -> FunctionSpace:
        r"""Return the space of the functions that ridge fits, on nodes of probability p.

        rows : profiles times the roots of their coefficients, (m, K) each: the eigenvalues of
            :math:`\Gamma = \sum aa^\top` are how much more than the noise a function is read.

        A function of eigenvalue :math:`\ll1` is not fitted: :math:`(I + \Gamma\Pi)^{-1}` leaves it.
        """
        weights = np.maximum(p, MIN_NODE_WEIGHT)
        root = np.sqrt(weights)
        scaled = np.vstack(rows) * root
        strength, vectors = np.linalg.eigh(scaled.T @ scaled)
        fitted = MIN_FITTED_STRENGTH if len(p) < PLANE_NODES else MIN_PLANE_STRENGTH
        smallest = max(fitted, RELATIVE_TOLERANCE * strength[-1])  # no rounding
        count = max(int((strength > smallest).sum()), 1)
        return cls(vectors[:, -count:] / root[:, None], weights)

    def coordinates(self, values: Numbers) -> Numbers:
        """Return the coordinates, (..., F), of functions with these values, (..., K)."""
        return values @ (self.weights[:, None] * self.functions)
