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

Newton's method needs nothing else. The same code serves real and complex :math:`\lambda`; all
matrices of blocks are those of `function_space`, whose size is that of the space which the profiles
span and not the number of nodes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import lu_factor, lu_solve

from onegrad.arrays import Floats
from onegrad.exceptions import NotConverged
from onegrad.theory.uniform.discretisation import Equations
from onegrad.theory.uniform.gauss_nodes import Numbers

FIXED_POINT_TOLERANCE = 1e-10  # of the last Newton step of log(pi) and log(delta)
PLAIN_ITERATIONS = 8  # of the equations themselves, before Newton's method
MAX_ROUNDING_STEP = 1e-6  # a Newton step this small that no longer shrinks is rounding
MAX_ITERATIONS_OF_NEWTON = 60
MAX_LOG_CHANGE = 1.0  # of pi and delta in one Newton step
MAX_STEP_OF_OLD_TANGENT = 0.1  # a Newton step after which the same linear response is used again
OLD_TANGENT_GAIN = 0.2  # factor by which it has to shorten the next step
OPERATIONS_OF_A_VALUE = 40  # of the activation, over those of Newton's method: tanh 20, erf 80
CACHED_ENTRIES = 1 << 18  # of matrices of blocks that are formed at once


@dataclass(frozen=True)
class Resolvents:
    r"""The matrices :math:`L_r = (I + \Gamma_r\Pi)^{-1}` of every block, in coordinates.

    .. math:: L_r = I - \phi X_r\phi^\top\Pi, \qquad L_r\Gamma_r = \phi X_r\phi^\top, \qquad
        L_rb_{ru} = \phi Y_r\beta_{ru}, \quad Y_r = I - X_rW = (I + G_rW)^{-1}
    """

    functions: Floats  # phi, (K, F)
    pi: Numbers  # (K,)
    W: Numbers  # (F, F)
    X: Numbers  # (R, F, F)
    Y: Numbers  # (R, F, F)

    def apply(self, functions: Numbers) -> Numbers:
        """Return L_r f of functions (K, m), or of other ones in each block, (R, K, m)."""
        read = self.functions.T @ (self.pi[:, None] * functions)
        return functions - self.functions @ (self.X @ read)

    def matrices(self) -> Numbers:
        """Return L_r, (R, K, K)."""
        return self.apply(np.eye(len(self.pi)))

    def first(self, count: int) -> Resolvents:
        """Return those of the first blocks."""
        return replace(self, X=self.X[:count], Y=self.Y[:count])


def resolvents(functions: Floats, coordinates: Numbers, a: Numbers, pi: Numbers) -> Resolvents:
    """Return the resolvents of blocks whose profiles have these coordinates, (R, U, F)."""
    W = functions.T @ (pi[:, None] * functions)
    G = (coordinates.swapaxes(1, 2) * a) @ coordinates
    Y = np.linalg.inv(np.eye(len(W)) + G @ W)
    return Resolvents(functions, pi, W, Y @ G, Y)


def without_constant(X: Numbers, W: Numbers, e: Numbers) -> tuple[Numbers, Numbers]:
    r"""Return X and Y of `Resolvents` with the constant, of coordinates e, taken out.

    A constant that ridge fits without a penalty is one more neuron, of constant output, whose
    penalty goes to zero: in the space of functions of the index :math:`\Xi \to \Xi + \tau
    ee^\top`, e the constant function, :math:`\tau\to\infty`. With :math:`R = (\mathcal P^{-1} +
    \Xi)^{-1}`,

    .. math::
        R \to R - \frac{Re\,e^\top R}{e^\top Re}, \qquad
        R\,Y \to R\,(Y - ce), \quad c = \frac{e^\top RY}{e^\top Re}

    and :math:`L = \Pi^{-1}R` becomes :math:`L - Le\,e^\top\Pi L/e^\top\Pi Le`. c is the constant
    that is fitted. Nothing depends on the means of the features any more, since the new R does not
    see e. The minimum over c is stationary: its response to the weights of the samples is that at
    fixed c.
    """
    column = e - X @ (W @ e)  # L e; X and W are symmetric
    X = X + np.outer(column, column) / (e @ W @ column)
    return X, np.eye(len(e)) - X @ W


