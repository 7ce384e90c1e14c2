r"""The teacher's subspace: as rounds of AlternatingRegressor find it, and as one look at moments.

The look, which trains nothing, takes the leading eigenvectors of :math:`M^2 + hh^\top` with
:math:`M = \frac1n\sum_i (y_i-\bar y)(x_ix_i^\top - I)` and :math:`h = X^\top y/n`.
"""

from __future__ import annotations

import numpy as np

from onegrad.arrays import Floats
from onegrad.experiments.cell import Cell
from onegrad.experiments.measure import CellValues, option_of, per_seed
from onegrad.studies.measures.training import directions, draw_task


@per_seed
def rounds(cell: Cell, _device: str, seed: int) -> CellValues:
    """Return what AlternatingRegressor has learned after at most some rounds, one per seed.

    overlap : mean squared cosine of the metric's leading subspace with the teacher's; spectral :
    that of one look at the moments of the same rows; risk : test error without noise over the
    labels' variance.
    """
    from onegrad.estimators import AlternatingRegressor  # scikit-learn, which no other cell needs

    p, n_test = cell.problem, option_of(cell, "n_test", 20_000)
    width, max_rounds = option_of(cell, "width", 400), option_of(cell, "rounds", 1)
    rng = np.random.default_rng((seed, p.n, p.d))
    X, y, X_test, y_test = draw_task(p, "teacher", n_test, rng)
    U = directions(p, np.random.default_rng((seed, p.n, p.d)))  # the first that a task draws
    model = AlternatingRegressor(width, members=1, rounds=max_rounds, random_state=seed)
    model.fit(X, y)
    miss = y_test - np.asarray(model.predict(X_test))
    return {
        "overlap": overlap(np.linalg.eigh(model.metric_)[1][:, -U.shape[1] :], U),
        "spectral": overlap(spectral_subspace(X, y, U.shape[1]), U),
        "risk": (miss**2).mean() / y_test.var(),
    }


def spectral_subspace(X: Floats, y: Floats, count: int) -> Floats:
    """Return the leading eigenvectors of M^2 + h h^T, (d, count)."""
    centred = y - y.mean()
    h = X.T @ centred / len(y)
    M = (X * centred[:, None]).T @ X / len(y)  # the identity has the weight mean(y - mean) = 0
    return np.asarray(np.linalg.eigh(M @ M + np.outer(h, h))[1][:, -count:])


def overlap(V: Floats, U: Floats) -> float:
    """Return the mean squared cosine of two subspaces with orthonormal bases (d, k)."""
    return float(((U.T @ V) ** 2).sum() / U.shape[1])
