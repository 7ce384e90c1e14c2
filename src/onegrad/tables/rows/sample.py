"""A uniform sample of distinct rows that depends on the rows alone.

Every row has a key, a hash of its contents. The sample is the rows with the smallest keys. Samples
add, so that any division into blocks, order or number of workers gives the same sample. Equal rows
share a key and are kept once with the sum of their weights: repeating a row is the same as
weighting it, and no row can be both learned from and held out.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from onegrad.arrays import Floats
from onegrad.arrays.executor import splitmix64
from onegrad.exceptions import InvalidInput
from onegrad.tables.rows.kinds import NONE
from onegrad.tables.rows.table import (
    Tabular,
    Values,
    column_values,
    concatenate_rows,
    factorize,
    is_table,
    is_text,
    take_rows,
)

MAX_TALLY_ROWS = 131_072  # distinct ones, 3 MB: a tally of more is not kept
MIN_WEIGHT = 1e-9  # weights are sums of floats: what is less is rounding
NONE_BYTES = b"\xffNone"  # the text "None", hashed as what no text is: a missing value is str(None)

RowKeys = np.ndarray[Any, np.dtype[np.uint64]]


@dataclass(frozen=True)
class Tally:
    """The rows in a sum: keys in increasing order, their seed, and of each its weight and copies.

    A sum of rows does not say what is in it. The tally does, for as many rows as are worth it, so
    that a row that was never added cannot be removed. Copies are the numbers of rows; of a row that
    was removed in part, some of it is left. Of rows that are fewer numbers than the sums over
    them, it also keeps what was summed.
    """

    keys: RowKeys
    weights: Floats
    copies: Floats
    seed: int
    z: Floats | None = None  # scaled inputs
    t: Floats | None = None  # and targets

    @classmethod
    def of(
        cls,
        keys: RowKeys,
        w: Floats,
        seed: int,
        copies: Floats | None = None,
        z: Floats | None = None,
        t: Floats | None = None,
    ) -> Tally:
        """Return the tally of rows with these keys, in any order and repeated, and weights."""
        unique, first, group = np.unique(keys, return_index=True, return_inverse=True)
        copies = np.ones(len(keys)) if copies is None else copies
        sums = [np.bincount(group, v, len(unique)).astype(np.float64) for v in (w, copies)]
        z, t = (None if array is None else array[first] for array in (z, t))
        return cls(unique, sums[0], sums[1], seed, z, t)

    @property
    def rows(self) -> int:
        """Number of rows, equal ones counted as often as they came."""
        return round(float(self.copies.sum()))

    def __add__(self, other: Tally) -> Tally:
        both: dict[str, Any] = {}
        for name in ("keys", "weights", "copies", "z", "t"):
            pair = [getattr(self, name), getattr(other, name)]
            both[name] = None if any(a is None for a in pair) else np.concatenate(pair)
        return Tally.of(both["keys"], both["weights"], self.seed, *list(both.values())[2:])

    def __sub__(self, other: Tally) -> Tally:
        """Return the tally without these rows; raise InvalidInput if it does not have them."""
        difference = self + Tally(other.keys, -other.weights, 0 * other.copies, other.seed)
        weights = difference.weights
        if (weights < -MIN_WEIGHT * np.abs(other.weights).max(initial=1.0)).any():
            missing = int((weights < 0).sum())
            raise InvalidInput("X", problem=f"cannot remove {missing} rows that were never added")
        weights = weights[np.isin(difference.keys, self.keys)]
        copies = np.ceil(weights / self.weights * self.copies - MIN_WEIGHT)  # a part is a row, too
        return replace(self, weights=weights, copies=copies)[weights > MIN_WEIGHT]

    def __getitem__(self, which: Any) -> Tally:
        z, t = (None if array is None else array[which] for array in (self.z, self.t))
        return Tally(self.keys[which], self.weights[which], self.copies[which], self.seed, z, t)

    def above(self, key: int) -> Tally:
        """Return the tally without the rows whose key is below this one."""
        return self[self.keys >= np.uint64(key)]


def add_tallies(a: Tally | None, b: Tally | None) -> Tally | None:
    """Return a + b unless there are too many rows; None is a tally that is not kept."""
    if a is None or b is None or len(a.keys) + len(b.keys) > 2 * MAX_TALLY_ROWS:
        return None
    total = a + b
    return total if len(total.keys) <= MAX_TALLY_ROWS else None


def effective_rows(w: Floats, copies: Floats | float = 1.0) -> float:
    r"""Return the number of rows of equal weight that say as much, copies of a row apart.

    .. math:: \frac{(\sum w_i)^2}{\sum w_i^2 / c_i}
    """
    if not w.any():
        return 0.0
    w = np.ldexp(w, -np.frexp(w.max())[1])  # exact: squares of tiny weights would underflow
    return float(w.sum() ** 2 / (w @ (w / copies)))


@dataclass(frozen=True)
class Sample:
    """At most `size` rows: keys in increasing order, inputs, targets, weights.

    Parameters
    ----------
    seed : of the keys.
    labels : distinct targets of all rows with the sums of their weights, for classification.
    copies : (n,) number of equal rows that each row stands for.
    tally : of all rows, or None where there are too many.
    """

    size: int
    keys: RowKeys
    X: Tabular
    y: Values
    w: Floats
    seed: int
    labels: Mapping[Any, float]
    copies: Floats
    tally: Tally | None = None

    def __add__(self, other: Sample) -> Sample:
        labels = {label: self.labels.get(label, 0.0) + w for label, w in other.labels.items()}
        return Sample(
            self.size,
            np.concatenate([self.keys, other.keys]),
            concatenate_rows([self.X, other.X]),
            np.concatenate([self.y, other.y]),
            np.concatenate([self.w, other.w]),
            self.seed,
            {**self.labels, **labels},
            np.concatenate([self.copies, other.copies]),
            add_tallies(self.tally, other.tally),
        ).smallest()

    def smallest(self) -> Sample:
        """Return the rows with the smallest keys, equal rows as one."""
        keys, first, group = np.unique(self.keys, return_index=True, return_inverse=True)
        # astype: of no rows bincount makes whole numbers
        weights = np.bincount(group, weights=self.w).astype(np.float64)
        first = first[: self.size]
        return replace(
            self,
            keys=keys[: self.size],
            X=take_rows(self.X, first),
            y=self.y[first],
            w=weights[: self.size],
            copies=np.bincount(group, self.copies)[: self.size].astype(np.float64),
        )


def sample_block(
    X: Tabular, y: Values, w: Floats | None, size: int, seed: int, labels: str = ""
) -> Sample:
    """Return the sample of one block; rows of weight zero do not exist.

    `labels` says which distinct targets are collected: "all", "text" or none.
    """
    w = np.ones(len(y)) if w is None else w
    positive = w > 0
    if not positive.all():
        X, y, w = take_rows(X, np.flatnonzero(positive)), y[positive], w[positive]
    label_weights: Mapping[Any, float] = {}
    if y.ndim == 1 and (labels == "all" or (labels and y.dtype.kind not in "fiub")):
        distinct, codes = np.unique(y, return_inverse=True)
        sums = np.bincount(codes.ravel(), w)
        label_weights = dict(zip(distinct.tolist(), sums.tolist(), strict=True))
    keys = row_keys(X, y, seed)
    tally = Tally.of(keys, w, seed)
    return Sample(size, keys, X, y, w, seed, label_weights, np.ones(len(w)), tally).smallest()


def row_keys(X: Tabular, y: Values | None, seed: int) -> RowKeys:
    """(n,) hash of each row (x, y), or x: sum of odd multiples of its entries' bits, then mixed."""
    columns: list[Any] = X.columns if is_table(X) else list(X.T)
    if y is not None:
        columns = [*columns, *(y if y.ndim > 1 else y[:, None]).T]
    rng = np.random.Generator(np.random.Philox(seed))
    # odd: a product with an even number would lose bits modulo 2^64
    odd = rng.integers(0, 2**63, size=len(columns), dtype=np.uint64) * np.uint64(2) + np.uint64(1)
    total = np.zeros(len(columns[0]), np.uint64)
    for column, factor in zip(columns, odd, strict=True):
        bits = _entry_bits(column)
        total += (bits ^ (bits >> np.uint64(32))) * factor
    return splitmix64(total)


def _entry_bits(column: Any) -> RowKeys:
    """(n,) 64 bits per entry: a number's own (as float64), a hash of any other value's text."""
    if not isinstance(column, np.ndarray):
        if is_text(column):
            values, codes = factorize(column)
            return _text_bits([NONE_BYTES if v == NONE else v for v in values], codes)
        column = column_values(column)
    if column.dtype.kind == "M":  # a date in one unit
        return column.astype("datetime64[us]").view(np.uint64)
    if column.dtype.kind in "fiub":
        return (column.astype(np.float64) + 0.0).view(np.uint64)  # -0.0 + 0.0 == 0.0
    return _text_bits(*np.unique(column.astype(str), return_inverse=True))


def _text_bits(values: Any, codes: Values) -> RowKeys:
    # not hash(), which differs from process to process: keys are stored and compared
    encoded = (v if isinstance(v, bytes) else str(v).encode() for v in values)
    digests = [hashlib.blake2b(v, digest_size=8).digest() for v in encoded]
    return np.frombuffer(b"".join(digests), np.uint64)[codes]
