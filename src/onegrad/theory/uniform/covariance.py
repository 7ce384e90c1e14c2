r"""Spectral measures of M and S, by which one step changes the covariance of the bulk weights.

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

The direction in which M moves v is one more beside the teacher's. A neuron's weights have the
covariance :math:`(1 + \epsilon_2M)^2/d`, so with its weight along v go weights along
:math:`u = P(pM + qM^2)v`, P the projector off v. With :math:`R_\perp` the resolvent of PMP and
:math:`h = bv`, everything needed of u is known:

.. math::
    \beta^\top R_\perp Mv &= (\beta\cdot h - G_{\beta h}b^2/G_{hh})/b,\qquad
    v^\top MR_\perp Mv = v^\top Mv - \zeta - b^2/G_{hh} \\
    R_\perp u &= (p + q(\zeta + v^\top Mv))\,R_\perp Mv + \text{polynomial},

and polynomials in :math:`\zeta` vanish on the contour.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from onegrad.arrays import Floats
from onegrad.exceptions import NotConverged
from onegrad.theory.uniform.gauss_nodes import (
    Complexes,
    SpectralMeasure,
    contour,
    gauss_nodes,
    spectrum_bounds,
    symmetric_matrix_power,
)
from onegrad.theory.uniform.laws.labels import FREE_OVERLAP, LabelLaw
from onegrad.theory.uniform.residuals import ResidualLaw, RowConstraint, residual_law

MAX_NEWTON_STEPS = 200
CONTOUR_SCALES = (16.0, 8.0, 4.0, 2.8, 2.0, 1.4, 1.0)  # of the contour, from far away
MIN_SQUARED_LENGTH = 1e-12  # of u off the teacher's directions


@dataclass(frozen=True)
class SquareResolvent:
    """The matrix T = M M^T beside the resolvent of the symmetric part of M."""

    # T, less what goes through v, in front of R_perp between the teacher's directions
    teacher: Complexes
    Tv_to_teacher: Complexes  # (C, t, 1): of T v, to the teacher's directions
    Tv_to_Mv: Complexes  # (C, 1, 1): of T v, to Mv
    energy: Complexes  # (C, 1, 1): T for a direction that is independent of it


@dataclass(frozen=True)
class OrthogonalResolvent:
    """Resolvent of PMP on a contour, (C, ...)."""

    points: Complexes
    jacobian: Complexes
    teacher: Complexes  # (C, t, t): between the teacher's directions
    S: Complexes  # (C, t, t): the same with S in front of it
    Mv_to_teacher: Complexes  # (C, t, 1)
    Mv_to_Mv: Complexes  # (C, 1, 1)
    energy: Complexes  # (C, 1, 1): E[r^2/D], which is S for a direction that is independent of it
    square: SquareResolvent | None = None  # of a matrix that is not symmetric

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


@dataclass(frozen=True)
class RowDirection:
    """A direction v = c.indices + the part of X^T a/n_0 off them, for numbers a of the rows."""

    c: Floats  # (k,) coefficients on the indices of a law of residuals
    a: Floats  # (J,) numbers of the law's nodes


@dataclass(frozen=True)
class AlongStep:
    """M and S along the learned direction v."""

    M_vv: float  # v^T M v
    Mv_squared: float  # |M v|^2
    S_vv: float  # v^T S v
    M_ve: Floats  # (t,) v^T M e for the teacher's orthonormal directions e off v
    M2_ve: Floats  # (t,) v^T M^2 e; left out (zero) unless all of Mv lies in those directions


@dataclass(frozen=True)
class StepCovariance:
    """Spectral measures of the matrix M of one step."""

    trace: SpectralMeasure  # of M on average
    teacher: SpectralMeasure  # seen from the teacher's directions off v
    along: AlongStep  # M and S along v
    off: OrthogonalResolvent  # the resolvent that `teacher` comes from

    def with_drift(self, p: float, q: float) -> StepCovariance:
        """Return the same with (p M + q M^2) v, off v, as the last of the teacher's directions."""
        teacher, M_ve, M2_ve = add_drift_direction(self.off, p, q, self.along.M_vv)
        return replace(self, teacher=teacher, along=replace(self.along, M_ve=M_ve, M2_ve=M2_ve))

    def shifted(self, by: float) -> StepCovariance:
        """Return the same for M + by I."""
        trace, teacher = (replace(x, mu=x.mu + by) for x in (self.trace, self.teacher))
        v = self.along
        along = replace(
            v,
            M_vv=v.M_vv + by,
            Mv_squared=v.Mv_squared + 2 * by * v.M_vv + by**2,
            M2_ve=v.M2_ve + 2 * by * v.M_ve,
        )
        return replace(self, trace=trace, teacher=teacher, along=along)


