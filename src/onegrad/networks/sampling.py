"""Random numbers and data: every block of rows has its own stream.

A stream is named by (seed, key, block), so the numbers of a replicate do not depend on how many
replicates, rows or threads are handled at a time, nor on the device that uses them. Blocks are
filled row by row: a smaller n sees the first rows of a larger one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from typing import Any

import numpy as np

from onegrad.arrays import Array, Backend, Floats, namespace, team_size
from onegrad.arrays import start as begin
from onegrad.functions.function import MultiIndex
from onegrad.problem import Problem
from onegrad.problem.laws import Law

Tick = Callable[[], None]  # called after every stretch of rows: progress and interruption


class Role(IntEnum):
    """What a stream is for; stored results depend on these numbers, so they never change."""

    TEACHER = 0
    WEIGHTS = 1
    READOUT = 2
    STEP = 3
    RIDGE = 4
    TEST = 5
    DIRECTION = 6  # of a spiked covariance or of a mixture's centres
    ORDER = 7  # in which a user's rows are taken
    SIGN = 16  # with a role: on which side of a mixture its rows lie
    NOISE = 17  # with a role: the label noise of its rows
    CORRUPT = 18  # with a role: which of its labels are replaced
    REPLACE = 19  # with a role: by the labels of which inputs
    NORMALS = 20  # with a role: the independent part of the Gaussian equivalent


GAUSSIAN = Law("gaussian")
ENTRIES = ("gaussian", "rademacher", "uniform", "student-t")  # laws of independent entries


def block_rows(width: int) -> int:
    """Rows that share a stream: 1,024, fewer for very long rows."""
    return max(16, min(1024, 2**23 >> max(width - 1, 1).bit_length()))


def stream(seed: int, *key: int) -> np.random.Generator:
    """The generator that (seed, key) names."""
    return np.random.Generator(np.random.SFC64(np.random.SeedSequence(seed, spawn_key=key)))


def fill(rng: np.random.Generator, law: Law, out: Floats) -> None:
    """Independent entries of mean 0 and variance 1 by law (`unit`: uniform over [0, 1))."""
    if law.name == "gaussian":
        rng.standard_normal(out=out)
    elif law.name == "rademacher":
        out[...] = rng.integers(0, 2, out.shape, dtype=np.int8)
        out *= 2.0
        out -= 1.0
    elif law.name == "uniform":
        rng.random(out=out)
        out -= 0.5
        out *= math.sqrt(12)
    elif law.name == "unit":
        rng.random(out=out)
    else:
        assert law.name == "student-t" and law.parameter is not None
        out[...] = rng.standard_t(law.parameter, out.shape)
        out *= math.sqrt(1 - 2 / law.parameter)


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
    backend: Backend
    data: Floats | None = None  # a user's rows
    device_random: bool = False
    tick: Tick = no_tick

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
        be, size = self.backend, block_rows(width)
        if self.device_random:
            return lambda: be.device_entries(self.seeds, law, key, start, rows, width)
        out = be.host_buffer(len(self.seeds), rows, width)

        def one(place: tuple[int, int]) -> None:
            i, r = place
            rng = stream(self.seeds[i], *key, (start + r) // size)
            fill(rng, law, out[i, r : r + size])

        wait = begin(one, [(i, r) for i in range(len(self.seeds)) for r in range(0, rows, size)])

        def found() -> Array:
            wait()
            return be.from_buffer(out)

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
        self, role: Role, n: int, index: int = 0, taker: tuple[int, int] = (0, 1)
    ) -> Iterator[Stretch]:
        """The n rows of a role, stretch by stretch. `index` counts the batches of the steps.

        The k-th of K takers gets the stretches k, k + K, ...
        """
        p, (k, takers) = self.problem, taker
        stretch = self.backend.stretch(1024, len(self.seeds) * max(p.N, p.d), team_size())
        places = [
            (role, index, start, min(stretch, n - start))
            for start in range(k * stretch, n, takers * stretch)
        ]
        numbers = [self._numbers(*place) for place in places[:1]]
        for i, (_, _, start, rows) in enumerate(places):
            drawn = numbers.pop()
            numbers += [self._numbers(*place) for place in places[i + 1 : i + 2]]  # drawn ahead
            X = self._inputs(drawn, *places[i])
            clean = self._clean(X)
            y = clean if role == Role.TEST else self._disturbed(clean, role, index, start, rows)
            yield Stretch(role, start, X, clean, y)
            self.tick()

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
            X *= self.backend.asarray(np.sqrt(spectrum / spectrum.mean()))
            return X
        v = self.entries(GAUSSIAN, (Role.DIRECTION,), 0, 1, d)
        v /= (v * v).sum(-1)[..., None] ** 0.5  # (B, 1, d)
        if law.name == "spiked":  # covariance I + s v v^T
            side = (math.sqrt(1 + law.parameter) - 1) * (X * v).sum(-1)[..., None]
        else:  # a mixture of two centres
            sign = self.entries(Law("rademacher"), (Role.SIGN, *key), start, rows, 1)
            side = law.parameter * sign
        return X + side * v

    def _taken(self, role: Role, index: int, start: int, rows: int) -> Array:
        """A user's rows, each used once."""
        assert self.data is not None
        first = rows_before(self.problem, role, index) + start
        picked = [self.data[order[first : first + rows]] for order in self._orders]
        return self.backend.asarray(np.stack(picked))

    @cached_property
    def _orders(self) -> list[Any]:
        """In which each replicate takes a user's rows."""
        assert self.data is not None
        return [stream(seed, Role.ORDER).permutation(len(self.data)) for seed in self.seeds]

    # -- labels ------------------------------------------------------------------------------

    def _clean(self, X: Array) -> Array:
        teacher = self.teacher
        return self.backend.by_rows(lambda i: self.labels(X[:, i] @ teacher), X.shape[1])

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
