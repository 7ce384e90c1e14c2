"""A tally of the rows in a sum: their keys with the sums of their weights.

A sum of rows does not say what is in it. The tally does, for as many rows as are worth it, so that
a row that was never added cannot be removed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from onegrad.arrays import Floats
from onegrad.exceptions import InvalidInput

MAX_TALLY_ROWS = 131_072  # distinct ones; a tally of more is not kept
MIN_WEIGHT = 1e-9  # what is less is rounding

RowKeys = np.ndarray[Any, np.dtype[np.uint64]]


@dataclass(frozen=True)
class Tally:
    """Keys in increasing order, the weight of each, and the seed that made the keys."""

    keys: RowKeys
    weights: Floats
    seed: int

    @classmethod
    def of(cls, keys: RowKeys, w: Floats, seed: int) -> Tally:
        """Return the tally of rows with these keys, in any order and repeated, and weights."""
        unique, group = np.unique(keys, return_inverse=True)
        return cls(unique, np.bincount(group, w, len(unique)).astype(np.float64), seed)

    def __add__(self, other: Tally) -> Tally:
        keys = np.concatenate([self.keys, other.keys])
        return Tally.of(keys, np.concatenate([self.weights, other.weights]), self.seed)

    def __sub__(self, other: Tally) -> Tally:
        """Return the tally without these rows; raise InvalidInput if it does not have them."""
        difference = self + Tally(other.keys, -other.weights, other.seed)
        weights = difference.weights
        if (weights < -MIN_WEIGHT * np.abs(other.weights).max(initial=1.0)).any():
            missing = int((weights < 0).sum())
            raise InvalidInput("X", problem=f"cannot remove {missing} rows that were never added")
        remaining = weights > MIN_WEIGHT
        return Tally(difference.keys[remaining], weights[remaining], self.seed)

    def above(self, key: int) -> Tally:
        """Return the tally without the rows whose key is below this one."""
        remaining = self.keys >= np.uint64(key)
        return Tally(self.keys[remaining], self.weights[remaining], self.seed)


def add_tallies(a: Tally | None, b: Tally | None) -> Tally | None:
    """Return a + b unless there are too many rows; None is a tally that is not kept."""
    if a is None or b is None or len(a.keys) + len(b.keys) > 2 * MAX_TALLY_ROWS:
        return None
    total = a + b
    return total if len(total.keys) <= MAX_TALLY_ROWS else None