@lru_cache(maxsize=128)
def step_covariance(
    labels: LabelLaw,
    noise: float,  # deviation of the residual less the teacher: the labels' own, and Gaussian parts
    phi: float,  # d / rows
    rows: int,  # of the step; the law of the labels is cut where fewer than one of them is expected
    squared: bool,  # nodes of S itself instead of M
    # minus the part of the noise that is linear in one direction: c_1 of the initial output, along
    # the readout row
    output: float = 0.0,
    constant: float = 0.0,  # mean of the residual beyond that of the labels
) -> StepCovariance:
    """Return the nodes of M for residuals that are labels, or labels and more."""
    law = residual_law(labels, noise, rows, output, constant)
    if not labels.fit.least_squares or output:
        return covariance_of_law(law, labels.indices, phi, squared)
    # X^T r = 0: v is a direction near the teacher's, and the rest of it one of noise
    law = _with_noise_index(law)
    c = np.append(FREE_OVERLAP * labels.fit.step_direction, np.sqrt(1 - FREE_OVERLAP**2))
    free = RowDirection(c, np.zeros(len(law.r)))
    return covariance_of_law(law, labels.indices, phi, squared, free)


def _with_noise_index(law: ResidualLaw) -> ResidualLaw:
    """Return a law with one more index, of which the residuals know nothing."""
    k, J = law.tau.shape
    tau_tau = np.zeros((k + 1, k + 1, J))
    tau_tau[:k, :k], tau_tau[k, k] = law.tau_tau, 1.0
    q = law.constraint
    constraint = None if q is None else RowConstraint(q.q, q.q_q, np.pad(q.q_tau, ((0, 1), (0, 0))))
    return ResidualLaw(law.r, law.p, np.pad(law.tau, ((0, 1), (0, 0))), tau_tau, constraint)


def covariance_of_law(
    law: ResidualLaw, t: int, phi: float, squared: bool, direction: RowDirection | None = None
) -> StepCovariance:
    r"""Return the nodes of M for a law of residuals.

    Where rows satisfy :math:`X^\top q = 0` off the indices, with :math:`\langle f\rangle =
    E[f/D]`,

    .. math::
        E[w\tau\tau^\top/D] &\to \langle w\tau\tau^\top\rangle + \phi_0m
            \langle wq\tau\rangle\langle wq\tau\rangle^\top/\langle q^2\rangle \\
        E[r\tau/D] &\to \langle r\tau\rangle + \phi_0m\langle rq\rangle
            \langle wq\tau\rangle/\langle q^2\rangle,\qquad
        E[r^2/D] \to \langle r^2\rangle - \langle rq\rangle^2/\langle q^2\rangle

    (the last in :math:`G_{hh}` only).

    t : number of indices of the labels, the first of the law.
    direction : v where it is not the direction of X^T r/n_0.
    """
    r, p = law.r, law.p
    w = r * r if squared else r
    points, jacobian = contour(*spectrum_bounds(w, p, law.tau_tau, phi))
    m = _trace(points, w, p, phi)
    weight = p / (1 + phi * w * m[:, None])  # (C, J)

    def mean(f: Floats) -> Complexes:
        """Return E[f/D] on the contour, (C, ...)."""
        return np.moveaxis(np.tensordot(f, weight, axes=(-1, 1)), -1, 0)

    # below, vectors are columns (C, k, 1); e has one for each of the labels' t directions
    r2, eye, wide = r * r, np.eye(len(law.tau)), np.s_[:, None, None]
    w_tau_tau = mean(w * law.tau_tau)
    if direction is None:
        c, a = (law.tau @ (p * r))[:, None], r  # E[r tau]: h along the indices
        r_tau = mean(r * law.tau)[:, :, None]
    else:
        c, a = direction.c[:, None], direction.a
        r_tau = c - phi * m[wide] * mean(a * w * law.tau)[:, :, None]
    free = mean(a * a)
    if law.constraint is not None:
        q = law.constraint
        q_q, a_q, wq_tau = mean(q.q_q), mean(a * q.q), mean(w * q.q_tau)[:, :, None]
        shared = (phi * m / q_q)[wide] * wq_tau
        w_tau_tau = w_tau_tau + shared * wq_tau.swapaxes(1, 2)
        r_tau = r_tau + a_q[wide] * shared
        free = free - a_q**2 / q_q
    b2, along = _along_v(law, phi, t, c[:, 0], a)
    G = np.linalg.inv(w_tau_tau - points[wide] * eye)
    G_h = G @ r_tau
    G_hh = phi * m * free + (r_tau.swapaxes(1, 2) @ G_h)[:, 0, 0]
    ratio = G_h[:, :t].swapaxes(1, 2) / G_hh[wide]  # (C, 1, t)
    e = G[:, :, :t] - G_h * ratio  # the labels' directions without h

    # the same resolvent between S and those directions, x_j left out: its parts along the indices,
    # along h, and orthogonal to both are independent; h.x = c.tau + phi a + the last
    r2_tau_tau, r3_tau = mean(r2 * law.tau_tau), mean(r2 * a * law.tau)[:, :, None]
    S_indices = r2_tau_tau @ e - phi * m[wide] * r3_tau * ratio
    along_h = c.T @ r2_tau_tau + phi * r3_tau.swapaxes(1, 2)
    own = phi * m[wide] * (c.T @ r3_tau + phi * mean(r2 * a * a)[wide])
    rest = mean(r2)[wide] * (c.T @ e)  # h off the indices, through the resolvent; hRe = 0
    S_h = along_h @ e - own * ratio - rest
    S_e = S_indices[:, :t] - c[:t] / b2 * S_h

    trace = gauss_nodes(points, jacobian, m[wide], (m * mean(r2))[wide])
    b = np.sqrt(b2)
    Mv_to_teacher = c[:t] / b - b * ratio.swapaxes(1, 2)
    Mv_to_Mv = (along.M_vv - points - b2 / G_hh)[wide]
    off = OrthogonalResolvent(
        points, jacobian, e[:, :t], S_e, Mv_to_teacher, Mv_to_Mv, energy=mean(r2)[wide]
    )
    return StepCovariance(trace, gauss_nodes(points, jacobian, off.teacher, S_e), along, off)


