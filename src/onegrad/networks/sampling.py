"""The data of a stack of replicates: inputs, teacher and labels block by block, sums over them."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from onegrad.arrays import Array, ExecutionPolicy, Floats, Ops, namespace, to_numpy
from onegrad.networks.streams import (
    ENTRY_LAWS,
    GAUSSIAN,
    RANDOM_SIGNS,
    UNIT_INTERVAL,
    Purpose,
    Streams,
    generator,
)
from onegrad.parallel.threads import pool_map
from onegrad.problem import Law, Problem

MIN_RELATIVE_EIGENVALUE = 1e-6  # of a covariance of full rank; smaller ones are rounding
Tick = Callable[[], None]  # called after every block of rows: progress and interruption
Sums = TypeVar("Sums")


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


# -- inputs: random by their law, or a user's rows -----------------------------------------


@dataclass(frozen=True)
class InputRows:
    """The law of the inputs with all that is drawn once, or a user's rows in random orders.

    Independent entries have the covariance I, `spiked(s)` I + s v v^T and `mixture(m)`, with
    centres +-m v, I + m^2 v v^T, for a unit vector v; neither is rescaled. That of a power law is
    rescaled to the mean variance 1.

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
        if law.name == "power-law":  # eigenvalues k^-p
            # of mean 1: rows are as long on average as those of independent entries
            assert law.parameter is not None
            spectrum = np.arange(1, d + 1) ** -law.parameter
            scales = streams.ops.asarray(np.sqrt(spectrum / spectrum.mean()))
            return cls(problem, streams, law, scales=scales)
        v = streams.entries(GAUSSIAN, (Purpose.DIRECTION,), 0, 1, d)
        v /= (v * v).sum(-1)[..., None] ** 0.5
        if problem.input_overlap:  # turned to have this cosine with the teacher's first
            star, cosine = beta_star[:, None, :, 0], problem.input_overlap
            off = v - (v * star).sum(-1)[..., None] * star
            off /= (off * off).sum(-1)[..., None] ** 0.5
            v = cosine * star + math.sqrt(1 - cosine**2) * off
        return cls(problem, streams, law, direction=v)

    def begin(self, rows: RowSet, start: int, count: int) -> Callable[[], Array]:
        """Let the thread pool begin to draw; calling the result returns inputs (B, count, d)."""
        if self.data is not None:  # each row is used once
            data, first = self.data, rows_before(self.problem, rows) + start
            rows_of = [data[order[first : first + count]] for order in self.orders]
            return lambda: self.streams.ops.asarray(np.stack(rows_of))
        return self._begin_drawing((rows.purpose, rows.batch), start, count)

    def others(self, rows: RowSet, start: int, count: int) -> Array:
        """Return as many other rows of the same law, or any of a user's rows."""
        key = (Purpose.REPLACE, rows.purpose, rows.batch)
        if self.data is None:
            return self._begin_drawing(key, start, count)()
        u = self.streams.entries(UNIT_INTERVAL, key, start, count, 1)[..., 0]
        return self.streams.ops.asarray(self.data[(to_numpy(u) * len(self.data)).astype(int)])

    def _begin_drawing(self, key: tuple[int, ...], start: int, count: int) -> Callable[[], Array]:
        entries = self.law if self.law.name in ENTRY_LAWS else GAUSSIAN
        drawn = self.streams.begin_entries(entries, key, start, count, self.problem.d)
        return lambda: self._shaped(drawn(), key, start, count)

    def _shaped(self, X: Array, key: tuple[int, ...], start: int, count: int) -> Array:
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
            signs = self.streams.entries(RANDOM_SIGNS, (Purpose.SIGN, *key), start, count, 1)
            shift = self.law.parameter * signs
        return X + shift * self.direction


# -- labels --------------------------------------------------------------------------------


@dataclass(frozen=True)
class SampleBlock:
    """Consecutive rows of a purpose: inputs and labels of a stack of replicates.

    X has shape (B, rows, d); `clean` is sigma_star(beta_star . x), and `y` adds noise and
    corruption.
    """

    purpose: Purpose
    start: int
    X: Array
    clean: Array
    y: Array

    def parts(self, rows: int) -> Iterator[SampleBlock]:
        """Yield the block as blocks of at most `rows` rows."""
        for i in range(0, self.X.shape[1], rows):
            X, clean, y = (x[:, i : i + rows] for x in (self.X, self.clean, self.y))
            yield SampleBlock(self.purpose, self.start + i, X, clean, y)


