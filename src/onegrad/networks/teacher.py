"""The labels of a stack of replicates: teacher, noise and corruption."""

from __future__ import annotations

from dataclasses import dataclass

from onegrad.arrays import Array, namespace
from onegrad.networks.input_rows import RowSet
from onegrad.networks.streams import GAUSSIAN, UNIT_INTERVAL, Purpose, Streams
from onegrad.problem import Problem


@dataclass(frozen=True)
class Teacher:
    """y = sigma_star(beta_star . x), with noise, a fraction of the labels replaced.

    beta_star : orthonormal directions, (B, d, indices), uniform over the sphere.
    """

    problem: Problem
    streams: Streams
    beta_star: Array

    @classmethod
    def of(cls, problem: Problem, streams: Streams) -> Teacher:
        """Draw the directions."""
        indices = problem.teacher_function.indices
        Z = streams.entries(GAUSSIAN, (Purpose.TEACHER,), 0, indices, problem.d)
        directions: list[Array] = []
        for k in range(Z.shape[1]):  # Gram-Schmidt: the first directions do not depend on later
            v = Z[:, k]
            for u in directions:
                v = v - (v * u).sum(-1)[:, None] * u
            directions.append(v / (v * v).sum(-1)[:, None] ** 0.5)
        return cls(problem, streams, namespace(Z).stack(directions, -1))

    def clean_labels(self, X: Array) -> Array:
        """Return sigma_star of the indices of X, (B, rows)."""
        return self.streams.ops.by_rows(
            lambda i: self.problem.teacher_function.labels(X[:, i] @ self.beta_star), X.shape[1]
        )

    def noisy_labels(self, clean: Array, rows: RowSet, start: int) -> Array:
        """Add noise; replace a fraction of the labels by those of independent inputs."""
        p, y, count, key = self.problem, clean, clean.shape[1], (rows.purpose, rows.batch)
        entries = self.streams.entries
        if p.corrupted:
            u = entries(UNIT_INTERVAL, (Purpose.CORRUPT, *key), start, count, 1)[..., 0]
            f = p.teacher_function
            other = entries(GAUSSIAN, (Purpose.REPLACE, *key), start, count, f.indices)
            y = y + (u < p.corrupted) * (f.labels(other) - clean)
        if p.noise:
            noise = entries(p.noise_distribution, (Purpose.NOISE, *key), start, count, 1)
            y = y + p.noise * noise[..., 0]
        return y
