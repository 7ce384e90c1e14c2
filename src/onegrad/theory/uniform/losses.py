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
from onegrad.theory.uniform.fixed_point import Numbers, Solution, State, chi_response, gap


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
    """The part of labels and features that is a function of the index.

    In three parts: functions of the index; of it times the teacher's direction off v; times the
    readout row.
    """

    H: Numbers  # (U, 3K)
    teacher_L: Numbers  # (R', K, K)
    P: Numbers  # (3K, 3K)
    Xi: Numbers  # (3K, 3K)


def mean_part(eq: Equations, x: State) -> Mean:
    """How neurons read functions of the index, at a fixed point."""
    Gamma = (eq.teacher_profile.swapaxes(1, 2) * x.a) @ eq.teacher_profile
    teacher_L = np.linalg.inv(np.eye(len(x.pi)) + Gamma * x.pi)
    H = np.hstack([eq.A, eq.along_teacher, eq.readout_row])
    P = block_diag(
        np.diag(x.pi),
        x.pi[:, None] * np.tensordot(eq.varpi, teacher_L, axes=1),
        -eq.in_plane * x.pi[:, None] * np.tensordot(_shares(eq), x.L[: eq.bulk], axes=1),
    )
    return Mean(H, teacher_L, P, (H.T * (eq.d * x.a)) @ H)  # N w/delta = d a


def fit_labels(eq: Equations, mean: Mean) -> tuple[Numbers, Numbers]:
    """(P^-1 + Xi)^-1 Y, and P^-1 of it, each (3, K).

    The first is the mean training residual of the labels' parts Y = (Y_0, Y_1, 0), times pi.
    """
    K = len(eq.p)
    Y = np.concatenate([eq.Y0, eq.Y1, np.zeros(K)])
    fit = np.linalg.solve(np.eye(3 * K) + mean.P @ mean.Xi, mean.P @ Y)
    return fit.reshape(3, K), (Y - mean.Xi @ fit).reshape(3, K)


def losses(eq: Equations, solution: Solution) -> Losses:
    """Training and test error at a solution with real ridge."""
    x, r = solution.state, solution.response
    mean = mean_part(eq, x)
    fit, rest = fit_labels(eq, mean)
    train = float(eq.Y0 @ fit[0] + eq.Y1 @ fit[1] + x.pi @ eq.Y2)

    # d(train) = rest^T dP rest + fit^T dXi fit
    omega = _shares(eq)
    along_teacher, along_row = mean.teacher_L @ rest[1], x.L[: eq.bulk] @ rest[2]
    at_fixed_delta = (
        eq.Y2 + rest[0] ** 2 + eq.varpi @ along_teacher**2 - eq.in_plane * (omega @ along_row**2)
    )
    by_delta = (
        eq.d * (mean.H @ fit.ravel()) ** 2
        + eq.varpi @ _read(eq.teacher_profile, x.pi * along_teacher) ** 2
        - eq.in_plane * (omega @ _read(eq.profile[: eq.bulk], x.pi * along_row) ** 2)
    )
    solved = np.linalg.solve(r.stiffness, np.column_stack([r.T, np.ones(len(x.delta))]))
    W, by_ridge = solved[:, :-1], solved[:, -1]  # d(delta) a/delta by d(pi), by d(lambda)
    minus_dchi, share = chi_response(eq, r, W), x.pi**2 / eq.p
    T = np.linalg.solve(np.eye(len(share)) - minus_dchi * share, at_fixed_delta + W.T @ by_delta)
    # |a_hat|^2 = d(train)/d(lambda)
    norm = by_delta @ by_ridge + eq.d / eq.n * (T * share) @ (r.T.T @ by_ridge)
    return Losses(
        train=train,
        penalty=float(np.real(solution.lam) * norm),
        test=float(eq.p @ T),
        gap=gap(eq, x, minus_dchi),
    )


def _shares(eq: Equations) -> Numbers:
    """Of the bulk's blocks in the bulk."""
    omega = eq.omega[: eq.bulk]
    return np.asarray(omega / omega.sum())


def _read(profile: Numbers, functions: Numbers) -> Numbers:
    """(R, U): what neurons read of one function per block."""
    return (profile @ functions[:, :, None])[:, :, 0]
