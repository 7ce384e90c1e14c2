r"""Gauss nodes of a matrix-valued measure from its resolvent on a contour.

With :math:`\int f\,d\mu = -\frac1{2\pi i}\oint fG` orthogonal polynomials can be built with inner
products taken on the contour: block Lanczos, whose block tridiagonal matrix has the nodes as
eigenvalues and, in the first rows of its eigenvectors, a vector :math:`\varpi_r` for each with

.. math:: \int f\,d\mu_{ij} = \sum_r \varpi_{ri}\varpi_{rj}f(\mu_r), \qquad
    \sum_r\varpi_r\varpi_r^\top = I.

The contour stays close to the spectrum. Beyond that the normalised trace m of M is real, and the
spectral parameter is a function of it,

.. math:: \zeta(m) = -1/m + E[w/(1 + \phi_0wm)],

which falls from infinity, as m grows from 0 to minus infinity, until the edge of the bulk; an
eigenvalue of :math:`E[w\tau\tau^\top/D]` that meets :math:`\zeta` before is an outlier along the
indices. A far contour would do for integrals, but not for orthogonal polynomials: on it they are so
large that their inner products cancel.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from onegrad.arrays import Floats

Complexes = np.ndarray[Any, np.dtype[np.complex128]]
Numbers = np.ndarray[Any, np.dtype[Any]]  # real or complex

LANCZOS_BLOCKS = {1: 8, 2: 6, 3: 5}  # by the size of a block
MIN_LANCZOS_BLOCKS = 4  # for larger blocks
MIN_RELATIVE_PRODUCT = 1e-13  # an inner product below this share of its terms is rounding
CONTOUR_POINTS = 64  # upper half of the contour; the trapezoidal rule converges geometrically
# sum of the half axes of the ellipse over the half distance of its foci: on a distant contour
# rounding grew to 1e-7 of a prediction
ELLIPSE_WIDTH = 1.6
FOCUS_MARGIN = 0.02  # of the distance of its foci, beyond the spectrum
# m in units of its pole -1/(phi max w): outliers far from the bulk are at small ones
TRACE_GRID = np.concatenate([np.geomspace(1e-3, 0.1, 40)[:-1], np.linspace(0.1, 1, 80)[:-1]])


def contour(low: float, high: float) -> tuple[Complexes, Complexes]:
    """Return the upper half of an ellipse around [low, high], and dz/(pi i) along it."""
    centre, focus = (high + low) / 2, (high - low) / 2 * (1 + FOCUS_MARGIN)
    angle = (np.arange(CONTOUR_POINTS) + 0.5) * np.pi / CONTOUR_POINTS
    turn = ELLIPSE_WIDTH * np.exp(1j * angle)
    points = centre + focus * (turn + 1 / turn) / 2
    speed = focus * 1j * (turn - 1 / turn) / 2
    return points, speed / (1j * CONTOUR_POINTS)


def spectrum_bounds(w: Floats, p: Floats, tau_tau: Floats, phi: float) -> tuple[float, float]:
    """Return bounds of the spectrum; zero lies between them."""
    return -_upper_bound(-w, p, tau_tau, phi), _upper_bound(w, p, tau_tau, phi)


def _upper_bound(w: Floats, p: Floats, tau_tau: Floats, phi: float) -> float:
    """Return a bound of the spectrum from above that is not below zero."""
    top = float(w.max())
    if top <= 0.0:
        return 0.0
    share = p * w / (1 - np.outer(TRACE_GRID, w / top))  # (G, J)
    zeta = phi * top / TRACE_GRID + share.sum(1)
    signal = np.linalg.eigvalsh(np.einsum("gj,abj->gab", share, tau_tau))[:, -1]
    ended = (np.diff(zeta, append=np.inf) >= 0) | (np.append(signal[1:] >= zeta[1:], True))
    far = float((1 + np.sqrt(phi)) ** 2 * top)  # |X^T X/n_0| max w
    return far if signal[0] >= zeta[0] else min(float(zeta[np.argmax(ended)]), far)


@dataclass(frozen=True)
class SpectralMeasure:
    """Nodes of M with the energy s = u^T S u of its eigenvectors."""

    mu: Floats
    s: Floats
    vector: Floats  # (R, m), the eigenvectors along m directions of unit mass
    # of |M^T u|^2 over the square of u^T M u, where M is not symmetric
    excess: Floats | float = 0.0

    @property
    def weight(self) -> Floats:
        """Probabilities of the nodes, summed over the m directions."""
        return (self.vector**2).sum(1)


def gauss_nodes(
    points: Complexes, jacobian: Complexes, G: Complexes, S: Complexes, T: Complexes | None = None
) -> SpectralMeasure:
    r"""Return nodes of the measure with resolvent G, (C, m, m), and energies from resolvent S.

    G is normalised to unit mass by its symmetric root on both sides.

    T : the same of :math:`MM^\top` where M is not symmetric, and G of its symmetric part.
    """
    m = G.shape[-1]
    root = symmetric_matrix_power(-np.tensordot(jacobian, G, axes=1).real, -0.5)
    c = -(root @ G @ root) * jacobian[:, None, None]
    both = np.stack([S] if T is None else [S, T])
    cs = -(root @ both @ root) * jacobian[:, None, None]  # (1 or 2, C, m, m)
    z = points[:, None, None]

    def inner(P: Complexes, Q: Complexes) -> Floats:
        return (P.swapaxes(1, 2) @ c @ Q).sum(0).real

    blocks = LANCZOS_BLOCKS.get(m, MIN_LANCZOS_BLOCKS)
    J = np.zeros((m * blocks, m * blocks))
    energy = np.zeros((len(both), m, m * blocks))
    previous, current = np.zeros_like(c), np.broadcast_to(np.eye(m) + 0j, c.shape)
    for k in range(blocks):
        here, after = slice(m * k, m * (k + 1)), slice(m * (k + 1), m * (k + 2))
        energy[:, :, here] = (cs @ current).sum(1).real
        J[here, here] = inner(current, z * current)
        following = z * current - current @ J[here, here]
        if k:
            following = following - previous @ J[m * (k - 1) : m * k, here]
        square = inner(following, following)
        terms = float(np.abs(following.swapaxes(1, 2) @ c @ following).sum())
        if k == blocks - 1 or np.linalg.eigvalsh(square)[0] <= MIN_RELATIVE_PRODUCT * terms:
            J, energy = J[: here.stop, : here.stop], energy[:, :, : here.stop]
            break
        B = symmetric_matrix_power(square, 0.5)
        J[after, here], J[here, after] = B, B.T
        previous, current = current, following @ np.linalg.inv(B)
    nodes, vectors = np.linalg.eigh((J + J.T) / 2)
    first = vectors[:m].T  # (R, m)
    # the first rows of S in this basis, as if S were diagonal with M
    s = (first.T * (energy @ vectors)).sum(1) / (first**2).sum(1)
    excess = np.maximum(s[1] - nodes**2, 0.0) if T is not None else 0.0
    return SpectralMeasure(nodes, np.maximum(s[0], 0.0), first, excess)


def symmetric_matrix_power(A: Floats, power: float) -> Floats:
    """Raise a symmetric positive matrix to a power."""
    values, vectors = np.linalg.eigh((A + A.T) / 2)
    return (vectors * np.maximum(values, 1e-300) ** power) @ vectors.T