@dataclass(frozen=True)
class LinearFit:
    """The part taken off all labels: a mean and, where `beta` is set, x . beta."""

    mean: Array  # (B,)
    beta: Array | None  # (B, d)

    def __call__(self, X: Array) -> Array:
        """Return the fit at inputs (B, rows, d)."""
        if self.beta is None:
            return self.mean[:, None] + 0 * X[..., 0]
        return self.mean[:, None] + (X @ self.beta[..., None])[..., 0]


@dataclass(frozen=True)
class Sampler:
    """The data of a stack of replicates of one problem, one replicate per seed."""

    problem: Problem
    streams: Streams
    beta_star: Array  # the teacher's directions, (B, d, indices): orthonormal, uniform
    inputs: InputRows
    policy: ExecutionPolicy
    tick: Tick = lambda: None
    label_fit: LinearFit | None = None

    @classmethod
    def of(
        cls,
        problem: Problem,
        seeds: Sequence[int],
        ops: Ops,
        *,
        policy: ExecutionPolicy | None = None,
        data: Floats | None = None,
        device_random: bool = False,
        tick: Tick = lambda: None,
    ) -> Sampler:
        """Draw what all rows share: the teacher's directions and those of the input law.

        policy : how much is done at a time; None means one thread.
        data : a user's rows instead of random inputs.
        device_random : True if the device's own generator draws.
        """
        streams = Streams(tuple(seeds), ops, device_random)
        beta_star = draw_directions(problem, streams)
        inputs = InputRows.of(problem, streams, beta_star, data)
        policy = policy or ops.policy(threads=1)
        sampler = cls(problem, streams, beta_star, inputs, policy, tick)
        if problem.labels == "plain":
            return sampler
        first_batch = step_rows(problem, 0)
        return replace(sampler, label_fit=linear_fit(sampler, first_batch, problem.labels))

    @property
    def ops(self) -> Ops:
        return self.streams.ops

    @property
    def stack_size(self) -> int:
        """Number of replicates, B."""
        return len(self.streams.seeds)

    def blocks(self, rows: RowSet, worker: int = 0, workers: int = 1) -> Iterator[SampleBlock]:
        """Yield the rows block by block: of K workers, number k gets the blocks k, k + K, ..."""
        p, policy = self.problem, self.policy if workers == 1 else self.policy.worker
        size = policy.block_rows(1024, self.stack_size * max(p.N, p.d))
        starts = range(worker * size, rows.count, workers * size)
        coming = deque((start, min(size, rows.count - start)) for start in starts)
        begun: deque[tuple[int, Callable[[], Array]]] = deque()
        max_begun = 2 if policy.threads > 1 else 1  # the pool draws the next block meanwhile
        while coming or begun:
            while coming and len(begun) < max_begun:
                start, count = coming.popleft()
                begun.append((start, self.inputs.begin(rows, start, count)))
            start, make_inputs = begun.popleft()
            X = make_inputs()
            del make_inputs  # and the buffer on the host that it holds
            y = clean = self.clean_labels(X)
            if rows.purpose != Purpose.TEST:
                y = self.noisy_labels(clean, rows, start)
            if self.label_fit is not None:
                fitted = self.label_fit(X)
                clean, y = clean - fitted, y - fitted
            yield SampleBlock(rows.purpose, start, X, clean, y)
            self.tick()

    def clean_labels(self, X: Array) -> Array:
        """Return sigma_star of the indices of X, (B, rows)."""
        f = self.problem.teacher_function
        return self.ops.by_rows(lambda i: f.labels(X[:, i] @ self.beta_star), X.shape[1])

    def noisy_labels(self, clean: Array, rows: RowSet, start: int) -> Array:
        """Add noise; replace a fraction of the labels by those of other rows."""
        p, y, count, key = self.problem, clean, clean.shape[1], (rows.purpose, rows.batch)
        entries = self.streams.entries
        if p.corrupted:
            u = entries(UNIT_INTERVAL, (Purpose.CORRUPT, *key), start, count, 1)[..., 0]
            y = y + (u < p.corrupted) * (self._other_labels(rows, start, count) - clean)
        if p.noise:
            noise = entries(p.noise_distribution, (Purpose.NOISE, *key), start, count, 1)
            y = y + p.noise * noise[..., 0]
        return y

    def _other_labels(self, rows: RowSet, start: int, count: int) -> Array:
        """Return clean labels of other rows, (B, count)."""
        f = self.problem.teacher_function
        if self.inputs.data is None and self.inputs.law == GAUSSIAN:
            # no whole rows are needed: their indices are independent normals
            key = (Purpose.REPLACE, rows.purpose, rows.batch)
            return f.labels(self.streams.entries(GAUSSIAN, key, start, count, f.indices))
        return self.clean_labels(self.inputs.others(rows, start, count))

    def all_ridge_rows(self) -> SampleBlock:
        """Return all rows of the ridge fit as one block."""
        blocks = list(self.blocks(ridge_rows(self.problem)))
        if len(blocks) == 1:
            return blocks[0]
        xp = namespace(blocks[0].X)
        X, clean, y = (
            xp.concatenate([getattr(block, name) for block in blocks], 1)
            for name in ("X", "clean", "y")
        )
        return SampleBlock(blocks[0].purpose, 0, X, clean, y)