@dataclass(frozen=True)
class State:
    """A point (pi, delta) with the matrices that every equation shares."""

    pi: Numbers  # (K,)
    delta: Numbers  # (U,)
    a: Numbers  # (U,)
    resolvents: Resolvents  # the last one without the constant where there is an intercept
    Lb: Numbers  # (R, U, F): coordinates of L_r b_ru


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
    blocks = resolvents(eq.space.functions, eq.coordinates, a, pi)
    if eq.intercept:  # the last block reads functions of the index, the constant among them
        blocks.X[-1], blocks.Y[-1] = without_constant(
            blocks.X[-1], blocks.W, eq.space.coordinates(np.ones(len(pi)))
        )
    return State(pi, delta, a, blocks, eq.coordinates @ blocks.Y.swapaxes(1, 2))


def self_energy(eq: Equations, x: State) -> Numbers:
    """Return delta - lambda as the equations give it."""
    q = ((eq.coordinates @ x.resolvents.W) * x.Lb).sum(2)  # b_u^T Pi L_r b_u
    return eq.C2 @ x.pi + eq.omega @ q


def chi(eq: Equations, x: State) -> Numbers:
    """Return chi_k at (pi, delta)."""
    functions, mean = eq.space.functions, np.tensordot(eq.omega, x.resolvents.X, axes=1)
    return eq.d / eq.n * (x.a @ eq.C2 + ((functions @ mean) * functions).sum(1))


def linear_response(eq: Equations, x: State) -> Response:
    """Return the matrices T, diag(delta/a) - S and Z2 of the linear response."""
    functions, blocks = eq.space.functions, x.resolvents
    T = eq.C2 + _mean_square(eq.omega, x.Lb, functions)
    S = _mean_square(eq.omega, eq.coordinates @ blocks.W, x.Lb)  # of b_u^T Pi L_r b_v
    Z2 = _mean_square(eq.omega, functions @ blocks.X, functions)  # of L_r Gamma_r
    return Response(T, np.diag(x.delta / x.a) - S, Z2)


