"""Rows that a network is learned from, a bounded number of them at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from onegrad.arrays import Floats

FEATURE_BLOCK_ROWS = 1024  # rows whose features are held at once: 9 MB at width 1000


@dataclass(frozen=True)
class ScaledRows:
    """Scaled inputs z (m, d), coded targets t (m, K) and weights w (m,)."""

    z: Floats
    t: Floats
    w: Floats

    def __len__(self) -> int:
        return len(self.z)

    def __getitem__(self, rows: Any) -> ScaledRows:
        return ScaledRows(self.z[rows], self.t[rows], self.w[rows])

    def blocks(self) -> Iterator[ScaledRows]:
        """Yield a bounded number of rows at a time: features of all rows are never held at once."""
        return (self[rows] for rows in row_slices(len(self)))


def row_slices(n: int, size: int = FEATURE_BLOCK_ROWS) -> Iterator[slice]:
    """Yield slices of at most `size` rows that cover 0..n; one empty slice for n = 0."""
    return (slice(i, min(i + size, n)) for i in range(0, max(n, 1), size))
