r"""Ridge regression from a Gram matrix: a whole path of penalties at once.

.. math:: \hat a = \arg\min \tfrac1n\|y - Fa\|^2 + \lambda\|a\|^2

Primal: :math:`\hat a = (F^\top F + n\lambda)^{-1}F^\top y`. Dual: :math:`\hat a = F^\top\alpha`,
:math:`\alpha = (FF^\top + n\lambda)^{-1}y`. Features are made block by block and never held whole.
An intercept is fitted by centring features and labels.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from onegrad.arrays.backend import Array, Backend, namespace, transpose
from onegrad.networks.network import FeatureMap, Tick
from onegrad.networks.sampling import Role, Rows, Sampler

NEURONS = 1024  # neurons of a tile when the Gram matrix is over rows


@dataclass(frozen=True)
class Fit:
    """What ridge found for one network: a stack of B replicates, R penalties.

    The prediction for features f is `f @ coefficients + intercept`.
    """

    coefficients: Array  # (B, N, R)
    intercept: Array  # (B, R)
    train: Array  # (B, R) the objective at its minimum
    squared_loss: Array  # (B, R) its first term
    leave_one_out: Array | None = None  # (B, R)


@dataclass(frozen=True)
class Path:
    """Solutions of (C + n lam) x = b for a path of lam, and where asked C = V diag(s) V^T."""

    x: Array  # (B, m, R)
    s: Array | None = None
    V: Array | None = None


def path(be: Backend, C: Array, b: Array, n: int, ridges: Sequence[float], spectral: bool) -> Path:
    """By shifted solves, or by one eigendecomposition where its vectors are asked for."""
    if not spectral:
        return Path(be.solve_shifted(C, [n * lam for lam in ridges], b))
    s, V = be.eigh(C)
    weights = 1 / (s[..., None] + n * be.asarray(ridges))  # (B, m, R)
    return Path(V @ ((b[:, None, :] @ V).swapaxes(-1, -2) * weights), s, V)


def fits(
    sampler: Sampler,
    teacher: Array,
    features: FeatureMap,
    ridges: Sequence[float],
    tick: Tick,
    leave_one_out: bool = False,
) -> list[Fit]:
    """The ridge path of every network of `features`, on the smaller of the two Gram matrices."""
    solve = _dual if sampler.problem.n < features.width else _primal
    return solve(sampler, teacher, features, ridges, tick, leave_one_out)


def ridge_rows(sampler: Sampler, teacher: Array) -> Iterator[Rows]:
    """The rows of the ridge fit: fresh ones, or those of the first step."""
    role = Role.RIDGE if sampler.problem.ridge_rows == "fresh" else Role.STEP
    return sampler.rows(role, sampler.problem.n, teacher)


# -- fewer features than rows ----------------------------------------------------------------


def _primal(
    sampler: Sampler,
    teacher: Array,
    features: FeatureMap,
    ridges: Sequence[float],
    tick: Tick,
    leave_one_out: bool,
) -> list[Fit]:
    be, p, n = sampler.backend, sampler.problem, sampler.problem.n
    B, N, E = len(sampler.seeds), features.width, features.count
    gram = [be.zeros(B, N, N) for _ in range(E)]  # F^T F
    Fy = [be.zeros(B, N) for _ in range(E)]  # F^T y
    F1 = [be.zeros(B, N) for _ in range(E)]  # F^T 1
    yy, y1 = be.zeros(B), be.zeros(B)
    for rows in ridge_rows(sampler, teacher):
        for e, F in enumerate(features.tiles(rows)):
            be.add_gram(gram[e], F)
            Fy[e] += (rows.y[:, None, :] @ F)[:, 0]
            if p.intercept:
                F1[e] += F.sum(-2)
        yy += (rows.y * rows.y).sum(-1)
        y1 += rows.y.sum(-1)
        tick()
    y_mean = y1 / n * p.intercept  # zero without an intercept
    yy = yy - n * y_mean**2
    lams = be.asarray(ridges)

    def solved(e: int) -> tuple[Fit, Path, Array]:
        f_mean, C = F1[e] / n, gram[e]
        gram[e] = None  # its memory is free for the next factor
        if p.intercept:
            C -= n * (f_mean[:, :, None] @ f_mean[:, None, :])
        b = Fy[e] - n * f_mean * y_mean[:, None]
        found = path(be, C, b, n, ridges, leave_one_out)
        A = found.x
        intercept = y_mean[:, None] - (f_mean[:, None, :] @ A)[:, 0]
        train = (yy[:, None] - (b[:, None, :] @ A)[:, 0]) / n  # y^T y - b^T A = y^T (y - F A)
        return Fit(A, intercept, train, train - lams * (A * A).sum(-2)), found, f_mean

    each = be.map(solved, range(E))
    found, paths = [fit for fit, _, _ in each], [(way, f_mean) for _, way, f_mean in each]
    if not leave_one_out:
        return found
    return _with_leave_one_out(sampler, teacher, features, ridges, tick, found, paths)


def _with_leave_one_out(
    sampler: Sampler,
    teacher: Array,
    features: FeatureMap,
    ridges: Sequence[float],
    tick: Tick,
    found: list[Fit],
    paths: list[tuple[Path, Array]],
) -> list[Fit]:
    r"""Adds :math:`\frac1n\sum_i ((y_i - \hat f_i)/(1 - h_i))^2` from a second pass over the rows.

    :math:`h_i = \sum_j (F V)_{ij}^2/(s_j + n\lambda)`, plus 1/n with an intercept.
    """
    be, p, n = sampler.backend, sampler.problem, sampler.problem.n
    B = len(sampler.seeds)
    totals = [be.zeros(B, len(ridges)) for _ in found]
    for rows in ridge_rows(sampler, teacher):
        for e, F in enumerate(features.tiles(rows)):
            solved, f_mean = paths[e]
            assert solved.s is not None
            Q = (F - f_mean[:, None, :]) @ solved.V if p.intercept else F @ solved.V
            h = (Q * Q) @ (1 / (solved.s[..., None] + n * be.asarray(ridges)))  # (B, rows, R)
            residual = rows.y[..., None] - F @ found[e].coefficients - found[e].intercept[:, None]
            totals[e] += ((residual / (1 - h - p.intercept / n)) ** 2).sum(-2)
        tick()
    return [
        Fit(f.coefficients, f.intercept, f.train, f.squared_loss, total / n)
        for f, total in zip(found, totals, strict=True)
    ]


# -- fewer rows than features ----------------------------------------------------------------


@dataclass(frozen=True)
class DualFit:
    """Ridge from a kernel matrix K = F F^T: the prediction is `F_new F^T alpha + intercept`."""

    alpha: Array  # (B, n, R)
    intercept: Array  # (B, R)
    train: Array
    squared_loss: Array
    leave_one_out: Array | None


def dual_fit(
    be: Backend, K: Array, y: Array, ridges: Sequence[float], intercept: bool, leave_one_out: bool
) -> DualFit:
    """The ridge path of one kernel matrix, of which the lower triangle is read."""
    n, lams, shift = y.shape[-1], be.asarray(ridges), 0.0 * y[:, :1]
    means, size = 0.0 * y, 0.0
    if intercept:
        K, means = _centred(K)
        shift = y.mean(-1)[:, None]
        # z is orthogonal to 1, which K now maps to zero; mapping it to size * 1 instead changes no
        # solution and keeps 1 - h below free of cancellation
        size = K.diagonal(0, -2, -1).sum(-1)[:, None, None]
        K = K + size / n
    z = y - shift
    solved = path(be, K, z, n, ridges, leave_one_out)
    alpha = solved.x
    loo = None
    if leave_one_out:  # y_i - f_(-i) = n lam alpha_i / (1 - h_i), 1 - h_i = n lam R_ii
        assert solved.s is not None and solved.V is not None
        R_ii = (solved.V * solved.V) @ (1 / (solved.s[..., None] + n * lams))
        along = intercept / (n * (size + n * lams))  # the part of R_ii in the direction of 1
        loo = ((alpha / (R_ii - along)) ** 2).mean(-2)
    return DualFit(
        alpha,
        shift - (means[:, None, :] @ alpha)[:, 0],
        lams * (z[:, None, :] @ alpha)[:, 0],  # lam y^T (K + n lam)^-1 y
        n * lams**2 * (alpha * alpha).sum(-2),
        loo,
    )


def _centred(K: Array) -> tuple[Array, Array]:
    """(I - 11^T/n) K (I - 11^T/n) and the row means of K."""
    xp = namespace(K)
    full = xp.tril(K) + transpose(xp.tril(K, -1))
    means = full.mean(-1)
    return full - means[..., None] - means[..., None, :] + means.mean(-1)[..., None, None], means


def whole(sampler: Sampler, teacher: Array) -> Rows:
    """All rows of the ridge fit at once."""
    parts = list(ridge_rows(sampler, teacher))
    xp = namespace(parts[0].X)
    X, clean, y = (
        xp.concatenate([getattr(part, name) for part in parts], 1) for name in ("X", "clean", "y")
    )
    return Rows(parts[0].role, 0, X, clean, y)


def _dual(
    sampler: Sampler,
    teacher: Array,
    features: FeatureMap,
    ridges: Sequence[float],
    tick: Tick,
    leave_one_out: bool,
) -> list[Fit]:
    be, p = sampler.backend, sampler.problem
    B, N, E = len(sampler.seeds), features.width, features.count
    rows = whole(sampler, teacher)
    size = be.stretch(NEURONS, B * p.n)
    tiles = [slice(j, min(j + size, N)) for j in range(0, N, size)]
    gram = [be.zeros(B, p.n, p.n) for _ in range(E)]  # F F^T
    for neurons in tiles:
        for e, F in enumerate(features.tiles(rows, neurons)):
            be.add_gram(gram[e], F, over_rows=True)
        tick()
    duals = []
    while gram:
        duals.append(dual_fit(be, gram.pop(0), rows.y, ridges, p.intercept, leave_one_out))
    A = [be.zeros(B, N, len(ridges)) for _ in range(E)]
    for neurons in tiles:  # F^T alpha needs the features a second time
        for e, F in enumerate(features.tiles(rows, neurons)):
            A[e][:, neurons] = transpose(F) @ duals[e].alpha
        tick()
    return [
        Fit(a, f.intercept, f.train, f.squared_loss, f.leave_one_out)
        for a, f in zip(A, duals, strict=True)
    ]
