"""Where rows come from: arrays, frames, files of any size, iterators, Dask collections.

A source is a list of parts (see onegrad.data.partitions); :func:`source` finds the right kind.
"""

from __future__ import annotations

import glob
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from onegrad.data.files import CsvPartition, FilePartition, parquet_parts
from onegrad.data.kinds import KINDS, ColumnType
from onegrad.data.matrices import NpyPartition, NpzPartition, npy_parts
from onegrad.data.partitions import (
    PARTITION_ROWS,
    ArrayPartition,
    Columns,
    DaskPartition,
    IteratorPartition,
    Partition,
    RowBlock,
    TablePartition,
)
from onegrad.data.table import as_table, is_frame
from onegrad.exceptions import InvalidInput, warn

FILES = (".parquet", ".csv", ".npz", ".npy")


@dataclass(frozen=True)
class Source:
    """All parts of a data set; `single_pass` marks a stream that can be read a single time."""

    partitions: Sequence[Partition]
    single_pass: bool = False

    @property
    def paths(self) -> list[str]:
        """The files that are read."""
        return [
            part.path
            for part in self.partitions
            if isinstance(part, FilePartition | NpyPartition | NpzPartition)
        ]

    def blocks(self) -> Iterator[RowBlock]:
        """All blocks in order."""
        for part in self.partitions:
            yield from part.blocks()

    def with_types(self, column_types: Mapping[str, ColumnType], only: bool = False) -> Source:
        """The same rows with columns read as is asked, whatever a file suggests.

        With `only`, other columns are not read at all.
        """
        return Source(
            [part.with_types(column_types, only) for part in self.partitions], self.single_pass
        )

    def aligned(self, text: Sequence[str] = ()) -> Source:
        """All files read alike: the same columns in one order, each of one kind.

        `text` are columns whose values are categories even where they look like numbers.
        """
        asked = {name: ColumnType("text") for name in text}
        files = {part.path: part for part in self.partitions if isinstance(part, FilePartition)}
        for path, part in files.items():
            if part.unnamed():
                warn(f"{path}: its first column has no name: row labels, which are no input")
        if len(files) < 2:
            return self.with_types(asked) if asked else self
        return self.with_types(
            common_types([(p, part.kinds()) for p, part in files.items()]) | asked, True
        )

    def for_two_passes(self, rows: int) -> tuple[Source, Source]:
        """The source of the first pass and that of the second.

        A stream that can be read once gives its first rows to the first pass; they are kept, and
        the second pass reads them and then the rest.
        """
        if not self.single_pass:
            return self, self
        stream = self.blocks()
        head: list[RowBlock] = []
        while sum(map(len, head)) < rows and (block := next(stream, None)) is not None:
            head.append(block)
        whole = IteratorPartition(lambda: itertools.chain(head, stream))
        return Source([IteratorPartition(partial(iter, head))]), Source([whole], single_pass=True)


def source(
    data: Any,
    y: Any = None,
    sample_weight: Any = None,
    *,
    target: str | int | None = None,
    weight: str | None = None,
    columns: Sequence[str] | None = None,
) -> Source:
    """The source that `data` means.

    Parameters
    ----------
    data : a path, a directory or a glob pattern of .parquet, .csv, .npz or .npy files; an iterator
        of blocks (X, y) or (X, y, weights), or a function that starts a new one; a NumPy array or
        memory map; a pandas, polars or pyarrow table; a Dask array or dataframe.
    y, sample_weight : with arrays and tables, the targets and weights beside them.
    target, weight, columns : with tables, the names of the target, the weights and the inputs
        (default: all others). With .npz the target is the name of an array beside X (default "y"),
        with .npy the number of a column.

    Examples
    --------
    >>> import onegrad as og
    >>> from onegrad.data import source
    >>> table = {"size": [30.0, 40.0, 50.0] * 20, "price": [90.0, 120.0, 150.0] * 20}
    >>> model = og.OneStepRegressor(width=10, eta=0.0, random_state=0)
    >>> model.fit(source(table, target="price")).n_rows_
    60
    """
    if isinstance(data, Source):
        return data
    chosen = Columns(
        None if target is None else str(target), weight, None if columns is None else tuple(columns)
    )
    if isinstance(data, str | Path):
        return _from_files(str(data), chosen, target)
    if type(data).__module__.startswith("dask"):
        return _from_dask(data, y, sample_weight, chosen)
    if isinstance(data, np.ndarray):
        return Source(_array_parts(data, y, sample_weight))
    if is_frame(data):
        return Source(_table_parts(as_table(data), y, sample_weight, chosen))
    if isinstance(data, Iterator):
        return Source([IteratorPartition(lambda: data)], single_pass=True)
    if callable(data):
        return Source([IteratorPartition(data)])
    if isinstance(data, list | tuple):
        return Source([IteratorPartition(partial(iter, data))])
    raise InvalidInput(
        f"data must be a path, an array, an iterator of blocks or a Dask collection; "
        f"got {type(data).__name__}"
    )


