r"""One task for one network: untrained, after one step, after five, and fully trained by AdamW.

The network is :math:`f(x) = a\cdot\sigma(Wx) + c`, without biases inside. Every method tries
SETTINGS settings; a quarter of the rows chooses among them, and the chosen one is fitted again to
all rows:

    untrained    the penalty of the readout
    steps        the size of the steps and the penalty of the readout
    trained      the rate of AdamW, which falls as a cosine to zero, and the number of minibatches

A leading axis C counts the settings.
"""

import math
from typing import NamedTuple

import numpy as np

from onegrad.arrays import Array, Floats, Ops, get_ops, is_torch, namespace, to_numpy, transpose
from onegrad.experiments.cell import Cell
from onegrad.experiments.measure import CellValues, option_of, per_seed
from onegrad.functions.function import Function
from onegrad.networks.fits import normal_equations
from onegrad.problem import Problem
from onegrad.studies.measures.data_sets import read_images
from onegrad.tables.training import Schedule, train

METHODS = ("untrained", "one-step", "five-steps", "trained")
STEPS = {"untrained": 0, "one-step": 1, "five-steps": 5}
# The grids reach so far that few choices lie at an end; the page counts those that do.
RATES = {  # of the steps, and of AdamW
    "untrained": np.zeros(1),
    "one-step": np.geomspace(2, 2**11, 5),
    "five-steps": np.geomspace(0.5, 2**9, 5),
    "trained": np.geomspace(1e-3, 0.256, 5),
}
PENALTIES = {  # of the readout, in units of the features' mean variance
    "untrained": np.geomspace(1e-4, 10, 15),
    "one-step": np.geomspace(1e-4, 1, 3),
    "five-steps": np.geomspace(1e-4, 1, 3),
}
BUDGETS = np.array([1 / 16, 1 / 4, 1])  # minibatches of AdamW, of the largest number
WEIGHT_DECAY = 0.25  # of AdamW: the best for every teacher at n = 4000 when it was tried out
SETTINGS = 15  # that each method tries
BATCH_ROWS = 64
DEFAULT_BUDGET = {"adam_steps": 12_000, "n_test": 20_000}


class TrainingTask(NamedTuple):
    """Rows to learn from and rows to test on, (rows, d) and (rows,)."""

    X: Floats
    y: Floats
    X_test: Floats
    y_test: Floats


class Start(NamedTuple):
    """An untrained network, and the order in which minibatches take the rows."""

    W: Floats  # (N, d)
    a: Floats  # (N,)
    orders: Floats  # (steps, BATCH_ROWS) in [0, 1): shares of the rows, however many they are


@per_seed
def methods(cell: Cell, device: str, seed: int) -> CellValues:
    """Return the test errors over the labels' variance, and the settings chosen, by method.

    test_METHOD, rate_METHOD, other_METHOD : (seeds,); the last is the penalty or, for AdamW, the
        number of minibatches over the largest.
    """
    p, data = cell.problem, option_of(cell, "data", "teacher")
    steps, n_test = (option_of(cell, name, number) for name, number in DEFAULT_BUDGET.items())
    rng = np.random.default_rng((seed, p.n, p.d))
    task = draw_task(p, data, n_test, rng)
    W = rng.standard_normal((p.N, p.d)) / math.sqrt(p.d)
    a = rng.standard_normal(p.N) / math.sqrt(p.N)
    start = Start(W, a, rng.random((steps, BATCH_ROWS)))
    values: dict[str, float] = {}
    for name in METHODS:
        (rate, other), predictions = choose_and_fit(p, task, start, name, device)
        values[f"test_{name}"] = ((task.y_test - predictions) ** 2).mean() / task.y_test.var()
        values |= {f"rate_{name}": rate, f"other_{name}": other}
    return values


