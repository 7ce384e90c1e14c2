"""Which rows are in a sum: their keys with the sums of their weights.

A sum of rows does not say what is in it. The tally does, for as many rows as are worth it, so that
a row that never came in cannot be taken out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from onegrad.arrays import Floats
from onegrad.exceptions import InvalidInput

MAX_TALLY_ROWS = 131_072  # distinct ones; a tally of more is not kept

RowKeys = np.ndarray[Any, np.dtype[np.uint64]]


@dataclass(frozen=True)
class Tally:
    """RowKeys in increasing order, the weight of each, and the seed that made the keys."""

    keys: RowKeys
    weights: Floats
    seed: int

    @classmethod
    def of(cls, keys: RowKeys, w: Floats, seed: int) -> Tally:
        unique, group = np.unique(keys, return_inverse=True)
        return cls(unique, np.bincount(group, w, len(unique)).astype(np.float64), seed)

    def __add__(self, other: Tally) -> Tally:
        keys = np.concatenate([self.keys, other.keys])
        return Tally.of(keys, np.concatenate([self.weights, other.weights]), self.seed)

    def __sub__(self, other: Tally) -> Tally:
        """Without these rows, which are all there and with as much weight."""
        difference = self + Tally(other.keys, -other.weights, other.seed)
        rest = difference.weights
        if (rest < -1e-9 * np.abs(other.weights).max(initial=1.0)).any():
            missing = int((rest < 0).sum())
            raise InvalidInput(f"cannot remove {missing} rows that were never added")
        left = rest > 1e-9
        return Tally(difference.keys[left], rest[left], self.seed)

    def above(self, key: int) -> Tally:
        """Without the rows whose key is below."""
        left = self.keys >= np.uint64(key)
        return Tally(self.keys[left], self.weights[left], self.seed)


def add_tallies(a: Tally | None, b: Tally | None) -> Tally | None:
    """a + b, as long as there are not too many rows; None is a tally that is not kept."""
    if a is None or b is None or len(a.keys) + len(b.keys) > 2 * MAX_TALLY_ROWS:
        return None
    both = a + b
    return both if len(both.keys) <= MAX_TALLY_ROWS else None
