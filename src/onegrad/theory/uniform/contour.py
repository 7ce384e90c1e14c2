r"""A contour around the spectrum of M that stays close to it.

Beyond the spectrum the normalised trace m is real, and the spectral parameter is a function of it,

.. math:: \zeta(m) = -1/m + E[w/(1 + \phi_0wm)],

which falls from infinity, as m grows from 0 to minus infinity, until the edge of the bulk; an
eigenvalue of :math:`E[w\tau\tau^\top/D]` that meets :math:`\zeta` before is an outlier along the
indices. A far contour would do for integrals, but not for orthogonal polynomials: on it they are so
large that their inner products cancel.
"""

from __future__ import annotations

import numpy as np

from onegrad.arrays import Floats
from onegrad.theory.uniform.gauss_nodes import Complexes

CONTOUR_POINTS = 64  # upper half of the contour; the trapezoidal rule converges geometrically
ELLIPSE_WIDTH = 1.6  # sum of the half axes of the ellipse over the half distance of its foci
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
