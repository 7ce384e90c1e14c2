"""Parts of files: Parquet, CSV, npz and npy, read block by block."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, Any

import numpy as np

from onegrad.data.parts import BLOCK, PART_ROWS, ArrayPart, Block, Columns, Part
from onegrad.data.table import Values
from onegrad.errors import InvalidInput


@dataclass(frozen=True)
class CsvPart(Part):
    """One CSV file, read as a stream; types are those of its first megabyte.

    Whole numbers and columns that are empty there are read as float64: later rows may hold others.
    """

    path: str
    columns: Columns

    def blocks(self) -> Iterator[Block]:
        import pyarrow as pa
        from pyarrow import csv, dataset, fs

        empty_is_null = csv.ConvertOptions(strings_can_be_null=True)
        form = dataset.CsvFileFormat(convert_options=empty_is_null)
        file = form.make_fragment(self.path, fs.LocalFileSystem())
        try:
            schema = pa.schema(
                field.with_type(pa.float64())
                if pa.types.is_integer(field.type) or pa.types.is_null(field.type)
                else field
                for field in file.physical_schema
            )
            for batch in file.to_batches(
                schema=schema,
                columns=self.columns.of(schema.names),
                batch_size=BLOCK,
                batch_readahead=0,  # nothing beyond the block that is asked for
                fragment_readahead=0,
                use_threads=False,
            ):
                if batch.num_rows:
                    yield self.columns.block(pa.Table.from_batches([batch]))
        except pa.ArrowInvalid as error:
            reason = str(error).splitlines()[0].split("Invalid: ")[-1]
            raise InvalidInput(f"{self.path}: {reason:.200}") from None


@dataclass(frozen=True)
class ParquetPart(Part):
    """Some row groups of one Parquet file.

    pyarrow.dataset decodes a whole row group before it gives the first block of it (460 MB where
    this reader takes 180, for one group of a million rows and forty columns).
    """

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


def parquet_parts(path: str, columns: Columns) -> Iterator[Part]:
    """Neighbouring row groups of at least PART_ROWS rows together."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        metadata = pq.read_metadata(path)
    except pa.ArrowInvalid as error:
        raise InvalidInput(f"{path!r} is not a Parquet file: {error!s:.100}") from None
    columns.of(metadata.schema.to_arrow_schema().names)
    groups: list[int] = []
    rows = 0
    for i in range(metadata.num_row_groups):
        groups.append(i)
        rows += metadata.row_group(i).num_rows
        if rows >= PART_ROWS or i == metadata.num_row_groups - 1:
            yield ParquetPart(path, tuple(groups), columns)
            groups, rows = [], 0


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


def npy_parts(path: str, target: str | int | None) -> Iterator[Part]:
    """PART_ROWS rows each; the target is the number of a column."""
    X = np.load(path, mmap_mode="r", allow_pickle=False)
    if X.ndim != 2:
        raise InvalidInput(f"{path!r} must hold a matrix; it has {X.ndim} dimensions")
    d = X.shape[1]
    if target is not None and str(target) not in map(str, range(-d, d)):
        raise InvalidInput(
            f"target of an .npy file is a column number, -{d}..{d - 1}; got {target!r}"
        )
    column = None if target is None else int(target)
    return (NpyPart(path, i, i + PART_ROWS, column) for i in range(0, len(X), PART_ROWS))


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


def _rows(archive: zipfile.ZipFile, name: str) -> Iterator[Values]:
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
