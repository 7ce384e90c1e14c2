"""Sources of rows: arrays, frames, files of any size, iterators, Dask collections."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import issparse

from onegrad.exceptions import AssumptionWarning, InvalidInput, warn
from onegrad.tables.rows.file_partitions import CsvPartition, FilePartition, file_partitions
from onegrad.tables.rows.kinds import KINDS, ColumnType
from onegrad.tables.rows.partitions import (
    PARTITION_ROWS,
    ColumnRoles,
    IteratorPartition,
    MemoryPartition,
    Partition,
    RowBlock,
)
from onegrad.tables.rows.table import Tabular, as_table, is_frame, is_table, slice_rows


@dataclass(frozen=True)
class Source:
    """All partitions of a data set; with `single_pass` a stream that can be read only once."""

    partitions: Sequence[Partition]
    single_pass: bool = False

    @property
    def paths(self) -> list[str]:
        """The files that are read."""
        return [partition.path for partition in self.partitions if hasattr(partition, "path")]

    def blocks(self) -> Iterator[RowBlock]:
        """Yield all blocks in order."""
        for partition in self.partitions:
            yield from partition.blocks()

    def with_types(self, column_types: Mapping[str, ColumnType], only: bool = False) -> Source:
        """Return the source with columns read as these types, whatever a file suggests.

        With `only`, other columns are not read at all.
        """
        partitions = [partition.with_types(column_types, only) for partition in self.partitions]
        return Source(partitions, self.single_pass)

    def aligned(self, categorical: Sequence[str] = ()) -> Source:
        """Return the source with all files read alike: one order of columns, one kind of each.

        `categorical` are columns whose values are categories even where they look like numbers.
        """
        text = {name: ColumnType("text") for name in categorical}
        files = {p.path: p for p in self.partitions if isinstance(p, FilePartition)}
        for path, file in files.items():
            if isinstance(file, CsvPartition) and file.skips_unnamed_column():
                problem = "its first column has no name and is taken as row labels, not as an input"
                warn(AssumptionWarning("data", path, f"{path}: {problem}"))
        if len(files) < 2:
            return self.with_types(text) if text else self
        types = common_types({path: file.kinds() for path, file in files.items()})
        return self.with_types(types | text, only=True)

    def for_two_passes(self, rows: int) -> tuple[Source, Source]:
        """Return the source of the first pass and that of the second.

        A stream that can be read once gives its first rows to the first pass; they are kept, and
        the second pass reads them and then the rest.
        """
        if not self.single_pass:
            return self, self
        stream = self.blocks()
        head: list[RowBlock] = []
        while sum(map(len, head)) < rows and (block := next(stream, None)) is not None:
            head.append(block)
        everything = IteratorPartition(lambda: itertools.chain(head, stream))
        return Source([IteratorPartition(partial(iter, head))]), Source([everything], True)


def source(
    data: Any,
    y: Any = None,
    sample_weight: Any = None,
    *,
    target: str | int | None = None,
    weight: str | None = None,
    columns: Sequence[str] | None = None,
    drop_missing: bool = False,
) -> Source:
    """Return rows of any origin as a source that `fit` reads block by block.

    Parameters
    ----------
    data : a path, a directory or a glob pattern of .parquet, .csv, .npz or .npy files; an iterator
        of blocks (X, y) or (X, y, weights), or a function that starts a new one; a NumPy array or
        memory map; a sparse matrix of SciPy, which becomes dense a block at a time; a pandas,
        polars or pyarrow table; a Dask array or dataframe.
    y, sample_weight : with arrays and tables, the targets and weights beside them.
    target, weight, columns : with tables, the names of the target, the weights and the inputs
        (default: all others). With .npz the target is the name of an array beside X (default "y"),
        with .npy the number of a column.
    drop_missing : leave out the rows of a table whose target is missing.

    Examples
    --------
    >>> import onegrad as og
    >>> from onegrad.tables import source
    >>> table = {"size": [30.0, 40.0, 50.0] * 20, "price": [90.0, 120.0, 150.0] * 20}
    >>> model = og.OneStepRegressor(width=10, eta=0.0, random_state=0)
    >>> model.fit(source(table, target="price")).n_rows_
    60
    """
    if isinstance(data, Source):
        return data
    roles = ColumnRoles(
        None if target is None else str(target),
        weight,
        None if columns is None else tuple(columns),
        drop_missing=drop_missing,
    )
    if isinstance(data, str | Path):
        return Source(file_partitions(str(data), roles, target))
    if type(data).__module__.startswith("dask"):
        return Source(_dask_partitions(data, y, sample_weight, roles))
    if isinstance(data, np.ndarray) or issparse(data):
        return Source(_memory_partitions(data, y, sample_weight, roles))
    if is_frame(data):
        return Source(_memory_partitions(as_table(data), y, sample_weight, roles))
    # it can be read once; a function that starts one, or a list, again and again
    if isinstance(data, Iterator):
        return Source([IteratorPartition(lambda: data)], single_pass=True)
    if callable(data):
        return Source([IteratorPartition(data)])
    if isinstance(data, list | tuple):
        return Source([IteratorPartition(partial(iter, data))])
    allowed = "a path, an array, a table, an iterator of blocks or a Dask collection"
    raise InvalidInput("data", type(data).__name__, allowed)


def common_types(kinds_by_path: Mapping[str, Mapping[str, str]]) -> dict[str, ColumnType]:
    """Return how the columns of several files are read: in the order of the first, one kind each.

    CSV files do not say what a column holds: where one has numbers and another has not, they are
    all text. Parquet files do.
    """
    first, *others = kinds_by_path
    common = dict(kinds_by_path[first])
    for path in others:
        kinds = kinds_by_path[path]
        if differing := set(common) ^ set(kinds):
            problem = f"is only in one of {first} and {path}"
            raise InvalidInput("column", min(differing), problem=problem)
        for name, kind in kinds.items():
            both = {kind, common[name]} - {""}
            if len(both) < 2:
                common[name] = kind or common[name]
            elif both == {"number", "truth"}:
                common[name] = "number"
            elif Path(path).suffix == ".csv":
                common[name] = "text"
            else:
                earlier = next(p for p, k in kinds_by_path.items() if k[name] == common[name])
                held, holds = KINDS[common[name]].plural, KINDS[kind].plural
                problem = f"holds {held} in {earlier} and {holds} in {path}"
                raise InvalidInput("column", name, problem=problem)
    return {name: ColumnType(kind or "number") for name, kind in common.items()}


def _memory_partitions(X: Tabular, y: Any, w: Any, roles: ColumnRoles) -> list[Partition]:
    """Divide a matrix or an Arrow table into PARTITION_ROWS rows each."""
    if is_table(X):
        roles.select(X.column_names)  # complains at once
    elif X.ndim != 2:
        raise InvalidInput("X", problem=f"must be a matrix; it has {X.ndim} dimensions")
    for name, values in (("y", y), ("sample_weight", w)):
        if values is not None and len(values) != X.shape[0]:
            problem = f"has {len(values)} rows; the inputs have {X.shape[0]}"
            raise InvalidInput(name, problem=problem)
    arrays = X, *(None if a is None else np.asarray(a) for a in (y, w))
    starts = range(0, X.shape[0], PARTITION_ROWS)
    parts = ([slice_rows(a, start, PARTITION_ROWS) for a in arrays] for start in starts)
    return [MemoryPartition(*part, columns=roles) for part in parts]


def _dask_partitions(data: Any, y: Any, w: Any, roles: ColumnRoles) -> list[Partition]:
    """Return one partition per partition of a dataframe, or per block of rows of an array."""
    if hasattr(data, "columns"):
        roles.select(list(data.columns))  # complains at once
        return [MemoryPartition(X, columns=roles) for X in data.to_delayed()]
    arrays = [_delayed_rows(data)]
    for name, values in (("y", y), ("sample_weight", w)):
        if values is None:
            arrays.append([None] * len(arrays[0]))
        elif hasattr(values, "to_delayed"):
            arrays.append(_delayed_rows(values.rechunk({0: data.chunks[0]})))
        else:
            raise InvalidInput(name, problem="must be a Dask array when X is one")
    return [MemoryPartition(*rows) for rows in zip(*arrays, strict=True)]


def _delayed_rows(array: Any) -> list[Any]:
    return list((array.rechunk({1: -1}) if array.ndim > 1 else array).to_delayed().ravel())
