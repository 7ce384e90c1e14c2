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

MAX_TALLY_ROWS = 131_072  # distinct ones, 3 MB: a tally of more is not kept
MIN_WEIGHT = 1e-9  # weights are sums of floats: what is less is rounding

RowKeys = np.ndarray[Any, np.dtype[np.uint64]]


@dataclass(frozen=True)
class Tally:
    """Keys in increasing order, the seed that made them, and of each its weight and its copies.

    Copies are the numbers of rows; of a row that was removed in part, some of it is left.
    """

    keys: RowKeys
    weights: Floats
    copies: Floats
    seed: int

    @classmethod
    def of(cls, keys: RowKeys, w: Floats, seed: int, copies: Floats | None = None) -> Tally:
        """Return the tally of rows with these keys, in any order and repeated, and weights."""
        unique, group = np.unique(keys, return_inverse=True)
        copies = np.ones(len(keys)) if copies is None else copies
        sums = [np.bincount(group, v, len(unique)).astype(np.float64) for v in (w, copies)]
        return cls(unique, sums[0], sums[1], seed)

    @property
    def rows(self) -> int:
        """Number of rows, equal ones counted as often as they came."""
        return round(float(self.copies.sum()))

    def __add__(self, other: Tally) -> Tally:
        keys, w, copies = (
            np.concatenate([getattr(self, name), getattr(other, name)])
            for name in ("keys", "weights", "copies")
        )
        return Tally.of(keys, w, self.seed, copies)

    def __sub__(self, other: Tally) -> Tally:
        """Return the tally without these rows; raise InvalidInput if it does not have them."""
        difference = self + Tally(other.keys, -other.weights, 0 * other.copies, other.seed)
        weights = difference.weights
        if (weights < -MIN_WEIGHT * np.abs(other.weights).max(initial=1.0)).any():
            missing = int((weights < 0).sum())
            raise InvalidInput("X", problem=f"cannot remove {missing} rows that were never added")
        weights = weights[np.isin(difference.keys, self.keys)]
        copies = np.ceil(weights / self.weights * self.copies - MIN_WEIGHT)  # a part is a row, too
        return Tally(self.keys, weights, copies, self.seed)[weights > MIN_WEIGHT]

    def __getitem__(self, which: Any) -> Tally:
        return Tally(self.keys[which], self.weights[which], self.copies[which], self.seed)

    def above(self, key: int) -> Tally:
        """Return the tally without the rows whose key is below this one."""
        return self[self.keys >= np.uint64(key)]


def add_tallies(a: Tally | None, b: Tally | None) -> Tally | None:
    """Return a + b unless there are too many rows; None is a tally that is not kept."""
    if a is None or b is None or len(a.keys) + len(b.keys) > 2 * MAX_TALLY_ROWS:
        return None
    total = a + b
    return total if len(total.keys) <= MAX_TALLY_ROWS else None
