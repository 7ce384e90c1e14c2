r"""Training and test error at the fixed point.

Labels and neurons share three kinds of functions of a sample: of the index; of the index times
the teacher's direction off v; and of the index times the readout row :math:`W_0^\top a`, whose
part in the plane of v and the teacher the bulk must not count again. With neuron profiles
:math:`H = (A, qE, E)`, :math:`E = gB/\sqrt N`, labels :math:`Y = (Y_0, Y_1, 0)`,
:math:`\bar P = \sum_r\omega_r\Pi L_r`, :math:`\bar P_\star = \sum_r\varpi_r\Pi L_r`,

.. math::
    \mathcal P = \mathrm{diag}(\Pi,\ \bar P_\star,\ -p\,\bar P), \qquad
    \Xi = N\langle HH^\top/\delta\rangle, \qquad
    L_{tr} = Y^\top(\mathcal P^{-1} + \Xi)^{-1}Y + \sum_k\pi_kY_{2k}^2

(q is `sideways`, p `in_plane`; both vanish unless the residual is full). The test error is the
linear response of the training error to the weights of the samples:

.. math::
    L_{te} = \sum_k p_kT_k, \qquad
    \Big(I + \frac{\partial\chi}{\partial\pi}\frac{\Pi^2}{p}\Big)T
    = \frac{\partial L_{tr}}{\partial\pi}.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import block_diag

from onegrad.theory.uniform.equations import Equations
from onegrad.theory.uniform.fixed_point import Array, Solution, State


@dataclass(frozen=True)
class Losses:
    """Errors at one fixed point.

    train : ridge objective at its minimum, with its penalty; penalty : that part of it.
    test : squared error, with the label noise.
    gap : smallest eigenvalue of the response matrix; zero where the test error diverges.
    """

    train: float
    penalty: float
    test: float
    gap: float


@dataclass(frozen=True)
class Mean:
    """The part of labels and features that is a function of the index, and its fit.

    Rows: functions of the index; of it times the teacher's direction off v; times the readout row.
    """

    H: Array  # (U, 3K)
    teacher_L: Array  # (R', K, K)
    fit: Array  # (3, K): (P^-1 + Xi)^-1 Y
    rest: Array  # (3, K): P^-1 fit = Y - Xi fit


def mean_part(eq: Equations, x: State) -> Mean:
    """Fit the labels' mean by the neurons' mean at a fixed point."""
    K = len(eq.p)
    teacher_L = _teacher_L(eq, x.a, x.pi)
    bulk_L, omega = x.L[:-1], eq.omega[:-1] / eq.omega[:-1].sum()
    H = np.hstack([eq.A, eq.sideways * eq.readout_row, eq.readout_row])
    Xi = (H.T * (eq.d * x.a)) @ H  # N w/delta = d a
    P = block_diag(
        np.diag(x.pi),
        x.pi[:, None] * np.tensordot(eq.varpi, teacher_L, axes=1),
        -eq.in_plane * x.pi[:, None] * np.tensordot(omega, bulk_L, axes=1),
    )
    Y = np.concatenate([eq.Y0, eq.Y1, np.zeros(K)])
    fit = np.linalg.solve(np.eye(3 * K) + P @ Xi, P @ Y)
    return Mean(H, teacher_L, fit.reshape(3, K), (Y - Xi @ fit).reshape(3, K))


def mean_fit(eq: Equations, x: State) -> Array:
    """(3, K): mean training residual of the labels' parts (Y_0, Y_1, 0), times pi."""
    return mean_part(eq, x).fit


def losses(eq: Equations, solution: Solution) -> Losses:
    """Training and test error at a solution with real ridge."""
    x, r = solution.state, solution.response
    K = len(eq.p)
    bulk_L, omega = x.L[:-1], eq.omega[:-1] / eq.omega[:-1].sum()
    mean = mean_part(eq, x)
    train = float(eq.Y0 @ mean.fit[0] + eq.Y1 @ mean.fit[1] + x.pi @ eq.Y2)

    # d(train) = rest^T dP rest + fit^T dXi fit
    along_teacher, along_row = mean.teacher_L @ mean.rest[1], bulk_L @ mean.rest[2]
    at_fixed_delta = (
        eq.Y2
        + mean.rest[0] ** 2
        + eq.varpi @ along_teacher**2
        - eq.in_plane * (omega @ along_row**2)
    )
    by_delta = (
        eq.d * (mean.H @ mean.fit.ravel()) ** 2
        + eq.varpi @ _read(eq.teacher_profile, x.pi * along_teacher) ** 2
        - eq.in_plane * (omega @ _read(eq.profile[:-1], x.pi * along_row) ** 2)
    )
    solved = np.linalg.solve(r.stiffness, np.column_stack([r.T, np.ones(len(x.delta))]))
    W, by_ridge = solved[:, :-1], solved[:, -1]  # d(delta) a/delta by d(pi), by d(lambda)
    c, share = eq.d / eq.n, x.pi**2 / eq.p
    matrix = np.eye(K) - c * (r.T.T @ W + r.Z2) * share
    T = np.linalg.solve(matrix, at_fixed_delta + W.T @ by_delta)
    norm = by_delta @ by_ridge + c * (T * share) @ (
        r.T.T @ by_ridge
    )  # |a_hat|^2 = d(train)/d(lambda)
    return Losses(
        train=train,
        penalty=float(np.real(solution.lam) * norm),
        test=float(eq.p @ T),
        gap=float(np.linalg.eigvals(matrix).real.min()),
    )


def _read(profile: Array, functions: Array) -> Array:
    """(R, U): what neurons read of one function per block."""
    return (profile @ functions[:, :, None])[:, :, 0]


def _teacher_L(eq: Equations, a: Array, pi: Array) -> Array:
    """(I + Gamma_r Pi)^-1 on the nodes of the teacher's direction off v."""
    Gamma = (eq.teacher_profile.swapaxes(1, 2) * a) @ eq.teacher_profile
    return np.linalg.inv(np.eye(len(pi)) + Gamma * pi)
