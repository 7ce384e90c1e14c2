r"""Training and test error of ridge at the fixed point.

Labels and neurons share functions of a sample: of the index; of the index times the readout row
:math:`W_0^\top a`, whose part in the plane of v and the teacher the bulk must not count again;
times the teacher's directions off v; times quadratic functions of those (`quadratic_part`). With
neuron profiles :math:`H = (A, E, e, q)`, :math:`E = gB/\sqrt N`, e how neurons read the teacher's
directions on average (`aside`), labels :math:`Y = (Y_0, 0, Y_1, Y_q)`,
:math:`\bar P = \sum_rp_r\Pi L_r`,
:math:`\bar P_\star = \sum_r\varpi_r\varpi_r^\top\otimes\Pi L_r`,

.. math::
    \mathcal P = \mathrm{diag}(\Pi,\ -\bar P,\ \bar P_\star,\ \Pi), \qquad
    \Xi = N\langle HH^\top/\delta\rangle, \qquad
    L_{tr} = Y^\top(\mathcal P^{-1} + \Xi)^{-1}Y + \sum_k\pi_kY_{2k}^2

(:math:`p_r`, `row_share`, vanishes unless the residual is full; the average in :math:`\Xi` is also
over the random weights in q). The test error is the linear response of the training error to the
weights of the samples:

.. math::
    L_{te} = \sum_k p_kT_k, \qquad
    \Big(I + \frac{\partial\chi}{\partial\pi}\frac{\Pi^2}{p}\Big)T
    = \frac{\partial L_{tr}}{\partial\pi}.
"""

from dataclasses import astuple, dataclass, replace
from functools import cached_property

import numpy as np

from onegrad.theory.uniform import fixed_point
from onegrad.theory.uniform.discretisation import Equations
from onegrad.theory.uniform.gauss_nodes import Numbers


@dataclass(frozen=True)
class RidgeErrors:
    """Training and test error of ridge at one fixed point."""

    train: float  # ridge objective at its minimum, with its penalty
    penalty: float  # at that minimum
    test: float  # squared error, with the label noise
    gap: float  # smallest eigenvalue of the response matrix; zero where the test error diverges


