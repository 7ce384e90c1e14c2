"""One task for networks with one step, with a few, with full training, for trees, and by rounds.

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
from onegrad.experiments.measure import CellValues, seeds_of
from onegrad.problem import Problem
from onegrad.ridge import NormalEquations, sum_moments
from onegrad.studies.measures.data_sets import digits

RATES = np.geomspace(1, 256, 9)
RIDGES = np.geomspace(1e-5, 1, 6)  # in units of the features' mean variance
EPOCHS, BATCH_ROWS, ADAM_RATE = 60, 50, 3e-3
TEST_ROWS = 4000
Rows = tuple[Floats, Floats]  # inputs and labels
Predictor = Callable[[Floats], Floats]


def methods(cell: Cell, _device: str) -> CellValues:
    """Return the test error of a method over the variance of the test labels, one per seed."""
    options = dict(cell.options)
    name = str(options.get("method", "one-step"))
    method = METHODS[check_choice("options.method", name, METHODS)]
    errors = []
    for seed in seeds_of(cell):
        rng = np.random.default_rng((seed, cell.problem.n, cell.problem.d))
        rows, (X, y) = task(cell.problem, str(options.get("data", "teacher")), rng)
        predict = method(cell.problem, rows, rng)
        errors.append(float(((y - predict(X)) ** 2).mean() / y.var()))
    return {"test": np.array(errors)}


def rounds(cell: Cell, _device: str) -> CellValues:
    """Return what AlternatingRegressor has learned after at most some rounds, one per seed.

    overlap : mean squared cosine of the metric's leading subspace with the teacher's; risk : test
    error without noise over the labels' variance.
    """
    p, options = cell.problem, dict(cell.options)
    width, most_rounds = int(options.get("width", 400)), int(options.get("rounds", 1))
    overlaps, risks = [], []
    for seed in seeds_of(cell):
        (X, y), (X_test, y_test) = task(p, "teacher", np.random.default_rng((seed, p.n, p.d)))
        U = directions(p, np.random.default_rng((seed, p.n, p.d)))  # the first that a task draws
        model = AlternatingRegressor(width, members=1, rounds=most_rounds, random_state=seed)
        model.fit(X, y)
        leading = np.linalg.eigh(model.metric_)[1][:, -U.shape[1] :]
        overlaps.append(float(((U.T @ leading) ** 2).sum() / U.shape[1]))
        risks.append(float(((y_test - model.predict(X_test)) ** 2).mean() / y_test.var()))
    return {"overlap": np.array(overlaps), "risk": np.array(risks)}


def task(p: Problem, data: str, rng: np.random.Generator) -> tuple[Rows, Rows]:
    """Return rows to learn from and rows to test on."""
    if data == "digits":
        X, y = digits()
        order = rng.permutation(len(y))
        learn, test = order[: p.n], order[p.n :]
        return (X[learn], y[learn]), (X[test], y[test])
    U = directions(p, rng)
    X = rng.standard_normal((p.n + TEST_ROWS, p.d))
    f = p.teacher_function
    y = np.asarray(f(X @ U) if hasattr(f, "indices") else f((X @ U)[:, 0]))
    noisy = y[: p.n] + p.noise * rng.standard_normal(p.n)
    return (X[: p.n], noisy), (X[p.n :], y[p.n :])


def directions(p: Problem, rng: np.random.Generator) -> Floats:
    """Return random orthonormal directions of the teacher, (d, indices): no input is special."""
    indices = getattr(p.teacher_function, "indices", 1)
    return np.asarray(np.linalg.qr(rng.standard_normal((p.d, indices)))[0])


def ridge_equations(F: Floats, y: Floats, *, intercept: bool) -> NormalEquations:
    """Return the normal equations of features F (n, N) and labels y (n,)."""
    rows = np.column_stack([F, y, np.ones(len(y))])
    return NormalEquations.of(sum_moments([(rows, None)], F.shape[1]), intercept)


def _steps(count: int) -> Callable[..., Predictor]:
    """Return the method of some gradient steps on the first layer, all rows in each, then ridge."""

    def fit(p: Problem, rows: Rows, rng: np.random.Generator) -> Predictor:
        (X, y), sigma = rows, p.sigma
        quarter = len(y) // 4
        W0 = rng.standard_normal((p.N, X.shape[1])) / math.sqrt(X.shape[1])
        a = rng.standard_normal(p.N) / math.sqrt(p.N)
        best, best_W, best_ridge = math.inf, W0, float(RIDGES[0])
        for rate in RATES if count else RATES[:1]:
            W = W0
            for _ in range(count):
                P = X[quarter:] @ W.T
                r = y[quarter:] - np.asarray(sigma(P)) @ a / math.sqrt(p.N)
                back = r[:, None] * sigma.derivative(P) * a / len(r)
                W = W + rate * back.T @ X[quarter:]
            F = np.asarray(sigma(X @ W.T))
            F -= F[quarter:].mean(0)  # features that hardly vary keep their digits
            equations = ridge_equations(F[quarter:], y[quarter:], intercept=True)
            for ridge in RIDGES:
                predictions = _predict(equations, ridge, F[:quarter])
                error = float(((y[:quarter] - predictions) ** 2).mean())
                if error < best:
                    best, best_W, best_ridge = error, W, ridge
        F = np.asarray(sigma(X @ best_W.T))
        mean = F.mean(0)
        equations = ridge_equations(F - mean, y, intercept=True)
        return lambda x: _predict(equations, best_ridge, np.asarray(sigma(x @ best_W.T)) - mean)

    return fit


def _predict(equations: NormalEquations, ridge: float, F: Floats) -> Floats:
    """Return the predictions for features F with a penalty in units of their mean variance."""
    readout = equations.solve(ridge * equations.scale)
    return np.asarray(F @ readout.coef[:, 0] + readout.intercept[0])


def _fully_trained(p: Problem, rows: Rows, rng: np.random.Generator) -> Predictor:
    """Train both layers and their constants by Adam; the best epoch on a quarter of the rows."""
    (X, y), sigma = rows, p.sigma
    quarter, d = len(y) // 4, X.shape[1]
    mean, scale = float(y.mean()), float(y.std())
    W, a = rng.standard_normal((p.N, d)) / math.sqrt(d), rng.standard_normal(p.N) / math.sqrt(p.N)
    theta = [W, np.zeros(p.N), a, np.zeros(1)]
    first, second = ([np.zeros_like(t) for t in theta] for _ in range(2))
    best, best_theta, step = math.inf, [t.copy() for t in theta], 0
    batches = max((len(y) - quarter) // BATCH_ROWS, 1)

    def output(x: Floats, t: list[Floats]) -> Floats:
        return np.asarray(np.asarray(sigma(x @ t[0].T + t[1])) @ t[2] + t[3])

    for _ in range(EPOCHS):
        for batch in np.array_split(quarter + rng.permutation(len(y) - quarter), batches):
            step += 1
            x, target = X[batch], (y[batch] - mean) / scale
            P = x @ theta[0].T + theta[1]
            F = np.asarray(sigma(P))
            r = (F @ theta[2] + theta[3] - target) / len(batch)
            back = r[:, None] * sigma.derivative(P) * theta[2]
            gradient = back.T @ x, back.sum(0), F.T @ r, r.sum(keepdims=True)
            size = ADAM_RATE * math.sqrt(1 - 0.999**step) / (1 - 0.9**step)
            for i, g in enumerate(gradient):
                first[i] += 0.1 * (g - first[i])
                second[i] += 0.001 * (g * g - second[i])
                theta[i] -= size * first[i] / (np.sqrt(second[i]) + 1e-8)
        error = float(((y[:quarter] - mean - scale * output(X[:quarter], theta)) ** 2).mean())
        if error < best:
            best, best_theta = error, [t.copy() for t in theta]
    return lambda x: mean + scale * output(x, best_theta)


def _trees(_p: Problem, rows: Rows, rng: np.random.Generator) -> Predictor:
    from sklearn.ensemble import HistGradientBoostingRegressor

    model = HistGradientBoostingRegressor(random_state=int(rng.integers(2**31))).fit(*rows)
    return lambda x: np.asarray(model.predict(x))


def _alternating(p: Problem, rows: Rows, rng: np.random.Generator) -> Predictor:
    model = AlternatingRegressor(p.N, random_state=int(rng.integers(2**31))).fit(*rows)
    return lambda x: np.asarray(model.predict(x))


METHODS: dict[str, Callable[..., Predictor]] = {
    "untrained": _steps(0),
    "one-step": _steps(1),
    "five-steps": _steps(5),
    "trained": _fully_trained,
    "trees": _trees,
    "alternating": _alternating,
}