def draw_task(p: Problem, data: str, n_test: int, rng: np.random.Generator) -> TrainingTask:
    """Return the rows of one seed."""
    if data != "teacher":
        X, y = read_images(data, p.d)
        order = rng.permutation(len(y))[: p.n + n_test]
        learn, test = order[: p.n], order[p.n :]
        return TrainingTask(X[learn], y[learn], X[test], y[test])
    U = directions(p, rng)
    X = rng.standard_normal((p.n + n_test, p.d))
    y = p.teacher_function.labels(X @ U)
    noisy = y[: p.n] + p.noise * rng.standard_normal(p.n)
    return TrainingTask(X[: p.n], noisy, X[p.n :], y[p.n :])


def directions(p: Problem, rng: np.random.Generator) -> Floats:
    """Return random orthonormal directions of the teacher, (d, indices): no input is special."""
    return np.linalg.qr(rng.standard_normal((p.d, p.teacher_function.indices)))[0]


def choose_and_fit(
    p: Problem, task: TrainingTask, start: Start, name: str, device: str
) -> tuple[tuple[float, float], Floats]:
    """Return the chosen setting of a method and its predictions on the test rows."""
    rates, others, quarter = RATES[name], PENALTIES.get(name, BUDGETS), len(task.y) // 4
    # full training is tuned for labels of one size; ridge scales with them
    mean, scale = (task.y.mean(), task.y.std()) if name == "trained" else (0.0, 1.0)
    X, y = task.X, (task.y - mean) / scale
    ops = get_ops(device, "float32" if name == "trained" else "float64")

    def predicted(first_row: int, rates: Floats, others: Floats, X_new: Floats) -> Floats:
        """Return predictions (rates, others, rows) from the rows beginning with `first_row`."""
        rows = slice(first_row, None)
        if name == "trained":
            outputs = []
            for share in others:
                batches = start.orders[: round(share * len(start.orders))]
                theta = adamw(p.sigma, X[rows], y[rows], start._replace(orders=batches), rates, ops)
                outputs.append(to_numpy(output(p.sigma, theta, ops.asarray(X_new))))
            return np.stack(outputs, 1)
        Z, t, Z_new, W, a = map(ops.asarray, (X[rows], y[rows], X_new, start.W, start.a))
        weights = stepped_weights(p, Z, t, W, a, rates, STEPS[name])
        return to_numpy(ridge_predictions(p.sigma, weights, Z, t, Z_new, others, ops))

    with np.errstate(over="ignore", invalid="ignore"):  # a rate that is too large diverges
        held_out = predicted(quarter, rates, others, X[:quarter])
        errors = ((held_out - y[:quarter]) ** 2).mean(-1)
        # a setting that diverged has no error, and is never the best
        finite = np.where(np.isfinite(errors), errors, np.inf)
        i, j = divmod(int(finite.argmin()), len(others))
        ((predictions,),) = predicted(0, rates[i : i + 1], others[j : j + 1], task.X_test)
    return (rates[i], others[j]), mean + scale * predictions


# -- gradient steps on the first layer, then ridge -------------------------------------------


def stepped_weights(
    p: Problem, X: Array, y: Array, W: Array, a: Array, rates: Floats, steps: int
) -> Array:
    """Return the weights (rates, N, d) after some steps of each size on all rows.

    The residual is y - a.sigma(Wx)/sqrt(N), centred.
    """
    stack = []
    for rate in rates:
        V = W
        for _ in range(steps):
            P = X @ V.T
            r = y - p.sigma(P) @ a / math.sqrt(p.N)
            back = (r - r.mean())[:, None] * p.sigma.derivative(P) * a / len(r)
            V = V + float(rate) * (back.T @ X)
        stack.append(V)
    return namespace(X).stack(stack)


