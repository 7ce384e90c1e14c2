r"""Blocks of rows, the roles of columns, partitions of rows in memory, and sums over partitions.

.. math:: \mathrm{sum}(f, p) = f(p_1) + f(p_2) + \dots + f(p_k)

A pass over the data is such a sum. One process, several processes and a Dask cluster call the same
function on the same partitions. The sums of this package are exact (see onegrad.ridge.moments), so
that the results are equal bit for bit; a partition that is computed again after a worker was lost
gives what it gave before. Partitions of files are in onegrad.tables.rows.file_partitions.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar

import numpy as np
from scipy.sparse import issparse

from onegrad.exceptions import InvalidInput
from onegrad.io.progress import Progress, as_progress
from onegrad.parallel.children import process_map
from onegrad.parallel.cluster import cluster_sum
from onegrad.tables.rows.kinds import KINDS, ColumnType, convert, kind_of
from onegrad.tables.rows.table import (
    Tabular,
    Values,
    as_table,
    column_values,
    convert_columns,
    is_frame,
    is_table,
    is_text,
    missing_column,
    not_a_column,
    slice_rows,
)

# These two bound memory and the work of one task; sums are exact, so no result depends on them.
ROWS_PER_BLOCK = 16_384
PARTITION_ROWS = 131_072  # of a large array; of a Parquet file, in whole row groups, or more


@dataclass(frozen=True)
class RowBlock:
    """Consecutive rows in memory: inputs (a matrix or an Arrow table), targets and weights.

    What the data do not have is None.
    """

    X: Tabular
    y: Values | None = None
    w: Values | None = None

    def __len__(self) -> int:
        return len(self.X)


@dataclass(frozen=True)
class ColumnRoles:
    """Names of the columns that hold the target, the weights and the inputs (None: all others).

    `column_types` says how columns are read where that is known. With `drop_missing`, rows without
    a target do not exist.
    """

    target: str | None = None
    weight: str | None = None
    inputs: tuple[str, ...] | None = None
    column_types: Mapping[str, ColumnType] = field(default_factory=dict)
    drop_missing: bool = False

    def __post_init__(self) -> None:
        seen = {self.target}
        for name in self.inputs or ():
            if name in seen:
                problem = "it is the target" if name == self.target else "it is there twice"
                raise InvalidInput("columns", name, problem=problem)
            seen.add(name)

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
                raise not_a_column(argument, name, names)
        if self.inputs is None:
            return [name for name in names if name in chosen or name not in row_labels]
        return list(chosen)

    def row_block(self, table: Any) -> RowBlock:
        """Return a table cut into inputs, target and weights."""
        if self.drop_missing and self.target is not None:
            table = table.filter(~missing_targets(table[self.target], self.target))
        y = None if self.target is None else _target_values(table[self.target], self.target)
        w = None if self.weight is None else _weight_values(table[self.weight], self.weight)
        inputs = [c for c in self.inputs or table.column_names if self.is_input(c)]
        if not inputs:
            raise InvalidInput("inputs", problem="there is no column besides target and weight")
        return RowBlock(convert_columns(table.select(inputs), self.column_types), y, w)


class MissingTargets(InvalidInput):
    """Some rows have no target."""


def _target_values(column: Any, name: str) -> Values:
    """Return a target column without missing values: numbers, or text that is not blank."""
    if kind_of(column.type, name) == "instant":
        problem = "holds dates; use a number instead, such as the days since a fixed date"
        raise InvalidInput("target", name, problem=problem)
    if missing_targets(column, name).any():
        raise MissingTargets("target", name, problem="has missing values; drop those rows first")
    values = column_values(convert(column, name))
    return values.astype(str) if values.dtype == object else values


def missing_targets(column: Any, name: str) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Return which rows of a target column have no value, or blank text."""
    column = convert(column, name)
    missing = np.asarray(column.is_null(nan_is_null=True))
    if is_text(column):
        values = list(column_values(column))
        # zeros count as blanks: NumPy drops them at the end of a text
        blank = {value for value in set(values) if not (value or "").strip(" \t\r\n\0")}
        missing |= np.array([value in blank for value in values], dtype=bool)
    return missing


