"""Data: the inputs and labels of a stack of replicates, drawn from their streams."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from onegrad.arrays import Array, ExecutionPolicy, Floats, Ops, namespace
from onegrad.functions.function import MultiIndex
from onegrad.networks.streams import (
    ENTRIES,
    GAUSSIAN,
    Role,
    block_rows,
    draw_on_device,
    fill,
    stream,
)
from onegrad.parallel import pool_submit
from onegrad.problem import Problem
from onegrad.problem.laws import Law

Tick = Callable[[], None]  # called after every stretch of rows: progress and interruption


def rows_before(problem: Problem, role: Role, index: int = 0) -> int:
    """Of a user's: those of the steps come first, then those of ridge, then those of the test."""
    if role == Role.STEP:
        return index * problem.rows_of_step
    batches = problem.steps if problem.batches == "fresh" else 1
    ridge = problem.n if role == Role.TEST and problem.ridge_rows == "fresh" else 0
    return batches * problem.rows_of_step + ridge


def no_tick() -> None:
    """Nobody watches."""


@dataclass(frozen=True)
class Stretch:
    """Consecutive rows of a role: inputs and labels of a stack of replicates.

    X has shape (B, rows, d); `clean` is sigma_star(beta . x) and `y` adds noise and corruption.
    """

    role: Role
    start: int
    X: Array
    clean: Array
    y: Array


