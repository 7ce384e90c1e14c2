"""Parts of data sets: small picklable values that read their own rows, block by block.

A part can be read again and again, in any process; nothing holds more than a block of rows.
"""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import IO, Any

import numpy as np

from onegrad.data.table import Rows, column_values, is_numeric, is_table
from onegrad.errors import InvalidInput

BLOCK = 16_384  # rows read at once


@dataclass(frozen=True)
class Block:
    """Some rows: inputs (a matrix or an Arrow table), targets, weights; None for what is absent."""

    X: Rows
    y: np.ndarray[Any, Any] | None = None
    w: np.ndarray[Any, Any] | None = None

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


def target_values(column: Any, name: str) -> np.ndarray[Any, Any]:
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
class NpyPart(Part):
    """Rows of an .npy file, as a memory map that each process opens for itself."""

    path: str
    start: int
    stop: int
    target: int | None

    def blocks(self) -> Iterator[Block]:
        X = np.load(self.path, mmap_mode="r", allow_pickle=False)
        return ArrayPart(X[self.start : self.stop], target=self.target).blocks()


@dataclass(frozen=True)
class ParquetPart(Part):
    """Some row groups of one Parquet file."""

    path: str
    groups: tuple[int, ...]
    columns: Columns

    def blocks(self) -> Iterator[Block]:
        import pyarrow as pa
        import pyarrow.parquet as pq

        with pq.ParquetFile(self.path, pre_buffer=False) as file:
            names = self.columns.of(file.schema_arrow.names)
            for batch in file.iter_batches(
                BLOCK, row_groups=list(self.groups), columns=names, use_threads=False
            ):
                yield self.columns.block(pa.Table.from_batches([batch]))


@dataclass(frozen=True)
class CsvPart(Part):
    """One CSV file, read as a stream; types are those of its first megabytes."""

    path: str
    columns: Columns

    def blocks(self) -> Iterator[Block]:
        import pyarrow as pa
        from pyarrow import csv

        try:
            types = {
                field.name: pa.float64()
                for field in csv.open_csv(self.path).schema
                if pa.types.is_integer(field.type) or pa.types.is_null(field.type)
            }
            convert = csv.ConvertOptions(column_types=types, strings_can_be_null=True)
            reader = csv.open_csv(self.path, convert_options=convert)
            self.columns.of(reader.schema.names)
            for batch in reader:
                table = pa.Table.from_batches([batch])
                yield self.columns.block(table.select(self.columns.of(table.column_names)))
        except pa.ArrowInvalid as error:
            raise InvalidInput(f"{self.path}: {str(error).splitlines()[0]:.200}") from None


@dataclass(frozen=True)
class NpzPart(Part):
    """Arrays X, y and w of an .npz file, unpacked as they are read."""

    path: str
    columns: Columns

    def blocks(self) -> Iterator[Block]:
        with zipfile.ZipFile(self.path) as archive:
            present = {name.removesuffix(".npy") for name in archive.namelist()}
            wanted = ["X", self.columns.target, self.columns.weight]
            for name in wanted:
                if name is not None and name not in present:
                    raise InvalidInput(
                        f"{self.path} has no array {name!r}; it has {', '.join(sorted(present))}"
                    )
            streams = [None if name is None else _rows(archive, name) for name in wanted]
            assert streams[0] is not None
            for X in streams[0]:
                yield Block(X, *(None if s is None else next(s) for s in streams[1:]))


def _rows(archive: zipfile.ZipFile, name: str) -> Iterator[np.ndarray[Any, Any]]:
    """Blocks of rows of one .npy member; pickled arrays are refused."""
    with archive.open(f"{name}.npy") as file:
        shape, fortran, dtype = _npy_header(file)
        if dtype.hasobject:
            raise InvalidInput(f"array {name!r} holds Python objects, which are never loaded")
        row_bytes = int(np.prod(shape[1:], dtype=np.int64)) * dtype.itemsize
        if fortran and len(shape) > 1:
            whole = np.frombuffer(file.read(), dtype).reshape(shape, order="F")
            yield from (whole[i : i + BLOCK] for i in range(0, shape[0], BLOCK))
            return
        for start in range(0, shape[0], BLOCK):
            rows = min(BLOCK, shape[0] - start)
            data = file.read(rows * row_bytes)
            if len(data) < rows * row_bytes:
                raise InvalidInput(f"array {name!r} ends after row {start}: the file is truncated")
            yield np.frombuffer(data, dtype).reshape(rows, *shape[1:])


def _npy_header(file: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    version = np.lib.format.read_magic(file)
    read = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }.get(version)
    if read is None:
        raise InvalidInput(f".npy version {version} is not supported")
    return read(file)


@dataclass(frozen=True)
class IteratorPart(Part):
    """Blocks (X, y) or (X, y, w) of an iterator, or of a function that starts a new one."""

    make: Callable[[], Iterable[Any]]

    def blocks(self) -> Iterator[Block]:
        for item in self.make():
            yield item if isinstance(item, Block) else Block(*map(_array, item))


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


def _array(value: Any) -> Any:
    return None if value is None else np.asarray(value)
