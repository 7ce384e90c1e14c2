r"""How one step changes the covariance of the bulk weights: the spectral measures of M and S.

With weights :math:`w_j` (the residuals :math:`r_j`, or their squares) the matrix
:math:`M = \frac1{n_0}\sum_j w_j x_j x_j^\top` has, as d grows, a deterministic resolvent. With
:math:`D = 1 + \phi_0 w m`, z the teacher's index and :math:`h = X^\top r/n_0`:

.. math::
    m &= 1/(-\zeta + E[w/D])                       && \text{normalised trace} \\
    G_{\beta\beta} &= 1/(-\zeta + E[w z^2/D]),\quad
    G_{\beta h} = G_{\beta\beta} E[r z/D],\quad
    G_{hh} = \phi_0 m E[r^2/D] + G_{\beta h}^2/G_{\beta\beta}

Removing h from the space leaves the measure of the teacher's remaining direction. The two measures
enter the theory only through integrals of smooth functions, so a few Gauss nodes replace them.
They come from the resolvent on a contour around the spectrum: nothing is sampled.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.special import erfcinv

from onegrad.arrays import Floats
from onegrad.errors import NotConverged
from onegrad.functions.function import Function

Complexes = np.ndarray[Any, np.dtype[np.complex128]]

NODES = 8  # Gauss nodes of each measure
CONTOUR_POINTS = 64  # upper half of the contour; the trapezoidal rule converges geometrically
CONTOUR_WIDTH = 1.6  # sum of the half axes of the ellipse over the half distance of its foci
NEWTON_LIMIT = 200
ROUNDING = 1e-13  # an inner product this far below its terms is no longer known
INDEX_NODES, NOISE_NODES = 32, 7


@dataclass(frozen=True)
class SpectralMeasure:
    """Nodes of M with the energy s = u^T S u of its eigenvectors, and their weights."""

    mu: Floats
    s: Floats
    weight: Floats


@dataclass(frozen=True)
class AlongStep:
    """M and S along the learned direction v, e the teacher's off it.

    v^T M v, |M v|^2, v^T S v; and v^T M e.
    """

    vMv: float
    Mv2: float
    vSv: float
    vMe: float = 0.0


@dataclass(frozen=True)
class Covariance:
    """The spectral measure of M; the same seen from the teacher's direction off v; and along v."""

    trace: SpectralMeasure
    teacher: SpectralMeasure
    along: AlongStep

    def shifted(self, by: float) -> Covariance:
        """The same for M + by I."""
        trace, teacher = (replace(x, mu=x.mu + by) for x in (self.trace, self.teacher))
        v = self.along
        along = replace(v, vMv=v.vMv + by, Mv2=v.Mv2 + 2 * by * v.vMv + by**2)
        return Covariance(trace, teacher, along)


@dataclass(frozen=True)
class ResidualLaw:
    """Nodes of the law of a residual, with the indices it depends on.

    r, p : residuals and their probabilities, (J,).
    tau, tau_tau : means given the node of the indices and of their products, (k, J), (k, k, J); the
        teacher's index comes first, then that of the initial output.
    """

    r: Floats
    p: Floats
    tau: Floats
    tau_tau: Floats


