r"""Ridge regression from a Gram matrix: a whole path of penalties at once.

.. math:: \hat a = \arg\min \tfrac1n\|y - Fa\|^2 + \lambda\|a\|^2

Primal: :math:`\hat a = (F^\top F + n\lambda)^{-1}F^\top y`. Dual: :math:`\hat a = F^\top\alpha`,
:math:`\alpha = (FF^\top + n\lambda)^{-1}y`. Gram matrices are accumulated over blocks and only
their lower triangles are filled.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from onegrad._xp import Array, Backend, namespace, transpose
from onegrad.simulate.network import FeatureMap, Tick
from onegrad.simulate.sampling import Role, Rows, Sampler

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


def is_dual(n: int, width: int) -> bool:
    """Whether the n x n Gram matrix is the smaller one."""
    return n < width


def fits(
    sampler: Sampler,
    teacher: Array,
    features: FeatureMap,
    ridges: Sequence[float],
    tick: Tick,
) -> list[Fit]:
    """The ridge path of every network of `features`."""
    if is_dual(sampler.problem.n, features.width):
        return _dual(sampler, teacher, features, ridges, tick)
    return _primal(sampler, teacher, features, ridges, tick)


def ridge_rows(sampler: Sampler, teacher: Array) -> Iterator[Rows]:
    """The rows of the ridge fit: fresh ones, or those of the (first) step."""
    role = Role.RIDGE if sampler.problem.ridge_rows == "fresh" else Role.STEP
    return sampler.rows(role, sampler.problem.n, teacher)


def _primal(
    sampler: Sampler, teacher: Array, features: FeatureMap, ridges: Sequence[float], tick: Tick
) -> list[Fit]:
    be, p = sampler.backend, sampler.problem
    B, N, E = len(sampler.seeds), features.width, features.count
    gram = [be.zeros(B, N, N) for _ in range(E)]  # F^T F
    Fy = [be.zeros(B, N) for _ in range(E)]  # F^T y
    F1 = [be.zeros(B, N) for _ in range(E)]  # F^T 1
    yy, y1 = be.zeros(B), be.zeros(B)
    for rows in ridge_rows(sampler, teacher):
        for e, F in enumerate(features.tiles(rows.X, rows.start)):
            be.add_gram(gram[e], F)
            Fy[e] += (rows.y[:, None, :] @ F)[:, 0]
            if p.intercept:
                F1[e] += F.sum(-2)
        yy += (rows.y * rows.y).sum(-1)
        y1 += rows.y.sum(-1)
        tick()
    found = []
    for e in range(E):
        G, b, total = gram[e], Fy[e], yy
        mean, y_mean = F1[e] / p.n, y1 / p.n
        if p.intercept:  # the same sums about the means
            G -= p.n * (mean[:, :, None] @ mean[:, None, :])
            b = b - p.n * mean * y_mean[:, None]
            total = yy - p.n * y_mean**2
        found.append(_primal_path(be, p.n, G, b, total, ridges, mean, p.intercept * y_mean))
        gram[e] = None
    return found


def _primal_path(
    be: Backend,
    n: int,
    G: Array,
    b: Array,
    yy: Array,
    ridges: Sequence[float],
    mean: Array,
    y_mean: Array,
) -> Fit:
    xp = namespace(b)
    A = xp.stack([be.solve_shifted(G, n * lam, b) for lam in ridges], -1)  # (B, N, R)
    lams = be.asarray(ridges)
    train = (yy[:, None] - (b[:, None, :] @ A)[:, 0]) / n  # y^T y - b^T A is y^T(y - F A)
    squared = train - lams * (A * A).sum(-2)
    return Fit(A, y_mean[:, None] - (mean[:, None, :] @ A)[:, 0], train, squared)


def _dual(
    sampler: Sampler, teacher: Array, features: FeatureMap, ridges: Sequence[float], tick: Tick
) -> list[Fit]:
    be, p = sampler.backend, sampler.problem
    B, N, E, n = len(sampler.seeds), features.width, features.count, p.n
    blocks = list(ridge_rows(sampler, teacher))
    xp = namespace(blocks[0].X)
    X = xp.concatenate([rows.X for rows in blocks], 1)  # (B, n, d)
    y = xp.concatenate([rows.y for rows in blocks], 1)
    tiles = [slice(j, min(j + NEURONS, N)) for j in range(0, N, NEURONS)]
    gram = [be.zeros(B, n, n) for _ in range(E)]  # F F^T
    for neurons in tiles:
        for e, F in enumerate(features.tiles(X, 0, neurons)):
            be.add_gram(gram[e], F, rows=True)
        tick()
    alphas, intercepts, found = [], [], []
    for e in range(E):
        K, intercept = gram[e], 0.0 * y[:, :1]
        if p.intercept:
            K, row_means = centred(K)
            y_mean = y.mean(-1)[:, None]
        z = y - y.mean(-1)[:, None] if p.intercept else y
        alpha = xp.stack([be.solve_shifted(K, n * lam, z) for lam in ridges], -1)  # (B, n, R)
        if p.intercept:
            intercept = y_mean - (row_means[:, None, :] @ alpha)[:, 0]
        alphas.append(alpha)
        intercepts.append(intercept)
        gram[e] = None
    lams = be.asarray(ridges)
    A = [be.zeros(B, N, len(ridges)) for _ in range(E)]
    for neurons in tiles:  # F^T alpha needs the features a second time
        for e, F in enumerate(features.tiles(X, 0, neurons)):
            A[e][:, neurons] = transpose(F) @ alphas[e]
        tick()
    for e, alpha in enumerate(alphas):
        z = y - y.mean(-1)[:, None] if p.intercept else y
        train = lams * (z[:, None, :] @ alpha)[:, 0]  # lam y^T (K + n lam)^-1 y
        squared = n * lams**2 * (alpha * alpha).sum(-2)
        found.append(Fit(A[e], intercepts[e], train, squared))
    return found


def centred(K: Array) -> tuple[Array, Array]:
    """(I - 11^T/n) K (I - 11^T/n) and the row means of K, from its lower triangle."""
    xp = namespace(K)
    lower = xp.tril(K)
    full = lower + transpose(xp.tril(K, -1))
    means = full.mean(-1)
    return full - means[..., None] - means[..., None, :] + means.mean(-1)[..., None, None], means