def _mean_square(omega: Floats, left: Numbers, right: Numbers) -> Numbers:
    """Return the squares of left_r right_r^T, entry by entry, summed with weights omega.

    left : (R, m, F); right : (R, k, F), or (k, F) for all.
    """
    right = np.broadcast_to(right, (len(left), *right.shape[-2:])).swapaxes(1, 2)
    together = max(CACHED_ENTRIES // (left.shape[1] * right.shape[2]), 1)  # what caches hold
    total = np.zeros((left.shape[1], right.shape[2]), left.dtype)
    for start in range(0, len(left), together):
        part = slice(start, start + together)
        product = left[part] @ right[part]
        total += np.tensordot(omega[part], np.square(product, out=product), axes=1)
    return total


def chi_response(eq: Equations, r: Response, W: Numbers) -> Numbers:
    r"""Return :math:`-\partial\chi/\partial\pi`, delta following, with W = stiffness^-1 T.

    .. math:: \tfrac dn(T^\top W + Z_2)
    """
    return eq.d / eq.n * (r.T.T @ W + r.Z2)


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


def operations(eq: Equations) -> float:
    """Return about how many multiplications the equations and one Newton step take.

    A solution takes a fifth of a second for 1e9 of them.
    """
    K, U, R, F = len(eq.p), len(eq.weight), len(eq.omega), eq.space.functions.shape[1]
    blocks = R * F * (F * (2 * F + 3 * U + K) + U * U + U * K + K * K)
    response = (U**3 + K**3) / 3 + U * K * (U + K)
    return float(blocks + response + OPERATIONS_OF_A_VALUE * eq.values)


def solve_fixed_point(
    eq: Equations,
    lam: complex,
    start: tuple[Numbers, Numbers] | None = None,
    tol: float = FIXED_POINT_TOLERANCE,
    limit: int = MAX_ITERATIONS_OF_NEWTON,
    plain: int = 0,  # iterations of the equations themselves between `start` and Newton's method
) -> Solution:
    """Solve the fixed point at ridge lam, from `start` = (pi, delta) or from scratch.

    Raises NotConverged with the residual and the number of iterations.
    See tests/theory/uniform/test_fast_solver_agrees_with_the_naive_one.py.
    """
    try:
        if start is None:
            pi = 0.5 * eq.p + 0 * lam
            start, plain = (pi, lam + eq.C2 @ pi), PLAIN_ITERATIONS
        pi, delta = start
        return _newton(eq, lam, _plain(eq, lam, pi, delta, plain), tol, limit)
    except (np.linalg.LinAlgError, ValueError) as error:  # singular, or not finite
        raise NotConverged(f"uniform theory at ridge {lam:g}: {error}") from error


def _newton(
    eq: Equations, lam: complex, start: tuple[Numbers, Numbers], tol: float, limit: int
) -> Solution:
    """Solve by Newton's method; near the end the same linear response serves several steps."""
    pi, delta = start
    tangent: NewtonTangent | None = None
    size = np.inf
    for iteration in range(1, limit + 1):
        x = evaluate_state(eq, pi, delta)
        exact = tangent is None
        if tangent is None:
            tangent = _newton_tangent(eq, x)
        dlog_pi, dlog_delta = tangent.newton_step(eq, lam, x)
        before = size
        size = max(float(np.abs(dlog_pi).max()), float(np.abs(dlog_delta).max()))
        if not np.isfinite(size):
            break
        if size < tol or (exact and size < MAX_ROUNDING_STEP and size > before / 2):
            response = tangent.response if exact else linear_response(eq, x)
            return Solution(lam, x, response, size, iteration)
        shorten = min(1.0, MAX_LOG_CHANGE / size)
        pi, delta = pi * np.exp(shorten * dlog_pi), delta * np.exp(shorten * dlog_delta)
        if size > MAX_STEP_OF_OLD_TANGENT or not (exact or size < OLD_TANGENT_GAIN * before):
            tangent = None
    raise NotConverged(
        f"uniform theory at ridge {lam:g}: Newton step {size:.1e} after {iteration} iterations "
        f"(tolerance {tol:.0e})"
    )


@dataclass(frozen=True)
class NewtonTangent:
    """The linear response at a point, factorised: Newton's method may use it at points nearby."""

    response: Response
    W: Numbers  # stiffness^-1 T
    stiffness: tuple[Numbers, Numbers]  # factors of the stiffness
    matrix: tuple[Numbers, Numbers]  # factors of what multiplies the change of log(pi)

    def newton_step(self, eq: Equations, lam: complex, x: State) -> tuple[Numbers, Numbers]:
        """Return the changes of log(pi) and log(delta)."""
        y0 = lu_solve(self.stiffness, x.delta - lam - self_energy(eq, x), check_finite=False)
        defect_pi = eq.p / x.pi - 1 - chi(eq, x) - eq.d / eq.n * (self.response.T.T @ y0)
        dlog_pi = lu_solve(self.matrix, defect_pi, check_finite=False)
        return dlog_pi, (self.W @ (x.pi * dlog_pi) - y0) / x.a


def _newton_tangent(eq: Equations, x: State) -> NewtonTangent:
    """Return the linear response at a point."""
    r = linear_response(eq, x)
    stiffness = lu_factor(r.stiffness)
    W = lu_solve(stiffness, r.T, check_finite=False)
    matrix = np.diag(1 + chi(eq, x)) - chi_response(eq, r, W) * x.pi
    return NewtonTangent(r, W, stiffness, lu_factor(matrix))


def _plain(
    eq: Equations, lam: complex, pi: Numbers, delta: Numbers, iterations: int
) -> tuple[Numbers, Numbers]:
    """Iterate the equations themselves a few times, pi averaged geometrically."""
    for _ in range(iterations):
        x = evaluate_state(eq, pi, delta)
        delta = lam + self_energy(eq, x)
        pi = np.sqrt(pi * eq.p / (1 + chi(eq, x)))
    return pi, delta