@lru_cache(maxsize=128)
def covariance(
    teacher: Function,
    noise: float,
    phi: float,
    rows: int,
    squared: bool,
    output: float = 0.0,
    mean: float = 0.0,
) -> Covariance:
    """Nodes of M (`squared`: of S itself) for residuals teacher(z) + noise + mean.

    Parameters
    ----------
    noise : standard deviation of everything in the residual that is not the teacher.
    phi, rows : d / rows, and the rows of the step; the law of the labels is cut where fewer than
        one of them is expected.
    output : minus the part of that noise that is linear in one direction: c_1 of the initial
        output, along the readout row.
    """
    law = _residual_law(teacher, noise, rows, output, mean)
    r, p = law.r, law.p
    w = r * r if squared else r
    points, jacobian = _contour(min(w.min(), 0.0), max(w.max(), 0.0), phi)
    m = _trace(points, w, p, phi)
    weight = p / (1 + phi * w * m[:, None])  # (C, J)

    def over_D(f: Floats) -> Complexes:
        """E[f/D] on the contour, (C, ...)."""
        return np.moveaxis(np.tensordot(f, weight, axes=(-1, 1)), -1, 0)

    # below, vectors are columns: (C, k, 1)
    r2, eye = r * r, np.eye(len(law.tau))
    c = (law.tau @ (p * r))[:, None]  # E[r tau]: h along the indices
    b2 = float((c * c).sum()) + phi * (p @ r2)
    G = np.linalg.inv(over_D(w * law.tau_tau) - points[:, None, None] * eye)
    r_tau = over_D(r * law.tau)[:, :, None]
    G_h = G @ r_tau
    G_hh = phi * m * over_D(r2) + (r_tau.swapaxes(1, 2) @ G_h)[:, 0, 0]
    e = G[:, :, :1] - G_h * (G_h[:, :1] / G_hh[:, None, None])  # the teacher's direction without h

    # the same resolvent between S and that direction, x_j left out: its parts along the indices,
    # along h, and orthogonal to both are independent; h.x = c.tau + phi r + the last
    r2_tau_tau, r3_tau = over_D(r2 * law.tau_tau), over_D(r2 * r * law.tau)[:, :, None]
    ratio = (G_h[:, 0, 0] / G_hh)[:, None, None]
    S_indices = r2_tau_tau @ e - phi * m[:, None, None] * r3_tau * ratio
    along_h = c.T @ r2_tau_tau + phi * r3_tau.swapaxes(1, 2)
    own = phi * m * (c.T @ r3_tau + phi * over_D(r2 * r2)[:, None, None])[:, 0, 0]
    h_e = -(c.T @ e)[:, 0, 0]  # h off the indices, through the resolvent; h^T R e is zero
    S_h = (along_h @ e)[:, 0, 0] - own * ratio[:, 0, 0] + h_e * over_D(r2)
    S_e = S_indices[:, 0, 0] - c[0, 0] / b2 * S_h

    trace = _gauss(points, jacobian, m, m * over_D(r2))
    return Covariance(trace, _gauss(points, jacobian, e[:, 0, 0], S_e), _along_v(law, phi))


def _along_v(law: ResidualLaw, phi: float) -> AlongStep:
    r"""M and S along v = h/b, from :math:`h\cdot x_j = c\cdot\tau_j + \phi_0r_j + G_j`.

    :math:`c = E[r\tau]`, and G is the part of h orthogonal to the indices, of variance
    :math:`\phi_0Er^2`; the term in :math:`r_j` is the sample's own share of h.
    """
    r, p = law.r, law.p
    c, energy = law.tau @ (p * r), p @ (r * r)
    c_tau_tau = np.tensordot(c, law.tau_tau, axes=1)  # (k, J): E[(c.tau) tau]
    square = c @ c_tau_tau + 2 * phi * r * (c @ law.tau) + phi**2 * r * r + phi * energy
    b2 = c @ c + phi * energy
    tau_h = c_tau_tau + phi * r * law.tau  # E[tau (h.x) | r]; square is E[(h.x)^2 | r]
    vSv = p @ (r * r * square) / b2
    drift = tau_h @ (p * r)  # M h along the indices
    drift2 = drift @ drift + phi * energy * (p @ r) ** 2
    vMv, theta = p @ (r * square) / b2, c[0] / np.sqrt(b2)
    off = np.sqrt(max(1 - theta**2, 0.0))
    vMe = (drift[0] / np.sqrt(b2) - theta * vMv) / off if off else 0.0
    return AlongStep(float(vMv), float(phi * vSv + drift2 / b2), float(vSv), float(vMe))


