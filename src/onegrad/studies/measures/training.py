r"""One task for one network: untrained, after one step, after five, and fully trained by AdamW.

The network is :math:`f(x) = a\cdot\sigma(Wx) + c`, without biases inside unless an option asks for
them. Every method tries SETTINGS settings; a quarter of the rows chooses among them, and the chosen
one is fitted again to all rows:

    untrained    the penalty of the readout
    steps        the size of the steps and the penalty of the readout
    trained      the rate of AdamW, which falls as a cosine to zero, and its weight decay

Arrays carry the seeds S first, then the settings C.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from onegrad.arrays import Array, Floats, Ops, get_ops, is_torch, namespace, to_numpy, transpose
from onegrad.experiments.cell import Cell
from onegrad.experiments.measure import CellValues, option_of, seeds_of
from onegrad.functions.function import Function
from onegrad.layers.adam import BETA2, EPSILON, AdamSteps
from onegrad.problem import Problem
from onegrad.studies.measures.data_sets import read_images

METHODS = ("untrained", "one-step", "five-steps", "trained")
STEPS = {"untrained": 0, "one-step": 1, "five-steps": 5}
RATES = {  # of the steps, and of AdamW
    "untrained": np.zeros(1),
    "one-step": np.geomspace(2**-5, 2**11, 9),
    "five-steps": np.geomspace(2**-7, 2**9, 9),
    "trained": np.geomspace(1e-3, 0.3, 6),
}
PENALTIES = {  # of the readout, in units of the features' mean variance; and the weight decay
    "untrained": np.geomspace(1e-6, 100, 36),
    "one-step": np.geomspace(1e-6, 1, 4),
    "five-steps": np.geomspace(1e-6, 1, 4),
    "trained": np.geomspace(1e-3, 10, 6),
}
SETTINGS = 36  # that each method tries
BATCH_ROWS = 64
DEFAULT_BUDGET = {"adam_steps": 3000, "n_test": 20_000}


class TrainingTask(NamedTuple):
    """Rows to learn from and rows to test on, (S, rows, d) and (S, rows); without S of one seed."""

    X: Floats
    y: Floats
    X_test: Floats
    y_test: Floats


class Start(NamedTuple):
    """Untrained networks, one per seed, and the order in which minibatches take the rows."""

    W: Floats  # (S, N, d)
    a: Floats  # (S, N)
    orders: Floats  # (S, steps, BATCH_ROWS) in [0, 1): shares of the rows


def methods(cell: Cell, device: str) -> CellValues:
    """Return the test errors over the labels' variance, and the settings chosen, by method.

    test_METHOD, rate_METHOD, penalty_METHOD : (seeds,).
    """
    p, data = cell.problem, option_of(cell, "data", "teacher")
    steps, n_test = (option_of(cell, name, number) for name, number in DEFAULT_BUDGET.items())
    tasks, starts = [], []
    for seed in seeds_of(cell):
        rng = np.random.default_rng((seed, p.n, p.d))
        tasks.append(draw_task(p, data, n_test, rng))
        starts.append(draw_start(p, steps, rng))
    task = TrainingTask(*map(np.stack, zip(*tasks, strict=True)))
    start = Start(*map(np.stack, zip(*starts, strict=True)))
    values: dict[str, Floats] = {}
    for name in METHODS:
        if name == "trained":
            biases = option_of(cell, "biases", False)
            chosen, predictions = _trained(p, task, start, device, biases)
        else:
            chosen, predictions = _stepped(p, task, start, device, name)
        error = ((task.y_test - predictions) ** 2).mean(1) / task.y_test.var(1)
        rate, penalty = np.divmod(chosen, len(PENALTIES[name]))
        values |= {f"test_{name}": error, f"rate_{name}": RATES[name][rate]}
        values[f"penalty_{name}"] = PENALTIES[name][penalty]
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
    y = np.asarray(p.teacher_function.labels(X @ U))
    noisy = y[: p.n] + p.noise * rng.standard_normal(p.n)
    return TrainingTask(X[: p.n], noisy, X[p.n :], y[p.n :])


def directions(p: Problem, rng: np.random.Generator) -> Floats:
    """Return random orthonormal directions of the teacher, (d, indices): no input is special."""
    return np.asarray(np.linalg.qr(rng.standard_normal((p.d, p.teacher_function.indices)))[0])


def draw_start(p: Problem, steps: int, rng: np.random.Generator) -> Start:
    """Return the network of one seed and the order of its rows."""
    W = rng.standard_normal((p.N, p.d)) / math.sqrt(p.d)
    a = rng.standard_normal(p.N) / math.sqrt(p.N)
    return Start(W, a, rng.random((steps, BATCH_ROWS)))


# -- gradient steps on the first layer, then ridge -------------------------------------------


def _stepped(
    p: Problem, task: TrainingTask, start: Start, device: str, name: str
) -> tuple[Floats, Floats]:
    """Return the chosen setting of each seed and the predictions on its test rows."""
    ops, chosen, predictions = get_ops(device), [], []
    for arrays in zip(task.X, task.y, task.X_test, start.W, start.a, strict=True):
        X, y, X_test, W, a = map(ops.asarray, arrays)
        quarter = len(y) // 4
        rates, ridges = RATES[name], ops.asarray(PENALTIES[name])
        weights = stepped_weights(p, X[quarter:], y[quarter:], W, a, rates, STEPS[name])
        fitted = ridge_predictions(
            p.sigma, weights, X[quarter:], y[quarter:], X[:quarter], ridges, ops
        )  # (rates, ridges, rows)
        best = _best(to_numpy(((y[:quarter] - fitted) ** 2).mean(-1)).ravel())
        i, j = divmod(best, len(ridges))
        again = stepped_weights(p, X, y, W, a, rates[i : i + 1], STEPS[name])
        output = ridge_predictions(p.sigma, again, X, y, X_test, ridges[j : j + 1], ops)
        chosen.append(best)
        predictions.append(to_numpy(output[0, 0]))
    return np.array(chosen), np.array(predictions)


def _best(errors: Floats) -> int:
    """Return the position of the lowest error; a setting that diverged has none."""
    return int(np.where(np.isfinite(errors), errors, np.inf).argmin())


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
    sigma: Function, W: Array, X: Array, y: Array, X_new: Array, ridges: Array, ops: Ops
) -> Array:
    """Return ridge with a constant on the features sigma(W x), at new rows: (C, ridges, rows).

    W is (C, N, d); ridges are in units of the features' mean variance.
    """
    xp, outputs = namespace(X), []
    eye = ops.asarray(np.eye(W.shape[1]))
    for k in range(len(W)):
        F = sigma(X @ W[k].T)
        mean = F.mean(0)
        F = F - mean
        C = F.T @ F / len(y)
        b = F.T @ (y - y.mean()) / len(y)
        scale = float(xp.trace(C)) / len(C)
        if not 0 < scale < math.inf:  # too large a step: no neuron is left, and the mean is fitted
            outputs.append(y.mean() + 0 * ridges[:, None] * X_new[:, 0])
            continue
        lam = ridges * scale
        A = C + lam[:, None, None] * eye
        coef = xp.linalg.solve(A, (b + 0 * lam[:, None])[..., None])[..., 0]  # (ridges, N)
        outputs.append(coef @ (sigma(X_new @ W[k].T) - mean).T + y.mean())
    return xp.stack(outputs)


# -- full training ---------------------------------------------------------------------------


def _trained(
    p: Problem, task: TrainingTask, start: Start, device: str, biases: bool
) -> tuple[Floats, Floats]:
    """Return the chosen setting of each seed and the predictions on its test rows."""
    seeds, n = task.y.shape
    quarter = n // 4
    mean, scale = task.y.mean(1)[:, None], task.y.std(1)[:, None]
    y = (task.y - mean) / scale
    rates, decays = (
        v.ravel() for v in np.meshgrid(RATES["trained"], PENALTIES["trained"], indexing="ij")
    )
    all_settings = np.broadcast_to(np.stack([rates, decays]), (seeds, 2, len(rates)))
    ops = get_ops(device, "float32")

    def train(first_row: int, settings: Floats) -> list[Array]:
        return adamw(p.sigma, task.X[:, first_row:], y[:, first_row:], start, settings, biases, ops)

    with np.errstate(over="ignore", invalid="ignore"):  # a rate that is too large diverges
        X_held = ops.asarray(task.X[:, :quarter])[:, None]
        held_out = to_numpy(output(p.sigma, train(quarter, all_settings), X_held))
        errors = ((held_out - y[:, None, :quarter]) ** 2).mean(-1)  # (S, C)
    chosen = np.array([_best(of_seed) for of_seed in errors])
    best = all_settings[np.arange(seeds), :, chosen][..., None]  # (S, 2, 1)
    X_test = ops.asarray(task.X_test)[:, None]
    predictions = to_numpy(output(p.sigma, train(0, best), X_test))[:, 0]
    return chosen, mean + scale * predictions


def output(sigma: Function, theta: list[Array], X: Array) -> Array:
    """Return the networks' outputs (S, C, rows) at X (S, 1, rows, d)."""
    W, a, c, *b = theta
    P = X @ transpose(W)
    if b:
        P = P + b[0][..., None, :]
    return (sigma(P) @ a)[..., 0] + c