def _from_files(path: str, columns: Columns, target: str | int | None) -> Source:
    files = _files(path)
    kinds = sorted({Path(f).suffix for f in files})
    if len(kinds) > 1 or kinds[0] not in FILES:
        raise InvalidInput(
            f"{path!r} holds {', '.join(kinds)} files; allowed is one kind of {', '.join(FILES)}"
        )
    if kinds[0] == ".npy":
        return Source([part for f in files for part in npy_parts(f, target)])
    if kinds[0] == ".npz":
        return Source([NpzPartition(f, columns) for f in files])
    if kinds[0] == ".csv":
        return Source([CsvPartition(f, columns) for f in files])
    return Source([part for f in files for part in parquet_parts(f, columns)])


def _files(path: str) -> list[str]:
    """The files that a path, a directory or a pattern names, in order."""
    if Path(path).is_dir():
        found = [str(p) for p in Path(path).rglob("*") if p.suffix in FILES]
    else:
        found = [path] if Path(path).is_file() else glob.glob(path)  # noqa: PTH207
    if not found:
        raise InvalidInput(f"no such file: {path!r}; allowed are {', '.join(FILES)}")
    return sorted(found)


def common_types(files: Sequence[tuple[str, Mapping[str, str]]]) -> dict[str, ColumnType]:
    """How the columns of several files are read: in the order of the first, of one kind each.

    CSV files do not say what a column holds: where one has numbers and another has not, they are
    all text. Parquet files do.
    """
    (first, kinds), *others = files
    found = dict(kinds)
    for path, kinds in others:
        differs = set(found) ^ set(kinds)
        if differs:
            raise InvalidInput(f"column {min(differs)!r} is only in one of {first} and {path}")
        for name, kind in kinds.items():
            both = {kind, found[name]} - {""}
            if len(both) < 2:
                found[name] = kind or found[name]
            elif both == {"number", "truth"}:
                found[name] = "number"
            elif Path(path).suffix == ".csv":
                found[name] = "text"
            else:
                known = next(f for f, k in files if k[name] == found[name])
                raise InvalidInput(
                    f"column {name!r} holds {KINDS[found[name]]} in {known} "
                    f"and {KINDS[kind]} in {path}"
                )
    return {name: ColumnType(kind or "number") for name, kind in found.items()}


def _slices(rows: int, y: Any, w: Any) -> Iterator[slice]:
    """Pieces of PARTITION_ROWS rows; targets and weights are as long as the inputs."""
    for name, values in (("y", y), ("sample_weight", w)):
        if values is not None and len(values) != rows:
            raise InvalidInput(f"{name} has {len(values)} rows; the inputs have {rows}")
    return (slice(i, i + PARTITION_ROWS) for i in range(0, rows, PARTITION_ROWS))


def _array_parts(X: Any, y: Any, w: Any) -> list[Partition]:
    if X.ndim != 2:
        raise InvalidInput(f"inputs must be a matrix; they have {X.ndim} dimensions")
    pieces = _slices(len(X), y, w)
    return [ArrayPartition(*(None if a is None else a[p] for a in (X, y, w))) for p in pieces]


def _table_parts(table: Any, y: Any, w: Any, columns: Columns) -> list[Partition]:
    columns.of(table.column_names)
    y, w = (None if a is None else np.asarray(a) for a in (y, w))
    return [
        TablePartition(
            table.slice(p.start, PARTITION_ROWS),
            None if y is None else y[p],
            None if w is None else w[p],
            columns,
        )
        for p in _slices(table.num_rows, y, w)
    ]


def _from_dask(data: Any, y: Any, w: Any, columns: Columns) -> Source:
    """One part a partition; arrays are cut by rows only."""
    if hasattr(data, "columns"):
        columns.of(list(data.columns))
        return Source([DaskPartition(piece, columns=columns) for piece in data.to_delayed()])
    pieces = [_row_pieces(data)]
    for name, values in (("y", y), ("sample_weight", w)):
        if values is None:
            pieces.append([None] * len(pieces[0]))
            continue
        if not hasattr(values, "to_delayed"):
            raise InvalidInput(f"{name} must be a Dask array when X is one")
        pieces.append(_row_pieces(values.rechunk({0: data.chunks[0]})))
    return Source([DaskPartition(*piece) for piece in zip(*pieces, strict=True)])


def _row_pieces(array: Any) -> list[Any]:
    return list((array.rechunk({1: -1}) if array.ndim > 1 else array).to_delayed().ravel())
