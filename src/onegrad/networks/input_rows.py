"""The inputs of a stack of replicates: random by their law, or a user's rows."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from onegrad.arrays import Array, Floats
from onegrad.networks.streams import (
    ENTRY_LAWS,
    GAUSSIAN,
    RANDOM_SIGNS,
    Purpose,
    Streams,
    generator,
)
from onegrad.problem import Problem
from onegrad.problem.laws import Law


@dataclass(frozen=True)
class RowSet:
    """Rows that a step, the ridge fit or the test uses; `batch` counts those of the steps."""

    purpose: Purpose
    count: int
    batch: int = 0


def step_rows(problem: Problem, step: int) -> RowSet:
    """Return the rows of one gradient step: a fresh batch, or the first again."""
    batch = step if problem.batches == "fresh" else 0
    return RowSet(Purpose.STEP, problem.rows_of_step, batch)


def ridge_rows(problem: Problem) -> RowSet:
    """Return the rows of the ridge fit: fresh ones, or those of the first step."""
    purpose = Purpose.RIDGE if problem.ridge_rows == "fresh" else Purpose.STEP
    return RowSet(purpose, problem.n)


def rows_before(problem: Problem, rows: RowSet) -> int:
    """Return how many of a user's rows come first: those of the steps, then ridge, then test."""
    if rows.purpose == Purpose.STEP:
        return rows.batch * problem.rows_of_step
    batches = problem.steps if problem.batches == "fresh" else 1
    ridge = problem.n if rows.purpose == Purpose.TEST and problem.ridge_rows == "fresh" else 0
    return batches * problem.rows_of_step + ridge


@dataclass(frozen=True)
class InputRows:
    """The law of the inputs with all that is drawn once, or a user's rows in random orders.

    direction : of a spiked law or of a mixture, (B, 1, d).
    scales : square roots of the eigenvalues of a power law, (d,).
    data, orders : a user's rows, and the order in which each replicate takes them.
    """

    problem: Problem
    streams: Streams
    law: Law
    direction: Array | None = None
    scales: Array | None = None
    data: Floats | None = None
    orders: tuple[Any, ...] = ()

    @classmethod
    def of(
        cls, problem: Problem, streams: Streams, beta_star: Array, data: Floats | None
    ) -> InputRows:
        """Draw what all rows share; `beta_star` are the teacher's directions, (B, d, indices)."""
        law, d = problem.input_law, problem.d
        if data is not None:
            orders = [generator(s, Purpose.ORDER).permutation(len(data)) for s in streams.seeds]
            return cls(problem, streams, law, data=data, orders=tuple(orders))
        if law.name in ENTRY_LAWS:
            return cls(problem, streams, law)
        if law.name == "power-law":  # eigenvalues k^-p, mean 1
            assert law.parameter is not None
            spectrum = np.arange(1, d + 1) ** -law.parameter
            scales = streams.ops.asarray(np.sqrt(spectrum / spectrum.mean()))
            return cls(problem, streams, law, scales=scales)
        v = streams.entries(GAUSSIAN, (Purpose.DIRECTION,), 0, 1, d)
        v /= (v * v).sum(-1)[..., None] ** 0.5
        if problem.input_overlap:
            v = _turned(v, beta_star[:, None, :, 0], problem.input_overlap)
        return cls(problem, streams, law, direction=v)

    def begin(self, rows: RowSet, start: int, count: int) -> Callable[[], Array]:
        """Let the thread pool begin to draw; calling the result returns inputs (B, count, d)."""
        if self.data is not None:
            return lambda: self._user_rows(rows, start, count)
        entries = self.law if self.law.name in ENTRY_LAWS else GAUSSIAN
        key = (rows.purpose, rows.batch)
        drawn = self.streams.begin_entries(entries, key, start, count, self.problem.d)
        return lambda: self._shaped(drawn(), rows, start, count)

    def _shaped(self, X: Array, rows: RowSet, start: int, count: int) -> Array:
        """Return independent entries with the covariance of the law."""
        if self.scales is not None:
            X *= self.scales
            return X
        if self.direction is None:
            return X
        assert self.law.parameter is not None
        if self.law.name == "spiked":  # covariance I + s v v^T = (I + (sqrt(1+s) - 1) v v^T)^2
            projections = (X * self.direction).sum(-1)[..., None]
            shift = (math.sqrt(1 + self.law.parameter) - 1) * projections
        else:  # a mixture of two centres
            key = (Purpose.SIGN, rows.purpose, rows.batch)
            shift = self.law.parameter * self.streams.entries(RANDOM_SIGNS, key, start, count, 1)
        return X + shift * self.direction

    def _user_rows(self, rows: RowSet, start: int, count: int) -> Array:
        """Return rows of the user's data, each of which is used once."""
        assert self.data is not None
        first = rows_before(self.problem, rows) + start
        picked = [self.data[order[first : first + count]] for order in self.orders]
        return self.streams.ops.asarray(np.stack(picked))


def _turned(v: Array, beta_star: Array, cosine: float) -> Array:
    """Return unit vectors (B, 1, d) turned to have this cosine with the teacher's first."""
    off = v - (v * beta_star).sum(-1)[..., None] * beta_star
    off /= (off * off).sum(-1)[..., None] ** 0.5
    return cosine * beta_star + math.sqrt(1 - cosine**2) * off
