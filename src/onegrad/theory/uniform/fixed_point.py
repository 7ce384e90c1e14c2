r"""The fixed point of the theory, and its linear response.

Unknowns: :math:`\pi_k = p_k/(1+\chi_k)` on the nodes of the samples and :math:`\delta_u` on those
of the neurons. With :math:`a_u = \frac Nd w_u/\delta_u`, block profiles :math:`b_{ru}`,
:math:`\Gamma_r = \sum_u a_u b_{ru}b_{ru}^\top` and :math:`L_r = (I + \Gamma_r\Pi)^{-1}`,

.. math::
    \delta_u &= \lambda + \sum_k \pi_k C_{uk}^2
        + \sum_r \omega_r\, b_{ru}^\top \Pi L_r b_{ru} \\
    \chi_k &= \tfrac dn\Big[\sum_u a_u C_{uk}^2 + \sum_r \omega_r (L_r\Gamma_r)_{kk}\Big]

Both equations come from one potential, so the linear response is symmetric: with
:math:`T_{uk} = C^2_{uk} + \sum_r\omega_r(L_rb_{ru})_k^2` and
:math:`S_{uv} = \sum_r \omega_r(b_{ru}^\top\Pi L_rb_{rv})^2`,

.. math::
    (\mathrm{diag}(\delta/a) - S)\,y = T\,d\pi, \quad d\delta_u = y_u/a_u\,\delta_u, \quad
    d\chi = -\tfrac dn\Big[T^\top y + \sum_r\omega_r (L_r\Gamma_r)^{\circ2} d\pi\Big].

Newton's method needs nothing else. The same code serves real and complex :math:`\lambda`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from onegrad.exceptions import NotConverged
from onegrad.theory.uniform.discretisation import Equations
from onegrad.theory.uniform.free_constant import without_constant
from onegrad.theory.uniform.gauss_nodes import Numbers

FIXED_POINT_TOLERANCE = 1e-10  # of the last Newton step of log(pi) and log(delta)
PLAIN_ITERATIONS = 8  # of the equations themselves, before Newton's method
MAX_ROUNDING_STEP = 1e-6  # a Newton step this small that no longer shrinks is rounding
MAX_ITERATIONS_OF_NEWTON = 60
MAX_LOG_CHANGE = 1.0  # of pi and delta in one Newton step


@dataclass(frozen=True)
class Resolvents:
    r"""The matrices :math:`L_r = (I + \Gamma_r\Pi)^{-1}` of every block, in the smaller space.

    With more samples than neurons, as on the nodes of several indices, only

    .. math:: H_r = (\mathrm{diag}(1/a) + b_r\Pi b_r^\top)^{-1}, \qquad
        L_r = I - b_r^\top H_rb_r\Pi

    is known of them.
    """

    profile: Numbers  # (R, U, K): b
    a: Numbers  # (U,)
    pi: Numbers  # (K,)
    L: Numbers | None  # (R, K, K)
    H: Numbers | None  # (R, U, U)

    def apply(self, functions: Numbers) -> Numbers:
        """Return L_r f of functions (K, m), or of other ones in each block, (R, K, m)."""
        if self.L is not None:
            return np.asarray(self.L @ functions)
        read = self.H @ (self.profile @ (self.pi[:, None] * functions))
        return np.asarray(functions - self.profile.swapaxes(1, 2) @ read)

    def matrices(self) -> Numbers:
        """Return L_r, (R, K, K)."""
        return self.L if self.L is not None else self.apply(np.eye(len(self.pi)))

    def first(self, count: int) -> Resolvents:
        """Return those of the first blocks."""
        L, H = (None if x is None else x[:count] for x in (self.L, self.H))
        return Resolvents(self.profile[:count], self.a, self.pi, L, H)

    def of_profiles(self) -> Numbers:
        """Return L_r b_ru, (R, U, K)."""
        if self.L is not None:
            return np.asarray(self.profile @ self.L.swapaxes(1, 2))
        return np.asarray((self.H @ self.profile) / self.a[:, None])

    def of_Gamma(self) -> Numbers:
        """Return L_r Gamma_r, (R, K, K)."""
        if self.L is not None:
            return np.asarray(self.L @ gamma(self.profile, self.a))
        return np.asarray(self.profile.swapaxes(1, 2) @ (self.H @ self.profile))


def gamma(profile: Numbers, a: Numbers) -> Numbers:
    """Return sum_u a_u b_ru b_ru^T, (R, K, K)."""
    return np.asarray((profile.swapaxes(1, 2) * a) @ profile)


def resolvents(profile: Numbers, a: Numbers, pi: Numbers) -> Resolvents:
    """Return the resolvents of blocks with these profiles, (R, U, K)."""
    if profile.shape[1] < len(pi):
        H = np.linalg.inv(np.diag(1 / a) + (profile * pi) @ profile.swapaxes(1, 2))
        return Resolvents(profile, a, pi, None, H)
    L = np.linalg.inv(np.eye(len(pi)) + gamma(profile, a) * pi)
    return Resolvents(profile, a, pi, L, None)


@dataclass(frozen=True)
class State:
    """A point (pi, delta) with the matrices that every equation shares."""

    pi: Numbers  # (K,)
    delta: Numbers  # (U,)
    a: Numbers  # (U,)
    resolvents: Resolvents  # L_r; where there is an intercept, without it
    Z: Numbers  # (R, K, K): L_r Gamma_r
    Lb: Numbers  # (R, U, K): L_r b_ru


@dataclass(frozen=True)
class Response:
    """Linear response of delta and chi to pi at a point."""

    T: Numbers  # (U, K)
    stiffness: Numbers  # (U, U): diag(delta/a) - S
    Z2: Numbers  # (K, K)


@dataclass(frozen=True)
class Solution:
    """The fixed point, its response, and how it was reached."""

    lam: complex
    state: State
    response: Response
    residual: float
    iterations: int


def evaluate_state(eq: Equations, pi: Numbers, delta: Numbers) -> State:
    """Return all matrices at (pi, delta)."""
    a = eq.N / eq.d * eq.weight / delta
    blocks = resolvents(eq.profile, a, pi)
    Z, Lb = blocks.of_Gamma(), blocks.of_profiles()
    if eq.intercept:  # the last block reads functions of the index, the constant among them
        eye = np.eye(len(pi))
        L = without_constant(eye - Z[-1] * pi if blocks.L is None else blocks.L[-1], pi)
        Z[-1] = (eye - L) / pi  # L Gamma Pi = I - L
        Lb[-1] = eq.profile[-1] @ L.T
    return State(pi, delta, a, blocks, Z, Lb)


def self_energy(eq: Equations, x: State) -> Numbers:
    """Return delta - lambda as the equations give it."""
    q = ((eq.profile * x.Lb) @ x.pi).T @ eq.omega  # b_u^T Pi L b_u, summed over blocks
    return np.asarray(eq.C2 @ x.pi + q)


def chi(eq: Equations, x: State) -> Numbers:
    """Return chi_k at (pi, delta)."""
    diagonal = eq.omega @ np.diagonal(x.Z, axis1=1, axis2=2)
    return np.asarray(eq.d / eq.n * (x.a @ eq.C2 + diagonal))


def linear_response(eq: Equations, x: State) -> Response:
    """Return the matrices T, diag(delta/a) - S and Z2 of the linear response."""
    T = eq.C2 + np.tensordot(eq.omega, x.Lb**2, axes=1)
    gram = (eq.profile * x.pi) @ x.Lb.swapaxes(1, 2)  # (R, U, U): b_u^T Pi L_r b_v
    S = np.tensordot(eq.omega, gram**2, axes=1)
    Z2 = np.tensordot(eq.omega, x.Z**2, axes=1)
    return Response(T, np.diag(x.delta / x.a) - S, Z2)


def chi_response(eq: Equations, r: Response, W: Numbers) -> Numbers:
    r"""Return :math:`-\partial\chi/\partial\pi`, delta following, with W = stiffness^-1 T.

    .. math:: \tfrac dn(T^\top W + Z_2)
    """
    return np.asarray(eq.d / eq.n * (r.T.T @ W + r.Z2))


def response_gap(eq: Equations, x: State, minus_dchi: Numbers) -> float:
    r"""Return the smallest eigenvalue of the response matrix.

    .. math:: I + \frac{\partial\chi}{\partial\pi}\frac{\Pi^2}{p}

    The test error diverges where it vanishes; beyond the bulk it is one far away and zero at the
    edge.
    """
    if np.iscomplexobj(minus_dchi) or not (eq.p > 0).all():
        return float(1 - np.linalg.eigvals(minus_dchi * (x.pi**2 / eq.p)).real.max())
    root = x.pi / np.sqrt(eq.p)  # the response is symmetric
    return float(1 - np.linalg.eigvalsh(root[:, None] * minus_dchi * root)[-1])


def solve_fixed_point(
    eq: Equations,
    lam: complex,
    start: tuple[Numbers, Numbers] | None = None,
    tol: float = FIXED_POINT_TOLERANCE,
    limit: int = MAX_ITERATIONS_OF_NEWTON,
) -> Solution:
    """Solve the fixed point at ridge lam, from `start` = (pi, delta) or from scratch.

    Raises NotConverged with the residual and the number of iterations.
    See tests/theory/uniform/test_fast_solver_agrees_with_the_naive_one.py.
    """
    try:
        return _solve(eq, lam, start, tol, limit)
    except np.linalg.LinAlgError as error:
        raise NotConverged(f"uniform theory at ridge {lam:g}: {error}") from error


def _solve(
    eq: Equations, lam: complex, start: tuple[Numbers, Numbers] | None, tol: float, limit: int
) -> Solution:
    pi, delta = start if start is not None else _plain(eq, lam)
    size = np.inf
    for iteration in range(1, limit + 1):
        x = evaluate_state(eq, pi, delta)
        r = linear_response(eq, x)
        dlog_pi, dlog_delta = _newton_step(eq, lam, x, r)
        before = size
        size = max(float(np.abs(dlog_pi).max()), float(np.abs(dlog_delta).max()))
        if not np.isfinite(size):
            break
        shorten = min(1.0, MAX_LOG_CHANGE / size) if size else 1.0
        pi, delta = pi * np.exp(shorten * dlog_pi), delta * np.exp(shorten * dlog_delta)
        if size < tol or (size < MAX_ROUNDING_STEP and size > before / 2):
            return Solution(lam, x, r, size, iteration)
    raise NotConverged(
        f"uniform theory at ridge {lam:g}: Newton step {size:.1e} after {iteration} iterations "
        f"(tolerance {tol:.0e})"
    )


def _newton_step(eq: Equations, lam: complex, x: State, r: Response) -> tuple[Numbers, Numbers]:
    """Return the changes of log(pi) and log(delta)."""
    defect = x.delta - lam - self_energy(eq, x)
    solved = np.linalg.solve(r.stiffness, np.column_stack([r.T, defect]))
    W, y0 = solved[:, :-1], solved[:, -1]
    one_plus_chi = 1 + chi(eq, x)
    matrix = np.diag(one_plus_chi) - chi_response(eq, r, W) * x.pi
    defect_pi = eq.p / x.pi - one_plus_chi - eq.d / eq.n * (r.T.T @ y0)
    dlog_pi = np.linalg.solve(matrix, defect_pi)
    return dlog_pi, (W @ (x.pi * dlog_pi) - y0) / x.a


def _plain(eq: Equations, lam: complex) -> tuple[Numbers, Numbers]:
    """Iterate the equations themselves a few times, pi averaged geometrically."""
    pi = 0.5 * eq.p + 0 * lam
    delta = lam + eq.C2 @ pi
    for _ in range(PLAIN_ITERATIONS):
        x = evaluate_state(eq, pi, delta)
        delta = lam + self_energy(eq, x)
        pi = np.sqrt(pi * eq.p / (1 + chi(eq, x)))
    return pi, delta