@dataclass(frozen=True)
class MeanPart:
    """The part of labels and features that is a function of the index.

    It has 2 + t + Q blocks: functions of the index; those times the readout row; times each of
    the teacher's t directions off v; times each of Q quadratic functions of those.
    """

    eq: Equations
    state: fixed_point.State
    H: Numbers  # (U, (2 + t + Q) K)
    teacher: fixed_point.Resolvents  # of the blocks seen from the teacher's directions
    bulk: fixed_point.Resolvents

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """The numbers t, Q, of samples K, and of all blocks."""
        t, Q = len(self.eq.aside), len(self.eq.squares.Y)
        return t, Q, len(self.state.pi), 2 + t + Q

    @cached_property
    def P(self) -> Numbers:
        """The matrix P, ((2 + t + Q) K, (2 + t + Q) K)."""
        eq, pi = self.eq, self.state.pi
        t, Q, K, _ = self.shape
        products = eq.varpi[:, :, None] * eq.varpi[:, None, :]  # (R', t, t)
        along_teacher = np.tensordot(products, pi[:, None] * self.teacher.matrices(), axes=(0, 0))
        blocks, node = np.zeros((2 + t + Q, K, 2 + t + Q, K), pi.dtype), np.arange(K)
        for i in (0, *range(2 + t, 2 + t + Q)):
            blocks[i, node, i, node] = pi
        bulk = np.tensordot(eq.row_share, self.bulk.matrices(), axes=1)
        blocks[1, :, 1] = -pi[:, None] * bulk
        blocks[2 : 2 + t, :, 2 : 2 + t] = along_teacher.swapaxes(1, 2)
        return blocks.reshape((2 + t + Q) * K, (2 + t + Q) * K)

    @cached_property
    def Xi(self) -> Numbers:
        """The matrix Xi, of the shape of P."""
        H, a, squares = self.H, self.state.a, self.eq.squares
        _, Q, K, _ = self.shape
        Xi = (H.T * (self.eq.d * a)) @ H  # N w/delta = d a
        bend = squares.bend
        fluctuation = np.tensordot(
            squares.fluctuation * (self.eq.d * a)[:, None, None],
            bend[:, :, None] * bend[:, None, :],  # (U, K, K)
            axes=(0, 0),
        )
        Xi[-Q * K :, -Q * K :] += fluctuation.swapaxes(1, 2).reshape(Q * K, Q * K)
        return Xi

    @cached_property
    def Xi_coordinates(self) -> Numbers:
        """Xi in the coordinates of the functions that neurons read, ((2 + t + Q) F, same)."""
        space, squares, (_, Q, K, blocks) = self.eq.space, self.eq.squares, self.shape
        a = self.eq.d * self.state.a  # N w/delta
        H = space.coordinates(self.H.reshape(len(a), blocks, K)).reshape(len(a), -1)
        Xi = (H.T * a) @ H
        bend = space.coordinates(squares.bend)
        fluctuation = np.einsum("u,uij,uf,ug->ifjg", a, squares.fluctuation, bend, bend)
        size = Q * bend.shape[1]
        Xi[-size:, -size:] += fluctuation.reshape(size, size)
        return Xi

    @cached_property
    def P_coordinates(self) -> Numbers:
        """The matrix of phi^T P phi, of the shape of `Xi_coordinates`."""
        eq, W, (t, Q, _, count) = self.eq, self.bulk.W, self.shape
        F = len(W)
        blocks = np.zeros((count, F, count, F), W.dtype)
        for i in (0, *range(2 + t, 2 + t + Q)):
            blocks[i, :, i] = W
        blocks[1, :, 1] = -np.tensordot(eq.row_share, W @ self.bulk.Y, axes=1)
        products = eq.varpi[:, :, None] * eq.varpi[:, None, :]  # (R', t, t)
        along_teacher = np.tensordot(products, W @ self.teacher.Y, axes=(0, 0))
        blocks[2 : 2 + t, :, 2 : 2 + t] = along_teacher.swapaxes(1, 2)
        return blocks.reshape(count * F, count * F)

    def apply_P(self, functions: Numbers) -> Numbers:
        """Return P f of functions (2 + t + Q, K, m)."""
        eq, pi, t = self.eq, self.state.pi[:, None], self.shape[0]
        image = pi * functions
        image[1] = -pi * np.tensordot(eq.row_share, self.bulk.apply(functions[1]), axes=1)
        seen = np.tensordot(eq.varpi, functions[2 : 2 + t], axes=1)  # (R', K, m)
        image[2 : 2 + t] = pi * np.tensordot(eq.varpi.T, self.teacher.apply(seen), axes=1)
        return image


def mean_part(eq: Equations, x: fixed_point.State) -> MeanPart:
    """Return how neurons read functions of the index, at a fixed point."""
    H = np.hstack([eq.A, eq.readout_row, *eq.aside, *eq.squares.mean])
    teacher = fixed_point.resolvents(eq.space.functions, eq.teacher_coordinates, x.a, x.pi)
    return MeanPart(eq, x, H, teacher, x.resolvents.first(eq.bulk))


def fit_labels(eq: Equations, mean: MeanPart) -> tuple[Numbers, Numbers]:
    r"""Return (P^-1 + Xi)^-1 Y, and P^-1 of it, each (2 + t + Q, K).

    The first is the mean training residual of the blocks of the labels, times pi. With an
    intercept Y is the labels less the fitted constant.

    :math:`\Xi = \phi\Xi_\phi\phi^\top` has the coordinates of `function_space`, so that

    .. math:: (1 + \Xi P)^{-1}Y = Y - \phi\,(1 + \Xi_\phi\,\phi^\top P\phi)^{-1}
        \Xi_\phi\,\phi^\top PY.
    """
    functions, (*_, K, blocks) = eq.space.functions, mean.shape
    Y = np.concatenate([eq.Y0[None], np.zeros((1, K)), eq.Y1, eq.squares.Y])[:, :, None]
    if eq.intercept:
        constant = np.zeros((blocks, K, 1))
        constant[0] = 1.0
        Y = np.concatenate([Y, constant], axis=2)
    seen = (functions.T @ mean.apply_P(Y)).reshape(-1, Y.shape[2])
    Xi = mean.Xi_coordinates
    z = np.linalg.solve(np.eye(len(Xi)) + Xi @ mean.P_coordinates, Xi @ seen)
    rest = Y - functions @ z.reshape(blocks, -1, Y.shape[2])
    fit = mean.apply_P(rest)
    if eq.intercept:
        # of `without_constant`; the constant function is one on the first K places
        c = fit[..., 0].ravel()[:K].sum() / fit[..., 1].ravel()[:K].sum()
        return fit[..., 0] - c * fit[..., 1], rest[..., 0] - c * rest[..., 1]
    return fit[..., 0], rest[..., 0]


