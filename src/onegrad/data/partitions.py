"""Partitions of rows in memory: arrays, tables, iterators, Dask collections.

Partitions of files are in onegrad.data.files and onegrad.data.matrices.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from onegrad.data.kinds import KIND_NAMES, ColumnType, convert, kind_of
from onegrad.data.table import (
    Tabular,
    Values,
    as_table,
    column_values,
    convert_columns,
    is_frame,
    is_table,
    list_names,
    missing_column,
)
from onegrad.exceptions import InvalidInput, closest

ROWS_PER_BLOCK = 16_384
PARTITION_ROWS = 131_072  # of a large array; of a Parquet file, in whole row groups, or more

BLANKS = " \t\r\n\0"  # NumPy drops zeros at the end of a text


@dataclass(frozen=True)
class RowBlock:
    """Consecutive rows in memory: inputs (a matrix or an Arrow table), targets and weights.

    What the data do not have is None.
    """

    X: Tabular
    y: Values | None = None
    w: Values | None = None

    def __len__(self) -> int:
        return self.X.num_rows if is_table(self.X) else len(self.X)


@dataclass(frozen=True)
class ColumnRoles:
    """Names of the columns that hold the target, the weights and the inputs (None: all others).

    `column_types` says how columns are read where that is known.
    """

    target: str | None = None
    weight: str | None = None
    inputs: tuple[str, ...] | None = None
    column_types: Mapping[str, ColumnType] = field(default_factory=dict)

    def is_input(self, name: str) -> bool:
        if self.inputs is not None:
            return name in self.inputs
        return name not in (self.target, self.weight)

    def select(self, names: Sequence[str], row_labels: Collection[str] = ()) -> list[str]:
        """Return the columns to read, which must exist; row labels only where they are named."""
        roles = [("target", self.target), ("weight", self.weight)]
        roles += [("columns", name) for name in self.inputs or ()]
        chosen = {name: argument for argument, name in roles if name is not None}
        for name, argument in chosen.items():
            if name not in names:
                if name in self.column_types:
                    raise missing_column(name, names)
                near = closest(name, names)
                raise InvalidInput(argument, name, f"one of {list_names(names)}", suggestion=near)
        if self.inputs is None:
            return [name for name in names if name in chosen or name not in row_labels]
        return list(chosen)

    def row_block(self, table: Any) -> RowBlock:
        """Return a table cut into inputs, target and weights."""
        y = None if self.target is None else _target_values(table[self.target], self.target)
        w = None if self.weight is None else _weight_values(table[self.weight], self.weight)
        inputs = [c for c in self.inputs or table.column_names if self.is_input(c)]
        if not inputs:
            raise InvalidInput("inputs", problem="there is no column besides target and weight")
        return RowBlock(convert_columns(table.select(inputs), self.column_types), y, w)


def _target_values(column: Any, name: str) -> Values:
    """Return a target column without missing values: numbers, or text that is not blank."""
    if kind_of(column.type, name) == "instant":
        problem = "holds dates; predict the time since some day, as a number, instead"
        raise InvalidInput("target", name, problem=problem)
    values = column_values(convert(column, name))
    is_text = values.dtype == object
    if column.null_count or (is_text and not all(v.strip(BLANKS) for v in set(values))):
        raise InvalidInput("target", name, problem="has missing values; drop those rows first")
    return values.astype(str) if is_text else values


def _weight_values(column: Any, name: str) -> Values:
    kind = kind_of(column.type, name)
    if kind not in ("number", "truth"):
        problem = f"holds {KIND_NAMES[kind]}; weights must be numbers"
        raise InvalidInput("weight", name, problem=problem)
    return column_values(convert(column, name, ColumnType("number")))


@dataclass(frozen=True)
class Partition:
    """A portion of a source that can be read on its own: again and again, in any process."""

    columns: ColumnRoles = field(default=ColumnRoles(), kw_only=True)

    def blocks(self) -> Iterator[RowBlock]:
        raise NotImplementedError

    def with_types(self, column_types: Mapping[str, ColumnType], only: bool = False) -> Partition:
        """Return the partition with columns read as these types; with `only`, no other columns."""
        inputs = tuple(column_types) if only else self.columns.inputs
        columns = replace(self.columns, inputs=inputs, column_types=column_types)
        return replace(self, columns=columns)

    def remake(self) -> tuple[Callable[..., Partition], tuple[Any, ...]]:
        """Return a function and the arguments that a cluster calls it with to have the partition.

        Dask objects among the arguments are computed first, on the workers that hold their data.
        """
        return _itself, (self,)


def _itself(partition: Partition) -> Partition:
    return partition


@dataclass(frozen=True)
class TablePartition(Partition):
    """Rows of an Arrow table in memory; targets and weights beside it, or columns of it."""

    table: Any
    y: Any = None
    w: Any = None

    def blocks(self) -> Iterator[RowBlock]:
        table = self.table.select(self.columns.select(self.table.column_names))
        for start in range(0, table.num_rows, ROWS_PER_BLOCK):
            block = self.columns.row_block(table.slice(start, ROWS_PER_BLOCK))
            rows = slice(start, start + ROWS_PER_BLOCK)
            yield RowBlock(
                block.X,
                block.y if self.y is None else np.asarray(self.y[rows]),
                block.w if self.w is None else np.asarray(self.w[rows]),
            )


@dataclass(frozen=True)
class ArrayPartition(Partition):
    """Rows of arrays in memory or of memory maps; `target` is the column of X that holds y."""

    X: Any
    y: Any = None
    w: Any = None
    target: int | None = None

    def blocks(self) -> Iterator[RowBlock]:
        for start in range(0, len(self.X), ROWS_PER_BLOCK):
            rows = slice(start, start + ROWS_PER_BLOCK)
            X = np.asarray(self.X[rows])
            y, w = (None if a is None else np.asarray(a[rows]) for a in (self.y, self.w))
            if self.target is not None:
                X, y = np.delete(X, self.target, axis=1), X[:, self.target]
            yield RowBlock(X, y, w)


@dataclass(frozen=True)
class IteratorPartition(Partition):
    """Blocks (X, y) or (X, y, w) from a function that starts an iterator of them."""

    start: Callable[[], Iterable[Any]]

    def blocks(self) -> Iterator[RowBlock]:
        for item in self.start():
            if isinstance(item, RowBlock):
                yield item
                continue
            if not isinstance(item, tuple | list) or not 1 <= len(item) <= 3:
                problem = "an iterator must give blocks (X, y) or (X, y, weights)"
                raise InvalidInput("data", problem=problem)
            X, *rest = item
            types = self.columns.column_types
            inputs = convert_columns(as_table(X), types) if is_frame(X) else np.asarray(X)
            yield RowBlock(inputs, *(None if a is None else np.asarray(a) for a in rest))


@dataclass(frozen=True)
class DaskPartition(Partition):
    """One partition of a Dask collection; X, y, w are arrays once they have been computed."""

    X: Any
    y: Any = None
    w: Any = None

    def remake(self) -> tuple[Callable[..., Partition], tuple[Any, ...]]:
        return partial(DaskPartition, columns=self.columns), (self.X, self.y, self.w)

    def blocks(self) -> Iterator[RowBlock]:
        X, y, w = self.X, self.y, self.w
        if hasattr(X, "dask"):  # read without a cluster: compute this partition here
            from dask.base import compute

            X, y, w = compute(X, y, w)  # type: ignore[no-untyped-call]
        if is_frame(X):
            yield from TablePartition(as_table(X), y, w, columns=self.columns).blocks()
        else:
            yield from ArrayPartition(X, y, w).blocks()