def draw_directions(problem: Problem, streams: Streams) -> Array:
    """Draw the teacher's directions, (B, d, indices)."""
    Z = streams.entries(
        GAUSSIAN, (Purpose.TEACHER,), 0, problem.teacher_function.indices, problem.d
    )
    directions: list[Array] = []
    for k in range(Z.shape[1]):  # Gram-Schmidt: the first directions do not depend on later ones
        v = Z[:, k]
        for u in directions:
            v = v - (v * u).sum(-1)[:, None] * u
        directions.append(v / (v * v).sum(-1)[:, None] ** 0.5)
    return namespace(Z).stack(directions, -1)


def linear_fit(sampler: Sampler, rows: RowSet, kind: str) -> LinearFit:
    """Return the mean or the linear fit of the labels of some rows, by its name in `labels`."""
    mean: Any = 0.0
    beta: Any = 0.0
    for block in sampler.blocks(rows):
        mean = mean + block.y.sum(-1) / rows.count
        beta = beta + (block.y[:, None, :] @ block.X)[:, 0] / rows.count
    if kind != "residual-least-squares":
        return LinearFit(mean, None if kind == "centred" else beta)
    # least squares with a constant, of least norm where they are not unique
    p, ops, moment = sampler.problem, sampler.ops, beta
    centre: Any = 0.0
    C = ops.zeros(sampler.stack_size, p.d, p.d)
    for block in sampler.blocks(rows):
        ops.add_product(C, block.X, block.X / rows.count)
        centre = centre + block.X.sum(1) / rows.count
    xp = namespace(C)
    # centred: the constant takes the means, and beta fits what is left
    C = C - centre[:, :, None] * centre[:, None, :]
    values, vectors = xp.linalg.eigh(C)  # ascending
    null = values <= MIN_RELATIVE_EIGENVALUE * values[:, -1:]
    along = ((moment - centre * mean[:, None])[:, None, :] @ vectors)[:, 0]
    along = xp.where(null, 0 * along, along / xp.where(null, 1 + 0 * values, values))
    beta = (vectors @ along[:, :, None])[..., 0]
    return LinearFit(mean - (centre * beta).sum(-1), beta)


def sum_over_rows(
    sampler: Sampler,
    rows: RowSet,
    zeros: Callable[[], Sums],
    add: Callable[[Sums, SampleBlock], None],
    arrays: Callable[[Sums], Sequence[Array]],
) -> Sums:
    """Return the sums that start as `zeros()` and to which `add` adds every block of rows.

    arrays : returns the arrays of which the sums consist; each worker has its own.
    """
    total = zeros()
    entries = sum(math.prod(x.shape) for x in arrays(total))
    workers = sampler.policy.row_workers(rows.count, entries)
    if workers == 1:
        for block in sampler.blocks(rows):
            add(total, block)
        return total
    # sums of its own for each worker: adding to one array they would wait for each other
    sums = [total, *(zeros() for _ in range(workers - 1))]

    def add_blocks(worker: int) -> None:
        for block in sampler.blocks(rows, worker, workers):
            add(sums[worker], block)

    pool_map(add_blocks, range(workers))
    sampler.ops.add_arrays(arrays(total), [arrays(x) for x in sums[1:]])
    return total
