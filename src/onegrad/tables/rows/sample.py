"""A uniform sample of distinct rows that depends on the rows alone.

Every row has a key, a hash of its contents. The sample is the rows with the smallest keys. Samples
add, so that any division into blocks, order or number of workers gives the same sample. Equal rows
share a key and are kept once with the sum of their weights: repeating a row is the same as
weighting it, and no row can be both learned from and held out.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from onegrad.arrays import Floats
from onegrad.arrays.splitmix import splitmix64
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
WEIGHT_ROUNDING = 1e-9  # of weights, sums of floats, relative to what was added and removed
NONE_BYTES = b"\xffNone"  # the text "None", hashed as what no text is: a missing value is str(None)

RowKeys = np.ndarray[Any, np.dtype[np.uint64]]


@dataclass(frozen=True)
class KeyedRows:
    """Distinct rows, in the order of their keys, as a value that adds."""

    by_row: ClassVar[tuple[str, ...]]  # fields that have one entry per row; some may be None
    summed: ClassVar[tuple[str, ...]]  # those of them that add up where rows are equal
    keys: RowKeys

    def __len__(self) -> int:
        return len(self.keys)

    def __getitem__(self, which: Any) -> Self:
        return self._with(lambda name: take_rows(getattr(self, name), which))

    def joined(self, other: Self) -> Self:
        """Return the rows of both, in any order and repeated."""
        both = self, other
        return self._with(lambda name: concatenate_rows([getattr(rows, name) for rows in both]))

    def _with(self, field: Callable[[str], Any]) -> Self:
        return replace(self, **{name: field(name) for name in self.by_row})

    def distinct(self, most: int | None = None) -> Self:
        """Return the rows with the smallest keys, so many at most, equal ones as one."""
        keys, first, group = np.unique(self.keys, return_index=True, return_inverse=True)

        def field(name: str) -> Any:
            values = getattr(self, name)
            if name not in self.summed:
                return take_rows(values, first[:most])
            # astype: of no rows bincount makes whole numbers
            return np.bincount(group, values, len(keys))[:most].astype(np.float64)

        return self._with(field)


@dataclass(frozen=True)
class Tally(KeyedRows):
    """The rows in a sum: keys in increasing order, and of each its weight and copies.

    A sum of rows does not say what is in it. The tally does, for as many rows as are worth it, so
    that a row that was never added cannot be removed. Copies are the numbers of rows; of a row that
    was removed in part, some of it is left. Of rows that are fewer numbers than the sums over
    them, it also keeps what was summed.
    """

    by_row = ("keys", "weights", "copies", "z", "t")
    summed = ("weights", "copies")
    weights: Floats
    copies: Floats
    z: Floats | None = None  # scaled inputs
    t: Floats | None = None  # and targets

    @property
    def rows(self) -> int:
        """Number of rows, equal ones counted as often as they came."""
        return round(float(self.copies.sum()))

    def __add__(self, other: Tally) -> Tally:
        return self.joined(other).distinct()

    def __sub__(self, other: Tally) -> Tally:
        """Return the tally without these rows; raise InvalidInput if it does not have them."""
        rest = self + replace(other, weights=-other.weights, copies=0 * other.copies)
        weights, rounding = rest.weights, WEIGHT_ROUNDING * (self + other).weights
        if missing := int((weights < -rounding).sum()):
            raise InvalidInput("X", problem=f"cannot remove {missing} rows that were never added")
        mine = np.isin(rest.keys, self.keys)
        weights, rounding = weights[mine], rounding[mine]
        # a part is a row, too
        copies = np.ceil(weights / self.weights * self.copies - WEIGHT_ROUNDING)
        return replace(self, weights=weights, copies=copies)[weights > rounding]


def add_tallies(a: Tally | None, b: Tally | None) -> Tally | None:
    """Return a + b unless there are too many rows; None is a tally that is not kept."""
    if a is None or b is None or len(a) + len(b) > 2 * MAX_TALLY_ROWS:
        return None
    total = a + b
    return total if len(total) <= MAX_TALLY_ROWS else None


def in_own_unit(w: Floats) -> Floats:
    """Return weights over a power of two, the largest below one: exact, and far from underflow."""
    return np.ldexp(w, -np.frexp(w.max(initial=0.0))[1])


def effective_rows(w: Floats, copies: Floats | float = 1.0) -> float:
    r"""Return the number of rows of equal weight that say as much, copies of a row apart.

    .. math:: \frac{(\sum w_i)^2}{\sum w_i^2 / c_i}
    """
    if not w.any():
        return 0.0
    w = in_own_unit(w)
    return float(w.sum() ** 2 / (w @ (w / copies)))


@dataclass(frozen=True)
class Sample(KeyedRows):
    """At most `size` rows: keys in increasing order, inputs, targets, weights."""

    by_row = ("keys", "X", "y", "w", "copies")
    summed = ("w", "copies")
    X: Tabular
    y: Values
    w: Floats
    copies: Floats  # (n,) number of equal rows that each row stands for
    size: int
    seed: int  # of the keys
    labels: Mapping[Any, float]  # distinct targets of all rows with the sums of their weights
    tally: Tally | None = None  # of all rows, or None where there are too many

    def __add__(self, other: Sample) -> Sample:
        labels = {label: self.labels.get(label, 0.0) + w for label, w in other.labels.items()}
        both = self.joined(other).distinct(self.size)
        tally = add_tallies(self.tally, other.tally)
        return replace(both, labels={**self.labels, **labels}, tally=tally)


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
    copies = np.ones(len(w))
    tally = Tally(keys, w, copies).distinct()
    return Sample(keys, X, y, w, copies, size, seed, label_weights, tally).distinct(size)


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