def ridge_errors(eq: Equations, solution: fixed_point.Solution) -> RidgeErrors:
    """Return training and test error at a solution with real ridge.

    A mean that was taken off the labels is wrong by its error, of either sign.
    """
    if not eq.mean_error or eq.intercept:
        return _errors_of_labels(eq, solution)
    parts = [
        _errors_of_labels(replace(eq, Y0=eq.Y0 + sign * eq.mean_error), solution)
        for sign in (1, -1)
    ]
    values = zip(*map(astuple, parts), strict=True)
    return RidgeErrors(*(sum(pair) / 2 for pair in values))


def _errors_of_labels(eq: Equations, solution: fixed_point.Solution) -> RidgeErrors:
    """Return training and test error of labels as they are."""
    x, r = solution.state, solution.response
    mean = mean_part(eq, x)
    fit, rest = fit_labels(eq, mean)
    t = len(eq.aside)
    learned, squares = slice(2, 2 + t), slice(2 + t, None)
    train = eq.Y0 @ fit[0] + (eq.Y1 * fit[learned]).sum() + (eq.squares.Y * fit[squares]).sum()
    train = float(train + x.pi @ eq.Y2)

    # d(train) = rest^T dP rest + fit^T dXi fit
    along_teacher = mean.teacher.apply((eq.varpi @ rest[learned])[:, :, None])[:, :, 0]
    along_row = mean.bulk.apply(rest[1][:, None])[:, :, 0]
    at_fixed_delta = (
        eq.Y2
        + rest[0] ** 2
        - eq.row_share @ along_row**2
        + (along_teacher**2).sum(0)
        + (rest[squares] ** 2).sum(0)
    )
    bent = eq.squares.bend @ fit[squares].T  # (U, Q)
    by_delta = (
        eq.d * (mean.H @ fit.ravel()) ** 2
        - eq.row_share @ (eq.strength[: eq.bulk] * ((x.pi * along_row) @ eq.B.T)) ** 2
        + ((eq.teacher_strength * ((x.pi * along_teacher) @ eq.B.T)) ** 2).sum(0)
        + eq.d * ((eq.squares.fluctuation @ bent[:, :, None])[:, :, 0] * bent).sum(1)
    )
    solved = np.linalg.solve(r.stiffness, np.column_stack([r.T, np.ones(len(x.delta))]))
    W, by_ridge = solved[:, :-1], solved[:, -1]  # d(delta) a/delta by d(pi), by d(lambda)
    minus_dchi, share = fixed_point.chi_response(eq, r, W), x.pi**2 / eq.p
    T = np.linalg.solve(np.eye(len(share)) - minus_dchi * share, at_fixed_delta + W.T @ by_delta)
    # |a_hat|^2 = d(train)/d(lambda)
    norm = by_delta @ by_ridge + eq.d / eq.n * (T * share) @ (r.T.T @ by_ridge)
    return RidgeErrors(
        train=train,
        penalty=float(np.real(solution.lam) * norm),
        test=float(eq.p @ T) - _excess_of_replaced_labels(eq, x, fit),
        gap=fixed_point.response_gap(eq, x, minus_dchi),
    )


def _excess_of_replaced_labels(eq: Equations, x: fixed_point.State, fit: Numbers) -> float:
    r"""Return how much larger the test error is on labels of which a fraction q is replaced.

    .. math:: E(y_q - \hat f)^2 - E(y - \hat f)^2 = 2q\,\mathrm{Cov}(y, \hat f)
        = \tfrac{2q}{1-q}\,\mathrm{Cov}(E[y_q\mid x], \hat f)
    """
    if eq.replaced in (0.0, 1.0):  # nothing is replaced; nothing is learned
        return 0.0
    fitted, along = eq.Y0 - fit[0] / x.pi, eq.Y1 - fit[2 : 2 + len(eq.Y1)] / x.pi
    covariance = eq.p @ ((eq.Y0 - eq.p @ eq.Y0) * fitted + (eq.Y1 * along).sum(0))
    return float(2 * eq.replaced / (1 - eq.replaced) * covariance)