def _weight_values(column: Any, name: str) -> Values:
    kind = kind_of(column.type, name)
    if kind not in ("number", "truth"):
        problem = f"holds {KINDS[kind].plural}; weights must be numbers"
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

    def remake(self) -> tuple[Any, ...]:
        """Return a function, and the arguments that a cluster calls it with to have the partition.

        Dask objects among the arguments are computed first, on the workers that hold their data.
        """
        return replace, self


@dataclass(frozen=True)
class MemoryPartition(Partition):
    """Rows in memory: X a matrix (sparse, too), a memory map or a table, y and w beside it.

    The table may also hold them as columns. X, y and w may be Dask objects, which are computed when
    they are read.
    """

    X: Any
    y: Any = None
    w: Any = None

    def remake(self) -> tuple[Any, ...]:
        return partial(MemoryPartition, columns=self.columns), self.X, self.y, self.w

    def blocks(self) -> Iterator[RowBlock]:
        arrays = self.X, self.y, self.w
        # Dask is loaded only where its objects came
        if hasattr(self.X, "dask"):
            from dask.base import compute

            arrays = compute(*arrays)  # type: ignore[no-untyped-call]
        X = as_table(arrays[0]) if is_frame(arrays[0]) else arrays[0]
        is_arrow = is_table(X)
        if is_arrow:
            X = X.select(self.columns.select(X.column_names))
        for start in range(0, X.shape[0], ROWS_PER_BLOCK):  # sparse matrices have no length
            rows, y, w = (slice_rows(a, start, ROWS_PER_BLOCK) for a in (X, *arrays[1:]))
            if is_arrow:
                block = self.columns.row_block(rows)
            else:
                block = RowBlock(rows.toarray() if issparse(rows) else np.asarray(rows))
            y = block.y if y is None else np.asarray(y)
            yield RowBlock(block.X, y, block.w if w is None else np.asarray(w))


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


# -- a pass over the data -------------------------------------------------------------------------


S = TypeVar("S", bound=Any)  # a value that adds


def add_optional(a: S | None, b: S | None) -> S | None:
    """Return a + b, where None is the sum of no rows."""
    if a is None or b is None:
        return a if b is None else b
    return a + b


def sum_over_partitions(
    function: Callable[[Partition], S | None],
    partitions: Sequence[Partition],
    *,
    client: Any = None,
    jobs: int = 1,
    progress: Progress | Callable[[int, int], None] | None = None,
) -> S:
    """Return the sum of function(partition) over all partitions.

    Parameters
    ----------
    function : gives None for an empty partition; picklable if jobs > 1 or with a client.
    partitions : read by the process that calls the function.
    client : a dask.distributed Client, whose workers call the function.
    jobs : number of joblib processes, without a client.
    progress : called with (done, all) after each partition.
    """
    total: S | None = None
    if client is not None and partitions:
        tasks = [partition.remake() for partition in partitions]
        add: Callable[[S | None, S | None], S | None] = add_optional
        total = cluster_sum(partial(_call_on_worker, function), tasks, client, add, progress)
    else:
        # a single partition is read here: its rows would only travel
        jobs = jobs if len(partitions) > 1 else 1
        report = as_progress(progress)
        if jobs == 1:
            report.detail(0, len(partitions))
            partitions = [IteratorPartition(partial(_counted, p, report.rows)) for p in partitions]
        for done, result in enumerate(process_map(function, partitions, jobs), 1):
            total = add_optional(total, result)
            report(done, len(partitions))
    if total is None:
        raise InvalidInput("data", problem="the table is empty")
    return total


def _counted(partition: Partition, report: Callable[[int], None]) -> Iterator[RowBlock]:
    """Yield the blocks of a partition; report their rows once they have been used."""
    for block in partition.blocks():
        yield block
        report(len(block))


def _call_on_worker(
    function: Callable[[Partition], S | None], make: Callable[..., Partition], *arguments: Any
) -> S | None:
    return function(make(*arguments))
