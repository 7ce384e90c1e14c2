"""Random numbers and data: every block of rows has its own stream.

A stream is named by (seed, role, index, block), so the numbers of a replicate do not depend on how
many replicates, rows or threads are handled at a time. Blocks are filled row by row: a smaller n
sees the first rows of a larger one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np

from onegrad._xp import Array, Backend
from onegrad.activations import MultiIndex
from onegrad.errors import InvalidInput
from onegrad.problem import Problem

Host = np.ndarray[Any, Any]


class Role(IntEnum):
    """What a stream is for; the numbers are part of every stored result, so they never change."""

    TEACHER = 0
    WEIGHTS = 1
    READOUT = 2
    STEP = 3
    RIDGE = 4
    TEST = 5
    GAUSSIAN = 6  # the independent part of the Gaussian equivalent
    DIRECTION = 7  # of a spiked covariance or of a mixture's centres
    ROWS = 8  # the order in which a user's rows are taken


NOISE = 16  # added to a role: the label noise of its rows
CORRUPTED = 32  # added to a role: which of its labels are replaced, and by what


def block_rows(d: int) -> int:
    """Rows that share a stream: 1,024, fewer for very long rows."""
    return max(16, min(1024, 2**23 >> max(d - 1, 1).bit_length()))


def stream(seed: int, role: int, *index: int) -> np.random.Generator:
    """The generator that (seed, role, index) names."""
    return np.random.Generator(
        np.random.SFC64(np.random.SeedSequence(seed, spawn_key=(role, *index)))
    )


@dataclass(frozen=True)
class Rows:
    """A block of inputs with what their labels are made of, for a stack of replicates.

    X has shape (B, rows, d); `clean` is sigma_star(beta . x) and `y` adds noise and corruption.
    """

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
    data: Host | None = None  # a user's rows

    def teacher(self) -> Array:
        """Orthonormal teacher directions, shape (B, d, indices), uniform over the sphere."""
        f = self.problem.teacher_function
        k = f.indices if isinstance(f, MultiIndex) else 1

        def draw(seed: int) -> Host:
            Z = stream(seed, Role.TEACHER).standard_normal((k, self.problem.d)).T
            Q, R = np.linalg.qr(Z)
            return np.asarray(Q * np.sign(np.diag(R)))

        return self._stack(draw)

    def weights(self) -> Array:
        """W_0, shape (B, N, d): rows N(0, I/d) or uniform on the unit sphere."""
        p = self.problem
        size = block_rows(p.d)

        def draw(seed: int) -> Host:
            W = np.empty((p.N, p.d))
            for block, start in enumerate(range(0, p.N, size)):
                stream(seed, Role.WEIGHTS, block).standard_normal(out=W[start : start + size])
            if p.weights == "sphere":
                W /= np.linalg.norm(W, axis=1, keepdims=True)
            else:
                W /= math.sqrt(p.d)
            return W

        return self._stack(draw)

    def readout(self) -> Array:
        """a, shape (B, N): sqrt(N) a has standard normal, unit or random-sign entries."""
        p = self.problem

        def draw(seed: int) -> Host:
            rng = stream(seed, Role.READOUT)
            if p.readout == "gaussian":
                a = rng.standard_normal(p.N)
            elif p.readout == "rademacher":
                a = _signs(rng, (p.N,))
            else:
                a = np.ones(p.N)
            return a / math.sqrt(p.N)

        return self._stack(draw)

    def rows(self, role: Role, n: int, teacher: Array, index: int = 0) -> Iterator[Rows]:
        """The n rows of a role, block by block. `index` counts the batches of a step."""
        size = block_rows(self.problem.d)
        for block, start in enumerate(range(0, n, size)):
            rows = min(size, n - start)
            X = self._stack(lambda seed, b=block, r=rows: self._inputs(seed, role, index, b, r))
            clean = self._labels(X @ teacher)
            y = clean
            if role != Role.TEST:
                y = self._disturb(clean, role, index, block)
            yield Rows(start, X, clean, y)

    # -- inputs ------------------------------------------------------------------------------

    def _inputs(self, seed: int, role: Role, index: int, block: int, rows: int) -> Host:
        law = self.problem.input_law
        rng, shape = stream(seed, role, index, block), (rows, self.problem.d)
        if law.name == "gaussian":
            return rng.standard_normal(shape)
        if law.name == "rademacher":
            return _signs(rng, shape)
        if law.name == "uniform":
            return rng.uniform(-math.sqrt(3), math.sqrt(3), shape)
        assert law.parameter is not None
        if law.name == "student-t":  # scaled to unit variance
            return rng.standard_t(law.parameter, shape) * math.sqrt(1 - 2 / law.parameter)
        Z = rng.standard_normal(shape)
        if law.name == "power-law":
            spectrum = np.arange(1, self.problem.d + 1) ** -law.parameter
            return np.asarray(Z * np.sqrt(spectrum / spectrum.mean()))
        v = stream(seed, Role.DIRECTION).standard_normal(self.problem.d)
        v /= np.linalg.norm(v)
        if law.name == "spiked":  # covariance I + s v v^T
            return Z + np.outer(Z @ v, (math.sqrt(1 + law.parameter) - 1) * v)
        return Z + np.outer(_signs(rng, (rows,)), law.parameter * v)

    # -- labels ------------------------------------------------------------------------------

    def _labels(self, indices: Array) -> Array:
        f = self.problem.teacher_function
        return f(indices) if isinstance(f, MultiIndex) else f(indices[..., 0])

    def _disturb(self, clean: Array, role: Role, index: int, block: int) -> Array:
        """Labels with noise; a fraction of them replaced by those of independent inputs."""
        p, rows = self.problem, clean.shape[-1]
        y = clean
        if p.noise:
            y = y + self._stack(lambda seed: self._noise(seed, role, index, block, rows))
        if p.corrupted:
            f = p.teacher_function
            k = f.indices if isinstance(f, MultiIndex) else 1

            def which(seed: int) -> Host:
                rng = stream(seed, role + CORRUPTED, index, block)
                return (rng.random(rows) < p.corrupted).astype(float)

            def other(seed: int) -> Host:
                return stream(seed, role + CORRUPTED, index, block, 1).standard_normal((rows, k))

            y = y + self._stack(which) * (self._labels(self._stack(other)) - clean)
        return y

    def _noise(self, seed: int, role: Role, index: int, block: int, rows: int) -> Host:
        law = self.problem.noise_distribution
        rng = stream(seed, role + NOISE, index, block)
        if law.name == "gaussian":
            return self.problem.noise * rng.standard_normal(rows)
        assert law.parameter is not None
        scale = self.problem.noise * math.sqrt(1 - 2 / law.parameter)
        return np.asarray(scale * rng.standard_t(law.parameter, rows))

    def _stack(self, draw: Any) -> Array:
        return self.backend.asarray(np.stack([draw(seed) for seed in self.seeds]))


def _signs(rng: np.random.Generator, shape: tuple[int, ...]) -> Host:
    return 2.0 * rng.integers(0, 2, shape, dtype=np.int8) - 1.0


def seed_tuple(seeds: Any) -> tuple[int, ...]:
    """A count k as the seeds 0..k-1, or a sequence of distinct whole numbers as it is."""
    if isinstance(seeds, bool) or (isinstance(seeds, int) and seeds < 1):
        raise InvalidInput(f"seeds must be a count >= 1 or a list of whole numbers; got {seeds!r}")
    if isinstance(seeds, int | np.integer):
        return tuple(range(int(seeds)))
    try:
        values = tuple(int(s) for s in seeds)
        exact = all(v == s for v, s in zip(values, seeds, strict=True))
    except (TypeError, ValueError, OverflowError):
        exact, values = False, ()
    if not exact or not values or min(values) < 0 or len(set(values)) < len(values):
        raise InvalidInput(
            f"seeds must be a count >= 1 or a list of distinct whole numbers; got {seeds!r:.60}"
        )
    return values
