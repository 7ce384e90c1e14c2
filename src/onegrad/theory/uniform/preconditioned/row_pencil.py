r"""Resolvents of matrices made of C^-1 and of sums over the same rows, by one linear pencil.

With :math:`C = \frac1{n_0}\sum_jx_jx_j^\top + \epsilon`, and A and B the same sums with weights
:math:`a_j` and :math:`b_j`, the resolvent of :math:`K = C^{-1}A + AC^{-1} + C^{-1}BC^{-1}` is a
block of the inverse of a matrix that is linear in the rows:

.. math::
    L = \begin{pmatrix}-\zeta&1&A\\1&0&-C\\A&-C&B\end{pmatrix},\qquad
    (L^{-1})_{11} = (K-\zeta)^{-1} = R,\quad (L^{-1})_{13} = RC^{-1},\quad
    (L^{-1})_{33} = C^{-1}RC^{-1}.

Row j adds :math:`V_j\otimes x_jx_j^\top/n_0`, :math:`V_j = e_3u_j^\top + u_je_3^\top` with
:math:`u_j = (a_j, -1, b_j/2)`. Leaving a row out, the normalised traces of the blocks are

.. math:: G = \big(V_0 + E\tilde V\big)^{-1},\qquad \tilde V = V(1+\phi_0GV)^{-1},

and with :math:`\Gamma = (1+\phi_0GV)^{-1} = 1-\phi_0G\tilde V` a row reads a solution y of
:math:`Ly = f` as :math:`\Gamma_j` times what it would read without being part of L.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from onegrad.arrays import Floats
from onegrad.exceptions import NotConverged
from onegrad.theory.uniform.covariance import CONTOUR_SCALES
from onegrad.theory.uniform.gauss_nodes import Complexes, Numbers, contour
from onegrad.theory.uniform.residuals import ResidualLaw

MAX_PENCIL_STEPS = 40  # of Newton's method
NEWTON_TOLERANCE = 1e-12
STEP_TOWARDS_EDGE = 0.9  # of the spectral parameter
MIN_EDGE = 1e-6  # of the spectral parameter, over where it starts


@dataclass(frozen=True)
class RowPencil:
    """The pencil of rows with weights a and b, (J,), for a law of their residuals."""

    law: ResidualLaw
    phi: float
    damping: float
    a: Floats
    b: Floats

    @cached_property
    def trace(self) -> float:
        r"""Normalised trace m of C^-1: :math:`1 = m(\epsilon + 1/(1+\phi_0m))`."""
        return inverse_traces(self.phi, self.damping)[0]

    @cached_property
    def u(self) -> Floats:
        """The vectors u_j, (3, J)."""
        return np.array([self.a, -np.ones(len(self.a)), self.b / 2])

    def constant(self, points: Numbers) -> Numbers:
        """Return V_0, (C, 3, 3)."""
        V0 = np.zeros((len(points), 3, 3), dtype=points.dtype)
        V0[:, 0, 0] = -points
        V0[:, 0, 1] = V0[:, 1, 0] = 1.0
        V0[:, 1, 2] = V0[:, 2, 1] = -self.damping
        return V0

    def dressed(self, G: Numbers) -> Numbers:
        r"""Return :math:`\tilde V`, (C, 3, 3, J)."""
        Gu = G @ self.u  # (C, 3, J)
        corner, link = self.phi * G[:, 2, 2, None], 1 + self.phi * Gu[:, 2]
        own = self.phi * (self.u * Gu).sum(1)
        det = corner * own - link**2
        V = (corner / det)[:, None, None] * (self.u[:, None] * self.u)
        side = (link / det)[:, None] * self.u
        V[:, 2] -= side
        V[:, :, 2] -= side
        V[:, 2, 2] += own / det
        return V

    def far_start(self, points: Numbers) -> Numbers:
        """Return G far from the spectrum."""
        G = np.zeros((len(points), 3, 3), dtype=points.dtype)
        G[:, 0, 0] = -1 / points
        G[:, 1, 2] = G[:, 2, 1] = -self.trace
        return G

    def solve(self, points: Numbers, G: Numbers) -> tuple[Numbers, Numbers]:
        """Return G and the determinant of Newton's matrix, which vanishes at an edge of the bulk.

        G : where Newton's method starts.
        """
        V0, eye = self.constant(points), np.eye(9)
        for _ in range(MAX_PENCIL_STEPS):
            V = self.dressed(G)
            image = np.linalg.inv(V0 + V @ self.law.p)
            flat = V.reshape(len(points), 9, -1)
            # E[V_ab V_cd] as a map of symmetric dG_bc to (a, d)
            pairs = ((flat * self.law.p) @ flat.swapaxes(1, 2)).reshape(-1, 3, 3, 3, 3)
            maps = np.einsum("xia,xabcd,xdj->xijbc", image, pairs, image).reshape(-1, 9, 9)
            newton = eye - self.phi * maps
            change = np.linalg.solve(newton, (image - G).reshape(-1, 9, 1)).reshape(G.shape)
            G = G + change
            if np.abs(change).max() < NEWTON_TOLERANCE * np.abs(G).max():
                return G, np.linalg.det(newton)
        raise NotConverged(f"law of a preconditioned step: no root in {MAX_PENCIL_STEPS} steps")

    def on_contour(self, points: Complexes) -> Complexes:
        """Return G on a contour around the spectrum, (C, 3, 3)."""
        try:
            G = self.solve(points, self.far_start(points))[0]
            if (G[:, 0, 0].imag > 0).all() and (G[:, 2, 2].imag > 0).all():
                return G
        except (NotConverged, np.linalg.LinAlgError):
            pass
        G = self.far_start(CONTOUR_SCALES[0] * points)
        for scale in CONTOUR_SCALES:  # come in from far away
            G = self.solve(scale * points, G)[0]
        return G

    def spectral_contour(self) -> tuple[Complexes, Complexes]:
        """Return a contour around the spectrum, outliers along the indices included."""
        low = 0.0 if not self.a.any() else -self._edge(-1)
        return contour(low, self._edge(1))

    def _edge(self, sign: int) -> float:
        """Return a bound of the spectrum on one side.

        Beyond the spectrum G is real; followed from far away, the bulk begins where Newton's matrix
        becomes singular, and an outlier is where the block of the indices does.
        """
        root = float(np.sqrt(self.phi))
        inverse = 1 / (max(1 - root, 0.0) ** 2 + self.damping)  # bounds of C^-1 and of its rows
        far = inverse * (1 + root) ** 2 * float(2 * np.abs(self.a).max() + inverse * self.b.max())
        zeta, G = np.array([sign * far]), self.far_start(np.array([sign * far]))
        edge, signs = far, None
        while edge > MIN_EDGE * far:
            try:
                G, newton = self.solve(zeta, G)
                indices = np.linalg.eigvalsh(self.indices_block(zeta, self.dressed(G))[0])
            except (NotConverged, np.linalg.LinAlgError):
                break
            now = (bool(newton[0] > 0), int((indices > 0).sum()), bool(G[0, 0, 0] > 0))
            if signs not in (None, now):
                break
            edge, signs, zeta = float(abs(zeta[0])), now, zeta * STEP_TOWARDS_EDGE
        return edge

    def indices_block(self, points: Numbers, V: Numbers) -> Numbers:
        """Return the inverse resolvent on the indices, (C, 3 k, 3 k), index by index."""
        k = len(self.law.tau)
        mean = np.einsum("xabj,ikj->xiakb", V, self.law.p * self.law.tau_tau, optimize=True)
        V0 = np.einsum("ik,xab->xiakb", np.eye(k), self.constant(points))
        return (V0 + mean).reshape(-1, 3 * k, 3 * k)


def inverse_traces(phi: float, damping: float) -> tuple[float, float]:
    r"""Return the normalised traces of C^-1 and C^-2.

    .. math:: 1 = m(\epsilon + 1/(1+\phi m)),\qquad m' = -dm/d\epsilon
    """
    linear = damping + 1 - phi
    root = float(np.sqrt(linear**2 + 4 * damping * phi))
    m = 2 / (linear + root)
    return m, m * (1 + phi * m) / root