def _residual_law(
    teacher: Function, noise: float, rows: int, output: float, mean: float
) -> ResidualLaw:
    """Nodes of teacher(z) + noise + mean, cut at probability 1/rows.

    The noise contains -output t with a standard normal t: given the noise, t is Gaussian.
    """
    edge = largest_normal(rows)
    z, pz = _cut_gaussian(INDEX_NODES, edge)
    e, pe = _cut_gaussian(NOISE_NODES, edge) if noise else (np.zeros(1), np.ones(1))
    r = np.add.outer(teacher(z) + mean, noise * e).ravel()
    p = np.outer(pz, pe).ravel()
    z, e = np.repeat(z, len(e)), np.tile(e, len(z))
    if not output:
        return ResidualLaw(r, p, z[None], (z * z)[None, None])
    share = -output / noise
    t = share * e
    tau_tau = np.array([[z * z, z * t], [z * t, t * t + 1 - share**2]])
    return ResidualLaw(r, p, np.array([z, t]), tau_tau)


def largest_normal(count: int) -> float:
    """Where fewer than one of `count` standard normals is expected."""
    return float(np.sqrt(2) * erfcinv(1 / max(count, 20)))


def _cut_gaussian(k: int, edge: float) -> tuple[Floats, Floats]:
    """k Gauss-Legendre nodes of N(0, 1) on [-edge, edge], rescaled to unit variance."""
    t, w = np.polynomial.legendre.leggauss(k)
    x = edge * t
    p = w * np.exp(-x * x / 2)
    p /= p.sum()
    return x / np.sqrt(p @ (x * x)), p


def _contour(low: float, high: float, phi: float) -> tuple[Complexes, Complexes]:
    """Upper half of an ellipse around the spectrum, and dz/(pi i) along it."""
    reach = (1 + np.sqrt(phi)) ** 2  # |X^T X/n_0|
    centre, focus = reach * (high + low) / 2, reach * (high - low) / 2 * 1.02
    angle = (np.arange(CONTOUR_POINTS) + 0.5) * np.pi / CONTOUR_POINTS
    turn = CONTOUR_WIDTH * np.exp(1j * angle)
    points = centre + focus * (turn + 1 / turn) / 2
    speed = focus * 1j * (turn - 1 / turn) / 2
    return points, speed / (1j * CONTOUR_POINTS)


def _trace(points: Complexes, w: Floats, p: Floats, phi: float) -> Complexes:
    """Newton's method for m(z) = 1/(-z + E[w/(1 + phi w m)]), from far away: m = -1/z."""
    m = -1 / points
    for _ in range(NEWTON_LIMIT):
        inverse_D = 1 / (1 + phi * w * m[:, None])
        f = 1 + m * points - m * (inverse_D @ (w * p))
        slope = points - (inverse_D * inverse_D) @ (w * p)
        step = f / slope
        m = m - step
        if np.abs(step / m).max() < 1e-13:
            return m
    raise NotConverged(f"law of M: residual {np.abs(f).max():.1e} after {NEWTON_LIMIT} iterations")


def _gauss(points: Complexes, jacobian: Complexes, G: Complexes, S: Complexes) -> SpectralMeasure:
    r"""Gauss nodes of the measure with resolvent G, and the projection of s on its polynomials.

    :math:`\int f\,d\mu = -\frac1{2\pi i}\oint f G`, so orthogonal polynomials can be built with
    inner products taken on the contour.
    """
    total = -(G * jacobian).real.sum()
    c, cs = -G * jacobian / total, -S * jacobian / total

    def integral(f: Complexes) -> float:
        return float(f.real.sum())

    a: list[float] = []
    b: list[float] = []
    energy: list[float] = []
    previous, current = np.zeros_like(points), np.ones_like(points)
    for k in range(NODES):
        energy.append(integral(cs * current))
        a.append(integral(c * points * current**2))
        following = (points - a[-1]) * current - (b[-1] if k else 0.0) * previous
        square = integral(c * following**2)
        if k == NODES - 1 or square <= ROUNDING * float(np.abs(c * following**2).sum()):
            break
        b.append(float(np.sqrt(square)))
        previous, current = current, following / b[-1]
    nodes, vectors = np.linalg.eigh(np.diag(a) + np.diag(b, 1) + np.diag(b, -1))
    # p_k(node) = vectors[k]/vectors[0]
    s = (np.array(energy) @ vectors) / vectors[0]
    return SpectralMeasure(nodes, np.maximum(s, 0.0), vectors[0] ** 2)