def ridge_predictions(
    sigma: Function, W: Array, X: Array, y: Array, X_new: Array, ridges: Floats, ops: Ops
) -> Array:
    """Return ridge with a constant on the features sigma(W x), at new rows: (C, ridges, rows).

    W is (C, N, d); ridges are in units of the features' mean variance.
    """
    predictions = []
    for V in W:
        equations = normal_equations(ops, sigma(X @ V.T)[None], y[None], intercept=True)
        scale = float(equations.G[0].diagonal().sum()) / len(V)
        if not 0 < scale < math.inf:  # too large a step: no neuron is left, and the mean is fitted
            predictions.append(y.mean() + ops.zeros(len(ridges), len(X_new)))
            continue
        fit = equations.path((scale * ridges).tolist())
        predictions.append(transpose(sigma(X_new @ V.T) @ fit.coef[0] + fit.intercept[0]))
    return namespace(X).stack(predictions)


# -- full training ---------------------------------------------------------------------------


def adamw(
    sigma: Function, X: Floats, y: Floats, start: Start, rates: Floats, ops: Ops
) -> list[Array]:
    """Train both layers by AdamW on minibatches, with all rates at once.

    A rate falls as a cosine to zero, and both layers decay, as in Loshchilov and Hutter 2019.

    Returns W (C, N, d), a (C, N, 1) and the constant (C, 1).
    """
    rows = (start.orders * len(X)).astype(int)  # (steps, B)
    X, y, rate = map(ops.asarray, (X, y, rates))
    index = namespace(X).asarray(rows, device=X.device) if is_torch(X) else rows
    C, one = len(rate), ops.zeros(len(rate), 1, 1) + 1
    theta = [ops.asarray(start.W) * one, ops.asarray(start.a)[:, None] * one, ops.zeros(C, 1)]

    def gradients(batch: Array) -> list[Array]:
        x, target = X[batch], y[batch]
        P = x @ transpose(theta[0])
        F, a = sigma(P), theta[1]
        r = ((F @ a)[..., 0] + theta[2] - target) / BATCH_ROWS  # (C, B)
        back = r[..., None] * sigma.derivative(P) * transpose(a)
        return [transpose(back) @ x, transpose(F) @ r[..., None], r.sum(-1)[:, None]]

    batches = [(index[t], t / len(rows)) for t in range(len(rows))]
    train(theta, gradients, lambda: batches, Schedule(rate, decay=WEIGHT_DECAY))
    return theta


def output(sigma: Function, theta: list[Array], X: Array) -> Array:
    """Return the networks' outputs (C, rows) at X (rows, d)."""
    W, a, constant = theta
    return (sigma(X @ transpose(W)) @ a)[..., 0] + constant


# -- the teacher's subspace, as rounds of AlternatingRegressor find it ---------------------


@per_seed
def rounds(cell: Cell, _device: str, seed: int) -> CellValues:
    """Return what AlternatingRegressor has learned after at most some rounds, one per seed.

    overlap : mean squared cosine of the metric's leading subspace with the teacher's; spectral,
    tanh : those of one look at the moments of the same rows, with the labels and with tanh of the
    labels over their standard deviation; risk : test error without noise over the
    labels' variance.
    """
    from onegrad.tables import AlternatingRegressor  # scikit-learn, which no other cell needs

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
        "tanh": overlap(spectral_subspace(X, np.tanh(y / y.std()), U.shape[1]), U),
        "risk": (miss**2).mean() / y_test.var(),
    }


def spectral_subspace(X: Floats, y: Floats, count: int) -> Floats:
    r"""Return the leading eigenvectors of M^2 + h h^T, (d, count): one look, nothing is trained.

    .. math:: M = \frac1n\sum_i (y_i-\bar y)(x_ix_i^\top - I),\qquad h = X^\top y/n
    """
    centred = y - y.mean()
    h = X.T @ centred / len(y)
    M = (X * centred[:, None]).T @ X / len(y)  # the identity has the weight mean(y - mean) = 0
    return np.linalg.eigh(M @ M + np.outer(h, h))[1][:, -count:]


def overlap(V: Floats, U: Floats) -> float:
    """Return the mean squared cosine of two subspaces with orthonormal bases (d, k)."""
    return float(((U.T @ V) ** 2).sum() / U.shape[1])
