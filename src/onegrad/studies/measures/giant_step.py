r"""One giant step on labels without their linear part: several data sets for each network.

The linear part of labels y over rows X is :math:`\bar y + x\cdot B`, :math:`B = X^\top y/n`. Four
protocols differ in the residual of the step, y or :math:`y - f_0/\sqrt N`, and in the rows whose
linear part is taken off the test labels: those of training, or the test rows themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from onegrad.arrays import Array, get_ops, namespace
from onegrad.experiments.cell import Cell
from onegrad.experiments.measure import CellValues, option_of, per_seed
from onegrad.networks.network import draw_readout, draw_weights
from onegrad.networks.streams import GAUSSIAN, Purpose, Streams
from onegrad.networks.teacher import Teacher
from onegrad.problem import Problem

CHUNK_ROWS = 16_384  # a multiple of the rows that share a stream
ONCE = ("plain", "least_squares")  # for the first data set of a network only
_RESIDUALS = {  # protocols by the residual of the step: training rows' linear part, test rows' own
    "labels": ("own", "test_rows"),
    "mean-field": ("output", "notebook"),
}
PROTOCOLS = tuple(name for names in _RESIDUALS.values() for name in names)
Rows = list[tuple[Array, Array]]  # chunks of inputs (rows, d) and labels (rows,)


@per_seed
def giant_step(cell: Cell, device: str, seed: int) -> CellValues:
    """Return test errors of one network per seed and of several data sets each.

    own, output, test_rows, notebook : (seeds, 1, 1, data sets), the linear part off by moments and
    the residual y; the residual y - f_0/sqrt(N); test labels without their own rows' linear part;
    both. plain, least_squares : (seeds, 1, 1), labels as they are, and without the fit of least
    squares, on the first data set.
    """
    n_test, data_sets = option_of(cell, "n_test", 100_000), option_of(cell, "data_sets", 1)
    network = GiantStep.of(cell.problem, seed, device)
    errors = [network.errors(k, n_test, cell.etas[0], cell.ridges[0]) for k in range(data_sets)]
    by_data_set = {name: np.array([[[e[name] for e in errors]]]) for name in PROTOCOLS}
    return by_data_set | {name: np.array([[errors[0][name]]]) for name in ONCE}


@dataclass(frozen=True)
class GiantStep:
    """One network and its teacher; every data set is drawn by its number."""

    problem: Problem
    streams: Streams
    teacher: Teacher
    W: Array  # (N, d)
    a: Array  # (N,)

    @classmethod
    def of(cls, problem: Problem, seed: int, device: str) -> GiantStep:
        """Draw the network of a seed; the device draws where it can."""
        ops = get_ops(device)
        streams = Streams((seed,), ops, ops.executor.prefers_to_draw)
        W, a = draw_weights(problem, streams)[0], draw_readout(problem, streams)[0]
        return cls(problem, streams, Teacher.of(problem, streams), W, a)

    def errors(self, data_set: int, n_test: int, eta: float, ridge: float) -> dict[str, float]:
        """Return the test error of every protocol on one data set."""
        train = self.rows(Purpose.STEP, data_set, self.problem.n)
        test = self.rows(Purpose.TEST, data_set, n_test)
        moments, own = moment_fit(train), moment_fit(test)
        errors: dict[str, float] = {}
        for residual, names in _RESIDUALS.items():
            fitted = self.fit(train, moments, residual, eta, ridge)
            values = self.test_errors(test, (moments, own), fitted)
            errors.update(zip(names, values, strict=True))
        if data_set == 0:
            for name, part in (("plain", None), ("least_squares", least_squares(train))):
                fitted = self.fit(train, part, "labels", eta, ridge)
                (errors[name],) = self.test_errors(test, (part,), fitted)
        return errors

    def rows(self, purpose: Purpose, data_set: int, count: int) -> Rows:
        """Return the rows of a data set."""
        chunks = []
        for start in range(0, count, CHUNK_ROWS):
            size = min(CHUNK_ROWS, count - start)
            key = (purpose, data_set)
            X = self.streams.entries(GAUSSIAN, key, start, size, self.problem.d)
            chunks.append((X[0], self.teacher.clean_labels(X)[0]))
        return chunks

    def fit(
        self,
        rows: Rows,
        taken_off: LinearPart | None,
        residual: str,
        eta: float,
        ridge: float,
    ) -> tuple[Array, Array]:
        """Return the weights after the step and the readout of ridge on the same rows."""
        p, ops, n = self.problem, self.streams.ops, self.problem.n
        scale = p.replace(residual=residual).output_scale
        G, C, b = ops.zeros(1, p.N, p.d), ops.zeros(1, p.N, p.N), ops.zeros(1, p.N)
        for X, y in rows:
            P = X @ self.W.T
            r = y if taken_off is None else y - taken_off(X)
            if scale:
                r = r - scale * (p.sigma(P) @ self.a)
            ops.add_product(G, p.sigma.derivative(P)[None], (r[:, None] * X)[None])
        W = self.W + eta / n * self.a[:, None] * G[0]
        for X, y in rows:
            F = p.sigma(X @ W.T)
            ops.add_gram(C, F[None])
            r = y if taken_off is None else y - taken_off(X)
            ops.add_weighted_rows(b, r[None], F[None])
        C /= n
        return W, ops.solve_shifted(C, [ridge], b / n)[0][0, 0]

    def test_errors(
        self, rows: Rows, taken_off: Sequence[LinearPart | None], fitted: tuple[Array, Array]
    ) -> list[float]:
        """Return the mean squares of what the network misses of labels without a linear part."""
        W, readout = fitted
        totals = [0.0] * len(taken_off)
        for X, y in rows:
            miss = y - self.problem.sigma(X @ W.T) @ readout
            for i, part in enumerate(taken_off):
                rest = miss if part is None else miss - part(X)
                totals[i] += float((rest * rest).sum())
        count = sum(len(y) for _, y in rows)
        return [total / count for total in totals]


@dataclass(frozen=True)
class LinearPart:
    """A mean and a linear function of the inputs."""

    mean: Array
    beta: Array  # (d,)

    def __call__(self, X: Array) -> Array:
        return self.mean + X @ self.beta


def moment_fit(rows: Rows) -> LinearPart:
    """Return the mean of the labels and X^T y/n."""
    n = sum(len(y) for _, y in rows)
    return LinearPart(sum(y.sum() for _, y in rows) / n, sum(X.T @ y for X, y in rows) / n)


def least_squares(rows: Rows) -> LinearPart:
    """Return the fit of least squares with a constant, for more rows than inputs."""
    n = sum(len(y) for _, y in rows)
    moments = moment_fit(rows)
    centre = sum(X.sum(0) for X, _ in rows) / n
    C = sum(X.T @ X for X, _ in rows) / n - centre[:, None] * centre
    beta = namespace(C).linalg.solve(C, moments.beta - moments.mean * centre)
    return LinearPart(moments.mean - centre @ beta, beta)
