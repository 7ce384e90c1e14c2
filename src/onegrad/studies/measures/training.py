"""One task for networks with one step, with a few, with all of training, for trees, and by rounds.

The task: n rows to learn from, fresh ones to test on, from a teacher or from images of digits.
What is tried (step size, penalty, epochs) is chosen on a quarter of the n rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from onegrad.arrays import Floats
from onegrad.estimators import AlternatingRegressor
from onegrad.exceptions import check_choice
from onegrad.experiments.cell import Cell
from onegrad.experiments.measure import Values, seeds_of
from onegrad.problem import Problem
from onegrad.studies.measures.inputs import digits

RATES, RIDGES = np.geomspace(1, 256, 9), np.geomspace(1e-5, 1, 6)
EPOCHS, BATCH, ADAM = 60, 50, 3e-3
TESTS = 4000
Data = tuple[Floats, Floats]


def methods(cell: Cell, device: str) -> Values:
    """Test error over the variance of the test labels, one a seed: of networks, trees, rounds."""
    options = dict(cell.options)
    method = METHODS[
        check_choice("options.method:", str(options.get("method", "one-step")), METHODS)
    ]
    found = []
    for seed in seeds_of(cell):
        rng = np.random.default_rng((seed, cell.problem.n, cell.problem.d))
        learn, test = task(cell.problem, str(options.get("data", "teacher")), rng)
        predict = method(cell.problem, learn, rng)
        found.append(float(((test[1] - predict(test[0])) ** 2).mean() / test[1].var()))
    return {"test": np.array(found)}


def rounds(cell: Cell, device: str) -> Values:
    """Of AlternatingRegressor after some rounds, one a seed.

    overlap : mean squared cosine of the metric's leading subspace with the teacher's; risk : test
    error without noise over the labels' variance.
    """
    p, options = cell.problem, dict(cell.options)
    overlaps, risks = [], []
    for seed in seeds_of(cell):
        (X, y), (Xt, yt) = task(p, "teacher", np.random.default_rng((seed, p.n, p.d)))
        U = directions(p, np.random.default_rng((seed, p.n, p.d)))  # the first that a task draws
        made = AlternatingRegressor(
            int(options.get("width", 400)), members=1, rounds=int(options.get("rounds", 1)),
            random_state=seed,
        ).fit(X, y)  # fmt: skip
        top = np.linalg.eigh(made.metric_)[1][:, -U.shape[1] :]
        overlaps.append(float(((U.T @ top) ** 2).sum() / U.shape[1]))
        risks.append(float(((yt - made.predict(Xt)) ** 2).mean() / yt.var()))
    return {"overlap": np.array(overlaps), "risk": np.array(risks)}


def task(p: Problem, data: str, rng: np.random.Generator) -> tuple[Data, Data]:
    """Rows to learn from and to test on."""
    if data == "digits":
        X, y = digits()
        order = rng.permutation(len(y))
        learn, test = order[: p.n], order[p.n :]
        return (X[learn], y[learn]), (X[test], y[test])
    U = directions(p, rng)
    X = rng.standard_normal((p.n + TESTS, p.d))
    f = p.teacher_function
    y = np.asarray(f(X @ U) if hasattr(f, "indices") else f((X @ U)[:, 0]))
    noisy = y[: p.n] + p.noise * rng.standard_normal(p.n)
    return (X[: p.n], noisy), (X[p.n :], y[p.n :])


def directions(p: Problem, rng: np.random.Generator) -> Floats:
    """Random orthonormal directions of the teacher, (d, indices): no input is special."""
    indices = getattr(p.teacher_function, "indices", 1)
    return np.asarray(np.linalg.qr(rng.standard_normal((p.d, indices)))[0])


def _steps(count: int) -> Callable[..., Callable[[Floats], Floats]]:
    """Gradient steps on the first layer, all rows in each, then ridge with a constant."""

    def fitted(p: Problem, learn: Data, rng: np.random.Generator) -> Callable[[Floats], Floats]:
        (X, y), sigma = learn, p.sigma
        quarter = len(y) // 4
        W0 = rng.standard_normal((p.N, X.shape[1])) / math.sqrt(X.shape[1])
        a = rng.standard_normal(p.N) / math.sqrt(p.N)
        tried: list[tuple[float, int, Floats, float]] = []
        for rate in RATES if count else RATES[:1]:
            W = W0
            for _ in range(count):
                P = X[quarter:] @ W.T
                r = y[quarter:] - np.asarray(sigma(P)) @ a / math.sqrt(p.N)
                back = r[:, None] * sigma.derivative(P) * a / len(r)
                W = W + rate * back.T @ X[quarter:]
            F = np.asarray(sigma(X @ W.T))
            for ridge in RIDGES:
                model = _ridge(F[quarter:], y[quarter:], ridge)
                miss = float(((y[:quarter] - model(F[:quarter])) ** 2).mean())
                tried.append((miss, len(tried), W, ridge))
        _, _, W, ridge = min(tried, key=lambda t: t[:2])
        model = _ridge(np.asarray(sigma(X @ W.T)), y, ridge)
        return lambda x: model(np.asarray(sigma(x @ W.T)))

    return fitted


def _ridge(F: Floats, y: Floats, ridge: float) -> Callable[[Floats], Floats]:
    """Ridge with an unpenalised constant, the penalty in units of the features' mean variance."""
    f, m = F.mean(0), float(y.mean())
    C = (F - f).T @ (F - f) / len(y)
    C[np.diag_indices(len(C))] += ridge * np.trace(C) / len(C)
    c = np.linalg.solve(C, (F - f).T @ (y - m) / len(y))
    return lambda x: np.asarray((x - f) @ c + m)