@dataclass(frozen=True)
class Sampler:
    """The data of a stack of replicates of one problem, one replicate per seed."""

    problem: Problem
    seeds: tuple[int, ...]
    ops: Ops
    data: Floats | None = None  # a user's rows
    device_random: bool = False
    tick: Tick = no_tick
    policy: ExecutionPolicy | None = None  # of the run; None: one thread

    @cached_property
    def execution(self) -> ExecutionPolicy:
        """Policy of the run, or that of one thread."""
        return self.policy or self.ops.policy(threads=1)

    # -- independent entries -----------------------------------------------------------------

    def entries(self, law: Law, key: tuple[int, ...], start: int, rows: int, width: int) -> Array:
        """Rows start..start+rows of the matrix that (law, key) names, shape (B, rows, width).

        `start` lies at the beginning of a block.
        """
        return self._begun(law, key, start, rows, width)()

    def _begun(
        self, law: Law, key: tuple[int, ...], start: int, rows: int, width: int
    ) -> Callable[[], Array]:
        """The team may begin to draw; the entries are there when they are asked for."""
        ops, size = self.ops, block_rows(width)
        if self.device_random:
            return lambda: draw_on_device(ops, self.seeds, law, key, start, rows, width)
        out = ops.host_buffer(len(self.seeds), rows, width)

        def one(place: tuple[int, int]) -> None:
            i, r = place
            rng = stream(self.seeds[i], *key, (start + r) // size)
            fill(rng, law, out[i, r : r + size])

        wait = pool_submit(
            one, [(i, r) for i in range(len(self.seeds)) for r in range(0, rows, size)]
        )

        def found() -> Array:
            wait()
            return ops.from_buffer(out)

        return found

    # -- the network -------------------------------------------------------------------------

    @property
    def indices(self) -> int:
        f = self.problem.teacher_function
        return f.indices if isinstance(f, MultiIndex) else 1

    @cached_property
    def teacher(self) -> Array:
        """Orthonormal teacher directions, shape (B, d, indices), uniform over the sphere."""
        Z = self.entries(GAUSSIAN, (Role.TEACHER,), 0, self.indices, self.problem.d)
        xp = namespace(Z)
        found: list[Array] = []
        for k in range(self.indices):  # Gram-Schmidt: the first directions do not depend on later
            v = Z[:, k]
            for u in found:
                v = v - (v * u).sum(-1)[:, None] * u
            found.append(v / (v * v).sum(-1)[:, None] ** 0.5)
        return xp.stack(found, -1)

    def weights(self) -> Array:
        """W_0, shape (B, N, d): rows N(0, I/d) or uniform on the unit sphere."""
        p = self.problem
        W = self.entries(GAUSSIAN, (Role.WEIGHTS,), 0, p.N, p.d)
        W /= (W * W).sum(-1)[..., None] ** 0.5 if p.weights == "sphere" else math.sqrt(p.d)
        return W

    def readout(self) -> Array:
        """a, shape (B, N): sqrt(N) a has standard normal, unit or random-sign entries."""
        p = self.problem
        law = Law("rademacher") if p.readout == "rademacher" else GAUSSIAN
        a = self.entries(law, (Role.READOUT,), 0, p.N, 1)[..., 0]
        return (0 * a + 1 if p.readout == "constant" else a) / math.sqrt(p.N)

    # -- rows --------------------------------------------------------------------------------

    def rows(
        self,
        role: Role,
        n: int,
        index: int = 0,
        taker: tuple[int, int] = (0, 1),
        *,
        plain: bool = False,
    ) -> Iterator[Stretch]:
        """The n rows of a role, stretch by stretch. `index` counts the batches of the steps.

        taker : (k, K) gets the stretches k, k + K, ...
        plain : labels as the teacher gives them, whatever the problem takes off.
        """
        p, (k, takers) = self.problem, taker
        policy = self.execution if takers == 1 else self.execution.worker
        stretch = policy.block_rows(1024, len(self.seeds) * max(p.N, p.d))
        places = [
            (role, index, start, min(stretch, n - start))
            for start in range(k * stretch, n, takers * stretch)
        ]
        numbers: list[Callable[[], Array]] = []
        ahead = 1 if policy.threads > 1 else 0  # stretches that the pool may already draw
        for i, place in enumerate(places):
            numbers += [self._numbers(*x) for x in places[i + len(numbers) : i + 1 + ahead]]
            X = self._inputs(numbers.pop(0), *place)
            _, _, start, rows = place
            clean = self._clean(X)
            y = clean if role == Role.TEST else self._disturbed(clean, role, index, start, rows)
            if not plain and p.labels != "plain":
                off = self._fitted_off(X)
                clean, y = clean - off, y - off
            yield Stretch(role, start, X, clean, y)
            self.tick()

    def step_rows(self, index: int) -> tuple[Role, int, int]:
        """The rows of step number `index`: role, how many, which batch."""
        p = self.problem
        return Role.STEP, p.rows_of_step, index if p.batches == "fresh" else 0

    @property
    def ridge_rows(self) -> tuple[Role, int, int]:
        """The rows of the ridge fit: fresh ones, or those of the first step."""
        fresh = self.problem.ridge_rows == "fresh"
        return Role.RIDGE if fresh else Role.STEP, self.problem.n, 0

    def whole(self) -> Stretch:
        """All rows of the ridge fit at once."""
        parts = list(self.rows(*self.ridge_rows))
        if len(parts) == 1:
            return parts[0]
        xp = namespace(parts[0].X)
        X, clean, y = (
            xp.concatenate([getattr(part, name) for part in parts], 1)
            for name in ("X", "clean", "y")
        )
        return Stretch(parts[0].role, 0, X, clean, y)

    def _numbers(self, role: Role, index: int, start: int, rows: int) -> Callable[[], Array]:
        """What the inputs are made of: independent entries, or a user's rows."""
        if self.data is not None:
            return lambda: self._taken(role, index, start, rows)
        law = self.problem.input_law
        plain = law if law.name in ENTRIES else GAUSSIAN
        return self._begun(plain, (role, index), start, rows, self.problem.d)

    def _inputs(
        self, drawn: Callable[[], Array], role: Role, index: int, start: int, rows: int
    ) -> Array:
        law, d, key = self.problem.input_law, self.problem.d, (role, index)
        X = drawn()
        if self.data is not None or law.name in ENTRIES:
            return X
        assert law.parameter is not None
        if law.name == "power-law":  # eigenvalues k^-p, mean 1
            spectrum = np.arange(1, d + 1) ** -law.parameter
            X *= self.ops.asarray(np.sqrt(spectrum / spectrum.mean()))
            return X
        v = self.entries(GAUSSIAN, (Role.DIRECTION,), 0, 1, d)
        v /= (v * v).sum(-1)[..., None] ** 0.5  # (B, 1, d)
        if self.problem.input_overlap:
            v = self._turned(v)
        if law.name == "spiked":  # covariance I + s v v^T
            side = (math.sqrt(1 + law.parameter) - 1) * (X * v).sum(-1)[..., None]
        else:  # a mixture of two centres
            sign = self.entries(Law("rademacher"), (Role.SIGN, *key), start, rows, 1)
            side = law.parameter * sign
        return X + side * v

    def _turned(self, v: Array) -> Array:
        """A unit vector, (B, 1, d), turned to have a given cosine with the teacher's first."""
        star, cosine = self.teacher[:, None, :, 0], self.problem.input_overlap
        off = v - (v * star).sum(-1)[..., None] * star
        off /= (off * off).sum(-1)[..., None] ** 0.5
        return cosine * star + math.sqrt(1 - cosine**2) * off

    def _taken(self, role: Role, index: int, start: int, rows: int) -> Array:
        """A user's rows, each used once."""
        assert self.data is not None
        first = rows_before(self.problem, role, index) + start
        picked = [self.data[order[first : first + rows]] for order in self._orders]
        return self.ops.asarray(np.stack(picked))

    @cached_property
    def _orders(self) -> list[Any]:
        """In which each replicate takes a user's rows."""
        assert self.data is not None
        return [stream(seed, Role.ORDER).permutation(len(self.data)) for seed in self.seeds]

    def ready(self) -> None:
        """What all rows need is found now, before threads take them."""
        if self.problem.labels != "plain":
            self._fitted_off(self.entries(GAUSSIAN, (Role.TEACHER,), 0, 1, self.problem.d))
        _ = self.teacher

    def _fitted_off(self, X: Array) -> Array:
        """What the problem takes off the labels at X: mean(y), and X^T y/n . x, of the first batch.

        Found once; see Network.first for why by hand.
        """
        if "fit_" not in self.__dict__:
            n = self.problem.rows_of_step
            mean: Any = 0.0
            beta: Any = 0.0
            for rows in self.rows(Role.STEP, n, plain=True):
                mean = mean + rows.y.sum(-1) / n
                beta = beta + (rows.y[:, None, :] @ rows.X)[:, 0] / n
            self.__dict__["fit_"] = mean, beta
        mean, beta = self.__dict__["fit_"]
        if self.problem.labels == "centred":
            return mean[:, None] + 0 * X[..., 0]
        return mean[:, None] + (X @ beta[..., None])[..., 0]

    # -- labels ------------------------------------------------------------------------------

    def _clean(self, X: Array) -> Array:
        teacher = self.teacher
        return self.ops.by_rows(lambda i: self.labels(X[:, i] @ teacher), X.shape[1])

    def labels(self, indices: Array) -> Array:
        """sigma_star of the teacher's indices, shape (B, rows, indices)."""
        f = self.problem.teacher_function
        return f(indices) if isinstance(f, MultiIndex) else f(indices[..., 0])

    def _disturbed(self, clean: Array, role: Role, index: int, start: int, rows: int) -> Array:
        """Labels with noise; a fraction of them replaced by those of independent inputs."""
        p, y = self.problem, clean
        if p.corrupted:
            unit = self.entries(Law("unit"), (Role.CORRUPT, role, index), start, rows, 1)[..., 0]
            other = self.entries(GAUSSIAN, (Role.REPLACE, role, index), start, rows, self.indices)
            y = y + (unit < p.corrupted) * (self.labels(other) - clean)
        if p.noise:
            key = (Role.NOISE, role, index)
            noise = self.entries(p.noise_distribution, key, start, rows, 1)
            y = y + p.noise * noise[..., 0]
        return y
