"""Rows that a network is learned from, a bounded number of them at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from onegrad.arrays import Array, Ops, is_torch

FEATURE_BLOCK_ROWS = 1024  # rows whose features are held at once: 8 MB at width 1000
DEVICE_BLOCK_ROWS = 8192  # the same on another device, which takes fewer and larger products


@dataclass(frozen=True)
class ScaledRows:
    """Scaled inputs z (m, d), coded targets t (m, K) and weights w (m,)."""

    z: Array
    t: Array
    w: Array

    def __len__(self) -> int:
        return len(self.z)

    def __getitem__(self, rows: Any) -> ScaledRows:
        return ScaledRows(self.z[rows], self.t[rows], self.w[rows])

    def on(self, ops: Ops) -> ScaledRows:
        """Return the rows on the device of these operations."""
        return ScaledRows(ops.asarray(self.z), ops.asarray(self.t), ops.asarray(self.w))

    def blocks(self) -> Iterator[ScaledRows]:
        """Yield a bounded number of rows at a time: features of all rows are never held at once."""
        size = DEVICE_BLOCK_ROWS if is_torch(self.z) else FEATURE_BLOCK_ROWS
        return (self[rows] for rows in row_slices(len(self), size))


def row_slices(n: int, size: int = FEATURE_BLOCK_ROWS) -> Iterator[slice]:
    """Yield slices of at most `size` rows that cover 0..n; one empty slice for n = 0."""
    return (slice(i, min(i + size, n)) for i in range(0, max(n, 1), size))
