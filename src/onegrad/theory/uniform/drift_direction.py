r"""The direction in which M moves v, as one more direction beside the teacher's.

A neuron's weights have the covariance :math:`(1 + \epsilon_2M)^2/d`, so with its weight along v go
weights along :math:`u = P(pM + qM^2)v`, P the projector off v. With :math:`R_\perp` the resolvent
of PMP and :math:`h = bv`, everything needed of u is known:

.. math::
    \beta^\top R_\perp Mv &= (\beta\cdot h - G_{\beta h}b^2/G_{hh})/b,\qquad
    v^\top MR_\perp Mv = v^\top Mv - \zeta - b^2/G_{hh} \\
    R_\perp u &= (p + q(\zeta + v^\top Mv))\,R_\perp Mv + \text{polynomial},

and polynomials in :math:`\zeta` vanish on the contour.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from onegrad.arrays import Floats
from onegrad.theory.uniform.gauss_nodes import (
    Complexes,
    SpectralMeasure,
    gauss_nodes,
    symmetric_matrix_power,
)

MIN_SQUARED_LENGTH = 1e-12  # of u off the teacher's directions


@dataclass(frozen=True)
class SquareResolvent:
    """The matrix T = M M^T beside the resolvent of the symmetric part of M.

    teacher : T, less what goes through v, in front of R_perp between the teacher's directions.
    Tv_to_teacher, Tv_to_Mv : of T v, to the teacher's directions, (C, t, 1), and to Mv, (C, 1, 1).
    energy : T for a direction that is independent of it, (C, 1, 1).
    """

    teacher: Complexes
    Tv_to_teacher: Complexes
    Tv_to_Mv: Complexes
    energy: Complexes


@dataclass(frozen=True)
class OrthogonalResolvent:
    """Resolvent of PMP on a contour, (C, ...).

    teacher : between the teacher's directions, (C, t, t); S : the same with S in front of it.
    Mv_to_teacher : between Mv and those directions, (C, t, 1); Mv_to_Mv : of Mv, (C, 1, 1).
    energy : E[r^2/D], which is S for a direction that is independent of it, (C, 1, 1).
    square : of a matrix that is not symmetric.
    """

    points: Complexes
    jacobian: Complexes
    teacher: Complexes
    S: Complexes
    Mv_to_teacher: Complexes
    Mv_to_Mv: Complexes
    energy: Complexes
    square: SquareResolvent | None = None

    def integral(self, G: Complexes) -> Floats:
        """Return the mass of the measure with resolvent G."""
        return -np.tensordot(self.jacobian, G, axes=1).real


def add_drift_direction(
    off: OrthogonalResolvent, p: float, q: float, M_vv: float
) -> tuple[SpectralMeasure, Floats, Floats]:
    """Return nodes seen from orthonormal directions e, and e^T Mv, e^T M^2 v.

    The directions are the teacher's, then u.

    p, q : coefficients of u = P(p M + q M^2) v.
    """
    t = off.teacher.shape[1]
    once = (off.points + M_vv)[:, None, None]
    w = p + q * once
    to_u, of_u = w * off.Mv_to_teacher, w * w * off.Mv_to_Mv
    G = np.block([[off.teacher, to_u], [to_u.swapaxes(1, 2), of_u]])
    S = G * off.energy
    S[:, :t, :t] = off.S
    square = off.square
    if square is not None:
        TT = G * square.energy
        TT[:, :t, :t] = square.teacher
    mass = off.integral(G)
    root = symmetric_matrix_power(mass[:t, :t], -0.5)
    overlap = root @ mass[:t, t]  # of u with the teacher's directions off v
    rest = np.sqrt(max(mass[t, t] - overlap @ overlap, MIN_SQUARED_LENGTH))
    T = np.block(
        [[root, np.zeros((t, 1))], [-(overlap @ root)[None] / rest, np.ones((1, 1)) / rest]]
    )
    to_all = np.concatenate([off.Mv_to_teacher, w * off.Mv_to_Mv], axis=1)
    twice = once * to_all
    if square is not None:
        twice = np.concatenate([square.Tv_to_teacher, w * square.Tv_to_Mv], axis=1)
    f, f2 = (T @ off.integral(x)[:, 0] for x in (to_all, twice))
    squares = None if square is None else T @ TT @ T.T
    nodes = gauss_nodes(off.points, off.jacobian, T @ G @ T.T, T @ S @ T.T, squares)
    return nodes, f, f2