def _along_v(
    law: ResidualLaw, phi: float, indices: int, c: Floats, a: Floats
) -> tuple[float, AlongStep]:
    r"""Return b^2, and M and S along v = h/b.

    They follow from :math:`h\cdot x_j = c\cdot\tau_j + \phi_0a_j + G_j`. c and X^T a/n_0 are h
    along the indices and off them: for the step itself :math:`c = E[r\tau]` and a = r. G is the
    part of h orthogonal to the indices, of variance :math:`\phi_0Ea^2`; the term in :math:`a_j` is
    the part of h from the sample itself. Where :math:`X^\top q = 0`, a counts only off q.
    """
    r, p = law.r, law.p
    a_a, a_tau = a * a, a * law.tau
    if law.constraint is not None:
        q = law.constraint
        share = (p @ (a * q.q)) / (p @ q.q_q)
        a_a = a_a - 2 * share * a * q.q + share**2 * q.q_q
        a_tau = a_tau - share * q.q_tau
        a_q = a * q.q - share * q.q_q
    energy = p @ a_a
    c_tau_tau = np.tensordot(c, law.tau_tau, axes=1)  # (k, J): E[(c.tau) tau]
    square = c @ c_tau_tau + 2 * phi * (c @ a_tau) + phi**2 * a_a + phi * energy  # E[(h.x)^2 | r]
    b2 = c @ c + phi * energy
    S_vv = p @ (r * r * square) / b2
    drift = (c_tau_tau + phi * a_tau) @ (p * r)  # E[r x (h.x)] along the indices
    drift2 = drift @ drift + phi * energy * (p @ r) ** 2
    M_vv = p @ (r * square) / b2
    overlaps = c[:indices] / np.sqrt(b2)  # of v with the labels' directions
    root = symmetric_matrix_power(np.eye(indices) - np.outer(overlaps, overlaps), -0.5)
    M_ve = root @ (drift[:indices] / np.sqrt(b2) - overlaps * M_vv)
    Mv_squared = float(phi * S_vv + drift2 / b2)
    if law.constraint is not None:  # X^T (r h.x) has nothing along q off the indices
        projected = (p @ (r * (c @ q.q_tau + phi * a_q))) ** 2 / (p @ q.q_q)
        Mv_squared = max(Mv_squared - float(phi * projected / b2), float(M_vv) ** 2)
    return float(b2), AlongStep(float(M_vv), Mv_squared, float(S_vv), M_ve, np.zeros(indices))


def _trace(points: Complexes, w: Floats, p: Floats, phi: float) -> Complexes:
    """Solve m(z) = 1/(-z + E[w/(1 + phi w m)]) for the root with a positive imaginary part."""
    m = _newton(points, -1 / points, w, p, phi)
    if not (m.imag > 0).all():  # come in from far away, where m = -1/z
        m = -1 / (CONTOUR_SCALES[0] * points)
        for scale in CONTOUR_SCALES:
            m = _newton(scale * points, m, w, p, phi)
    return m


def _newton(points: Complexes, m: Complexes, w: Floats, p: Floats, phi: float) -> Complexes:
    """Solve the equation of `_trace` from a start m by Newton's method."""
    for _ in range(MAX_NEWTON_STEPS):
        inverse_D = 1 / (1 + phi * w * m[:, None])
        f = 1 + m * points - m * (inverse_D @ (w * p))
        slope = points - (inverse_D * inverse_D) @ (w * p)
        step = f / slope
        m = m - step
        if np.abs(step / m).max() < 1e-13:
            return m
    raise NotConverged(
        f"law of M: residual {np.abs(f).max():.1e} after {MAX_NEWTON_STEPS} Newton steps"
    )
