"""Parts of data sets: small picklable values that read their own rows, block by block.

A part can be read again and again, in any process; nothing holds more than a block of rows. The
parts of files are in onegrad.data.files.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from onegrad.data.kinds import KINDS, ColumnType, converted, kind_of
from onegrad.data.table import (
    Tabular,
    Values,
    as_table,
    canonical,
    column_values,
    is_frame,
    is_table,
)
from onegrad.exceptions import InvalidInput

BLOCK = 16_384  # rows read at once
PARTITION_ROWS = 131_072  # least number of rows in a part of a large array or Parquet file

BLANK = " \t\r\n\0"  # NumPy drops zeros at the end of a text


@dataclass(frozen=True)
class RowBlock:
    """Some rows: inputs (a matrix or an Arrow table), targets, weights; None for what is absent."""

    X: Tabular
    y: Values | None = None
    w: Values | None = None

    def __len__(self) -> int:
        return self.X.num_rows if is_table(self.X) else len(self.X)


class Partition:
    """A piece of a source that can be read again and again, anywhere."""

    def blocks(self) -> Iterator[RowBlock]:
        raise NotImplementedError

    def with_types(self, column_types: Mapping[str, ColumnType], only: bool = False) -> Partition:
        """This part with columns read as is asked, with `only` these; a matrix has none."""
        return self

    def remote(self) -> tuple[Any, ...]:
        """What a cluster has to compute before this part can be read (Dask objects)."""
        return ()

    def filled(self, *values: Any) -> Partition:
        """This part with the computed values of `remote`."""
        return self


@dataclass(frozen=True)
class Columns:
    """Which columns of a table are what: the target, the weights, the inputs (all others).

    `column_types` says how columns are to be read where that is known.
    """

    target: str | None = None
    weight: str | None = None
    inputs: tuple[str, ...] | None = None
    column_types: Mapping[str, ColumnType] = field(default_factory=dict)

    def with_types(self, column_types: Mapping[str, ColumnType], only: bool) -> Columns:
        inputs = tuple(column_types) if only else self.inputs
        return replace(self, inputs=inputs, column_types=column_types)

    def is_input(self, name: str) -> bool:
        if self.inputs is not None:
            return name in self.inputs
        return name not in (self.target, self.weight)

    def of(self, names: Sequence[str], index: Collection[str] = ()) -> list[str]:
        """The columns to read, all known to exist; those of an index only where they are named."""
        wanted = [c for c in (self.target, self.weight, *(self.inputs or ())) if c is not None]
        for name in wanted:
            if name not in names:
                what = (
                    f"column {name!r} is missing"
                    if name in self.column_types
                    else f"no column {name!r}"
                )
                raise InvalidInput(f"{what}; the data have {', '.join(names):.200}")
        if self.inputs is None:
            wanted = [c for c in names if c in wanted or c not in index]
        return list(dict.fromkeys(wanted))

    def block(self, table: Any) -> RowBlock:
        """A table cut into inputs, target, weights."""
        y = None if self.target is None else target_values(table[self.target], self.target)
        w = None if self.weight is None else weights(table[self.weight], self.weight)
        inputs = [c for c in self.inputs or table.column_names if self.is_input(c)]
        if not inputs:
            raise InvalidInput("the data have no input columns besides target and weight")
        return RowBlock(canonical(table.select(inputs), self.column_types), y, w)


def target_values(column: Any, name: str) -> Values:
    """A target column without missing values: numbers, or text that is more than blanks."""
    if kind_of(column.type, name) == "instant":
        raise InvalidInput(
            f"target {name!r} holds dates; learn the time since some day, as a number"
        )
    values = column_values(converted(column, None, name))
    text = values.dtype == object
    if column.null_count or (text and not all(v.strip(BLANK) for v in set(values))):
        raise InvalidInput(f"target {name!r} has missing values; drop those rows first")
    return values.astype(str) if text else values


def weights(column: Any, name: str) -> Values:
    """A column of weights: numbers."""
    kind = kind_of(column.type, name)
    if kind not in ("number", "truth"):
        raise InvalidInput(f"weight column {name!r} holds {KINDS[kind]}; weights are numbers")
    return column_values(converted(column, ColumnType("number"), name))


@dataclass(frozen=True)
class TablePartition(Partition):
    """Rows of an Arrow table in memory; targets and weights beside it, or columns of it."""

    table: Any
    y: Any = None
    w: Any = None
    columns: Columns = Columns()

    def with_types(self, column_types: Mapping[str, ColumnType], only: bool = False) -> Partition:
        return replace(self, columns=self.columns.with_types(column_types, only))

    def blocks(self) -> Iterator[RowBlock]:
        table = self.table.select(self.columns.of(self.table.column_names))
        for i in range(0, table.num_rows, BLOCK):
            block = self.columns.block(table.slice(i, BLOCK))
            beside = (None if a is None else np.asarray(a[i : i + BLOCK]) for a in (self.y, self.w))
            y, w = (
                a if a is not None else b for a, b in zip(beside, (block.y, block.w), strict=True)
            )
            yield RowBlock(block.X, y, w)


@dataclass(frozen=True)
class ArrayPartition(Partition):
    """Rows of arrays in memory or of memory maps; `target` is the column of X that holds y."""

    X: Any
    y: Any = None
    w: Any = None
    target: int | None = None

    def blocks(self) -> Iterator[RowBlock]:
        for i in range(0, len(self.X), BLOCK):
            piece = slice(i, i + BLOCK)
            X, y, w = (
                None if a is None else np.asarray(a[piece]) for a in (self.X, self.y, self.w)
            )
            if self.target is not None and X is not None:
                X, y = np.delete(X, self.target, axis=1), X[:, self.target]
            yield RowBlock(X, y, w)


@dataclass(frozen=True)
class IteratorPartition(Partition):
    """Blocks (X, y) or (X, y, w) of an iterator, or of a function that starts a new one."""

    make: Callable[[], Iterable[Any]]
    column_types: Mapping[str, ColumnType] = field(default_factory=dict)

    def with_types(self, column_types: Mapping[str, ColumnType], only: bool = False) -> Partition:
        return replace(self, column_types=column_types)

    def blocks(self) -> Iterator[RowBlock]:
        for item in self.make():
            if isinstance(item, RowBlock):
                yield item
                continue
            if not isinstance(item, tuple | list) or not 1 <= len(item) <= 3:
                raise InvalidInput("an iterator gives blocks (X, y) or (X, y, weights)")
            X, *rest = item
            inputs = canonical(as_table(X), self.column_types) if is_frame(X) else np.asarray(X)
            yield RowBlock(inputs, *(None if a is None else np.asarray(a) for a in rest))


@dataclass(frozen=True)
class DaskPartition(Partition):
    """One partition of a Dask collection; X, y, w are arrays once somebody computed them."""

    X: Any
    y: Any = None
    w: Any = None
    columns: Columns = Columns()

    def remote(self) -> tuple[Any, ...]:
        return self.X, self.y, self.w

    def with_types(self, column_types: Mapping[str, ColumnType], only: bool = False) -> Partition:
        return replace(self, columns=self.columns.with_types(column_types, only))

    def filled(self, *values: Any) -> Partition:
        X, y, w = values
        return DaskPartition(X, y, w, self.columns)

    def blocks(self) -> Iterator[RowBlock]:
        X, y, w = self.X, self.y, self.w
        if hasattr(X, "dask"):  # read without a cluster: compute this partition here
            from dask.base import compute

            X, y, w = compute(X, y, w)  # type: ignore[no-untyped-call]
        if is_frame(X):
            yield from TablePartition(as_table(X), y, w, self.columns).blocks()
        else:
            yield from ArrayPartition(X, y, w).blocks()
