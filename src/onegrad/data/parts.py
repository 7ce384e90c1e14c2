"""Parts of data sets: small picklable values that read their own rows, block by block.

A part can be read again and again, in any process; nothing holds more than a block of rows. The
parts of files are in onegrad.data.files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from onegrad.data.table import Tabular, Values, column_values, is_numeric, is_table
from onegrad.errors import InvalidInput

BLOCK = 16_384  # rows read at once
PART_ROWS = 131_072  # least number of rows in a part of a large array or Parquet file


@dataclass(frozen=True)
class Block:
    """Some rows: inputs (a matrix or an Arrow table), targets, weights; None for what is absent."""

    X: Tabular
    y: Values | None = None
    w: Values | None = None

    def __len__(self) -> int:
        return self.X.num_rows if is_table(self.X) else len(self.X)


class Part:
    """A piece of a source that can be read again and again, anywhere."""

    def blocks(self) -> Iterator[Block]:
        raise NotImplementedError

    def remote(self) -> tuple[Any, ...]:
        """What a cluster has to compute before this part can be read (Dask objects)."""
        return ()

    def filled(self, *values: Any) -> Part:
        """This part with the computed values of `remote`."""
        return self


@dataclass(frozen=True)
class Columns:
    """Which columns of a table are what: the target, the weights, the inputs (all others)."""

    target: str | None = None
    weight: str | None = None
    inputs: tuple[str, ...] | None = None

    def of(self, names: Sequence[str]) -> list[str]:
        """The columns to read, all known to exist."""
        wanted = [c for c in (self.target, self.weight, *(self.inputs or ())) if c is not None]
        for name in wanted:
            if name not in names:
                raise InvalidInput(f"no column {name!r}; the data have {', '.join(names):.200}")
        return wanted if self.inputs is not None else list(names)

    def block(self, table: Any) -> Block:
        """A table cut into inputs, target, weights."""
        y = None if self.target is None else target_values(table[self.target], self.target)
        w = None if self.weight is None else column_values(table[self.weight])
        inputs = self.inputs or [
            c for c in table.column_names if c not in (self.target, self.weight)
        ]
        if not inputs:
            raise InvalidInput("the data have no input columns besides target and weight")
        return Block(table.select(inputs), y, w)


def target_values(column: Any, name: str) -> Values:
    """A target column without missing values: numbers, or text."""
    if column.null_count:
        raise InvalidInput(f"target {name!r} has missing values; drop those rows first")
    values = column_values(column)
    return values if is_numeric(column) else values.astype(str)


@dataclass(frozen=True)
class ArrayPart(Part):
    """Rows of arrays in memory or of memory maps; `target` is the column of X that holds y."""

    X: Any
    y: Any = None
    w: Any = None
    target: int | None = None

    def blocks(self) -> Iterator[Block]:
        for i in range(0, len(self.X), BLOCK):
            piece = slice(i, i + BLOCK)
            X, y, w = (
                None if a is None else np.asarray(a[piece]) for a in (self.X, self.y, self.w)
            )
            if self.target is not None and X is not None:
                X, y = np.delete(X, self.target, axis=1), X[:, self.target]
            yield Block(X, y, w)


@dataclass(frozen=True)
class IteratorPart(Part):
    """Blocks (X, y) or (X, y, w) of an iterator, or of a function that starts a new one."""

    make: Callable[[], Iterable[Any]]

    def blocks(self) -> Iterator[Block]:
        for item in self.make():
            yield item if isinstance(item, Block) else Block(*map(_array, item))


def _array(value: Any) -> Any:
    return None if value is None else np.asarray(value)


@dataclass(frozen=True)
class DaskPart(Part):
    """One partition of a Dask collection; X, y, w are arrays once somebody computed them."""

    X: Any
    y: Any = None
    w: Any = None
    columns: Columns = Columns()

    def remote(self) -> tuple[Any, ...]:
        return self.X, self.y, self.w

    def filled(self, *values: Any) -> Part:
        X, y, w = values
        return DaskPart(X, y, w, self.columns)

    def blocks(self) -> Iterator[Block]:
        X, y, w = self.X, self.y, self.w
        if hasattr(X, "dask"):  # read without a cluster: compute this partition here
            from dask.base import compute

            X, y, w = compute(X, y, w)  # type: ignore[no-untyped-call]
        if hasattr(X, "columns"):  # a pandas frame
            import pyarrow as pa

            table = pa.Table.from_pandas(X, preserve_index=False)
            yield self.columns.block(table.select(self.columns.of(table.column_names)))
        else:
            yield from ArrayPart(X, y, w).blocks()