def adamw(
    sigma: Function, X: Floats, y: Floats, start: Start, settings: Floats, biases: bool, ops: Ops
) -> list[Array]:
    """Train both layers by AdamW on minibatches: all seeds and settings at once.

    X (S, n, d); settings (S, 2, C) are the rate, which falls as a cosine to zero, and the decay of
    both layers, as in Loshchilov and Hutter 2019. Returns W (S, C, N, d), a (S, C, N, 1), the
    constant (S, C, 1) and, with biases, those of the neurons (S, C, N).
    """
    seeds, _, count = settings.shape
    rows = (start.orders * X.shape[1]).astype(int)  # (S, steps, B)
    rows = rows + X.shape[1] * np.arange(seeds)[:, None, None]  # of all seeds' rows together
    X, y = ops.asarray(X.reshape(-1, X.shape[-1])), ops.asarray(y.ravel())
    index = namespace(X).asarray(rows, device=X.device) if is_torch(X) else rows
    rate, decay = ops.asarray(settings[:, 0]), ops.asarray(settings[:, 1])  # (S, C)
    one = ops.zeros(1, count, 1, 1) + 1
    theta = [
        ops.asarray(start.W)[:, None] * one,
        ops.asarray(start.a)[:, None, :, None] * one,
        ops.zeros(seeds, count, 1),
    ]
    if biases:
        theta.append(ops.zeros(seeds, count, start.W.shape[1]))
    adam, steps = AdamSteps(theta), rows.shape[1]
    for t in range(steps):
        x, target = X[index[:, t]][:, None], y[index[:, t]][:, None]
        W, a, c, *b = theta
        P = x @ transpose(W)  # (S, C, B, N)
        if b:
            P = P + b[0][..., None, :]
        F = sigma(P)
        r = ((F @ a)[..., 0] + c - target) / BATCH_ROWS  # (S, C, B)
        back = r[..., None] * sigma.derivative(P) * transpose(a)
        gradient = [transpose(back) @ x, transpose(F) @ r[..., None], r.sum(-1)[..., None]]
        if b:
            gradient.append(back.sum(-2))
        cosine = 0.5 * (1 + math.cos(math.pi * t / steps))
        # beside the root of the uncorrected squares, where early steps feel it more: the stored
        # findings were trained so, and another place moves them by more than rounding
        epsilon = EPSILON / math.sqrt(1 - BETA2 ** (t + 1))
        adam.step(gradient, cosine * rate, decay, epsilon)
    return theta