def _trained(p: Problem, learn: Data, rng: np.random.Generator) -> Callable[[Floats], Floats]:
    """Both layers and their constants by Adam; the best epoch on the quarter held out."""
    (X, y), sigma = learn, p.sigma
    quarter, d = len(y) // 4, X.shape[1]
    mean, scale = float(y.mean()), float(y.std())
    theta = [rng.standard_normal((p.N, d)) / math.sqrt(d), np.zeros(p.N),
             rng.standard_normal(p.N) / math.sqrt(p.N), np.zeros(1)]  # fmt: skip
    first, second = ([np.zeros_like(t) for t in theta] for _ in range(2))
    best, kept, step = math.inf, [t.copy() for t in theta], 0

    def output(x: Floats, t: list[Floats]) -> Floats:
        return np.asarray(np.asarray(sigma(x @ t[0].T + t[1])) @ t[2] + t[3])

    for _ in range(EPOCHS):
        for part in np.array_split(quarter + rng.permutation(len(y) - quarter),
                                   max((len(y) - quarter) // BATCH, 1)):  # fmt: skip
            step += 1
            x, target = X[part], (y[part] - mean) / scale
            P = x @ theta[0].T + theta[1]
            F = np.asarray(sigma(P))
            r = (F @ theta[2] + theta[3] - target) / len(part)
            back = r[:, None] * sigma.derivative(P) * theta[2]
            for t, g, m, v in zip(theta, (back.T @ x, back.sum(0), F.T @ r, r.sum(keepdims=True)),
                                  first, second, strict=True):  # fmt: skip
                m += 0.1 * (g - m)
                v += 0.001 * (g * g - v)
                size = ADAM * math.sqrt(1 - 0.999**step) / (1 - 0.9**step)
                t -= size * m / (np.sqrt(v) + 1e-8)
        miss = float(((y[:quarter] - mean - scale * output(X[:quarter], theta)) ** 2).mean())
        if miss < best:
            best, kept = miss, [t.copy() for t in theta]
    return lambda x: mean + scale * output(x, kept)


def _trees(p: Problem, learn: Data, rng: np.random.Generator) -> Callable[[Floats], Floats]:
    from sklearn.ensemble import HistGradientBoostingRegressor

    made = HistGradientBoostingRegressor(random_state=int(rng.integers(2**31))).fit(*learn)
    return lambda x: np.asarray(made.predict(x))


def _alternating(p: Problem, learn: Data, rng: np.random.Generator) -> Callable[[Floats], Floats]:
    made = AlternatingRegressor(p.N, random_state=int(rng.integers(2**31))).fit(*learn)
    return lambda x: np.asarray(made.predict(x))


METHODS: dict[str, Callable[..., Callable[[Floats], Floats]]] = {
    "untrained": _steps(0),
    "one-step": _steps(1),
    "five-steps": _steps(5),
    "trained": _trained,
    "trees": _trees,
    "alternating": _alternating,
}
