"""Partitions of files, read block by block: Parquet, CSV, .npz and .npy."""

import glob
import json
import os
import re
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, NoReturn

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.types as t

from onegrad.exceptions import InvalidInput
from onegrad.io.files import input_problem, suggest_file
from onegrad.io.npy import Header, read_header
from onegrad.tables.rows.kinds import KINDS, kind_of
from onegrad.tables.rows.partitions import (
    PARTITION_ROWS,
    ROWS_PER_BLOCK,
    ColumnRoles,
    Partition,
    RowBlock,
)
from onegrad.tables.rows.table import Values, check_unique_names, not_a_column, slice_rows

FILE_SUFFIXES = (".parquet", ".csv", ".npz", ".npy")
CSV_HEAD = 1 << 16  # bytes from which the punctuation of a CSV file is told
READER_ERRORS = (OSError, ValueError, OverflowError, KeyError, MemoryError)  # of NumPy and pyarrow
# what zipfile raises of damaged archives; StopIteration: an array has fewer rows than X
DAMAGED_ARCHIVE = (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, StopIteration)


@contextmanager
def reading_errors(path: str, file_format: str, *others: type[Exception]) -> Iterator[None]:
    """Turn the complaint of a reader, which may be one of `others`, into one line."""
    reasons: tuple[type[Exception], ...] = READER_ERRORS + others
    try:
        yield
    except InvalidInput:
        raise
    except UnicodeDecodeError:
        raise InvalidInput(path, problem="the column names are not UTF-8 text") from None
    except FileNotFoundError:
        raise InvalidInput("data", path, problem="no such file") from None
    except PermissionError:
        raise InvalidInput(path, problem="cannot be read: permission denied") from None
    except reasons as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0].split("Invalid: ")[-1]
        if "straddling object" in reason:  # a line that is longer than a block of the reader
            reason = "a line is longer than a megabyte, which is the limit; is it one long line?"
        elif "conversion error" not in reason:
            reason = f"not {file_format}, or damaged: {reason}"
        raise InvalidInput(path, problem=f"{reason:.240}") from None


def _punctuation(path: str) -> tuple[str, str]:
    """Return separator and decimal point of a CSV file: of its first line, and of its first rows.

    Columns are separated by semicolons if the first line has these and no commas; numbers may then
    have decimal commas.
    """
    with Path(path).open("rb") as file:
        head = file.read(CSV_HEAD)
    lines = re.sub(rb'"[^"]*"', b"", head).splitlines()  # names may hold anything
    first = next((line for line in lines if line.strip()), b"")
    if b";" not in first or b"," in first:
        return ",", "."
    number = rb'[;\n]"?[+-]?\d+%s\d+"?[;\r\n]'
    commas, points = (re.search(number % point, head) for point in (b",", rb"\."))
    return ";", "," if commas and not points else "."


# -- finding files --------------------------------------------------------------------------------


def file_partitions(path: str, roles: ColumnRoles, target: str | int | None) -> list[Partition]:
    """Return the partitions of the files that a path, a directory or a pattern names."""
    files = _find_files(path)
    suffix, *others = sorted({Path(file).suffix for file in files})
    if others or suffix not in FILE_SUFFIXES:
        formats = ", ".join([suffix, *others])
        problem = f"holds {formats} files; allowed is one kind of {', '.join(FILE_SUFFIXES)}"
        raise InvalidInput("data", path, problem=problem)
    if suffix == ".npy":
        return [partition for file in files for partition in npy_partitions(file, target)]
    if suffix == ".npz":
        return [NpzPartition(file, columns=roles) for file in files]
    if suffix == ".csv":
        return [CsvPartition(file, columns=roles) for file in files]
    return [partition for file in files for partition in parquet_partitions(file, roles)]


def _find_files(path: str) -> list[str]:
    """Return the files, one at least, that a path, a directory or a pattern names, in order.

    A folder that may not be read is refused, whatever is in it.
    """
    try:
        if Path(path).is_dir():
            walk = os.walk(path, onerror=_raise)
            paths = (Path(folder) / name for folder, _, names in walk for name in names)
            files = [str(file) for file in paths if file.suffix in FILE_SUFFIXES]
        else:
            files = [path] if Path(path).is_file() else _matching_files(path)
    except OSError as error:
        problem = f"cannot be read: {str(error.strerror or error).lower()}"
        raise InvalidInput("data", error.filename or path, problem=problem) from None
    if not files:
        allowed = f"; allowed are {', '.join(FILE_SUFFIXES)}"
        problem = f"no such file{suggest_file(Path(path), FILE_SUFFIXES) or allowed}"
        raise InvalidInput("data", path, problem=problem)
    for file in map(Path, sorted(files)):
        if problem := input_problem(file):
            raise InvalidInput("data", file, problem=problem)
    return sorted(files)


def _matching_files(pattern: str) -> list[str]:
    """Return the files of a pattern; glob itself passes over folders that may not be read."""
    for part in reversed((Path(pattern), *Path(pattern).parents)):  # from the outermost on
        if glob.has_magic(part.name):
            for folder in glob.glob(str(part.parent)):  # noqa: PTH207
                if Path(folder).is_dir():
                    os.scandir(folder).close()  # raises where glob is silent
    return glob.glob(pattern)  # noqa: PTH207


def _raise(error: OSError) -> NoReturn:
    raise error


# -- tables --------------------------------------------------------------------------------------


def arrow_path(path: str) -> str:
    """Return a path for pyarrow, which takes all names as UTF-8, whatever the locale is."""
    try:
        return os.fsencode(path).decode()
    except UnicodeDecodeError:
        problem = "its name is not UTF-8, which pyarrow needs; rename it"
        raise InvalidInput(path, problem=problem) from None


@dataclass(frozen=True)
class FilePartition(Partition):
    """A file, or a portion of one, whose columns have names."""

    path: str
    file_format: ClassVar[str]

    def schema(self) -> Any:
        """Return the Arrow schema of the file."""
        raise NotImplementedError

    def row_labels(self, schema: Any) -> set[str]:
        """Return the names of columns that label the rows: they are read only where named."""
        raise NotImplementedError

    def _tables(self, plain: list[str] | None = None) -> Iterator[Any]:
        """Yield Arrow tables of `plain` columns as they are, or of those that have roles."""
        raise NotImplementedError

    def blocks(self) -> Iterator[RowBlock]:
        with self.reading_errors():
            for table in self._tables():
                if len(block := self.columns.row_block(table)):
                    yield block

    def reading_errors(self) -> AbstractContextManager[None]:
        """Name the file in every complaint of a reader."""
        return reading_errors(self.path, f"a {self.file_format} file", pa.ArrowException)

    def plain_columns(self, names: Sequence[str]) -> Iterator[Any]:
        """Yield Arrow tables of these columns, as they are in the file; those of CSV are text."""
        with self.reading_errors():
            for name in names:
                if name not in (columns := self.schema().names):
                    raise not_a_column("column", name, columns)
            yield from self._tables(list(names))

    def columns_to_read(self, schema: Any) -> list[str]:
        return self.columns.select(schema.names, self.row_labels(schema))

    def kinds(self) -> dict[str, str]:
        """Return the kinds of the input columns, in order; empty where a column has no values."""
        with self.reading_errors():
            schema = self.schema()
            names = {n for n in self.columns_to_read(schema) if self.columns.is_input(n)}
            fields = [field for field in schema if field.name in names]
            return {f.name: "" if t.is_null(f.type) else kind_of(f.type, f.name) for f in fields}


@dataclass(frozen=True)
class CsvPartition(FilePartition):
    """One CSV file, read as a stream; types are those of its first megabyte, or those asked for.

    Whole numbers and columns that are empty there are read as float64: later rows may hold others.
    """

    file_format = "CSV"

    def schema(self) -> Any:
        return self._fragment().physical_schema

    def row_labels(self, schema: Any) -> set[str]:
        """Return the first column where it has no name: programs write row labels like that."""
        return {""} if schema.names and not schema.names[0] else set()

    def skips_unnamed_column(self) -> bool:
        with self.reading_errors():
            schema = self.schema()
            return bool(self.row_labels(schema)) and "" not in self.columns_to_read(schema)

    def _tables(self, plain: list[str] | None = None) -> Iterator[Any]:
        file = self._fragment()
        fields = file.physical_schema
        check_unique_names(fields.names, self.path)
        for batch in file.to_batches(
            schema=pa.schema(f.with_type(pa.string()) if plain else self._typed(f) for f in fields),
            columns=plain or self.columns_to_read(fields),
            batch_size=ROWS_PER_BLOCK,
            batch_readahead=0,  # nothing beyond the block that is asked for
            fragment_readahead=0,
            use_threads=False,
        ):
            yield pa.Table.from_batches([batch])

    def _fragment(self) -> Any:
        from pyarrow import csv, dataset, fs  # which load pandas where it is installed

        separator, decimal_point = _punctuation(self.path)
        parse = csv.ParseOptions(delimiter=separator)
        convert = csv.ConvertOptions(strings_can_be_null=True, decimal_point=decimal_point)
        csv_format = dataset.CsvFileFormat(parse, convert_options=convert)
        return csv_format.make_fragment(arrow_path(self.path), fs.LocalFileSystem())

    def _typed(self, field: Any) -> Any:
        """Return a field of the Arrow schema in the type that it is read as.

        Dates and durations are read as text and converted later: a column of dates may have times
        of day or zones in this file.
        """
        column_type = self.columns.column_types.get(field.name)
        if column_type is not None:
            exact = column_type.kind in ("number", "truth")
            return field.with_type(KINDS[column_type.kind if exact else "text"].arrow_type)
        vague = pa.types.is_integer(field.type) or pa.types.is_null(field.type)
        return field.with_type(pa.float64()) if vague else field


@dataclass(frozen=True)
class ParquetPartition(FilePartition):
    """Some row groups of one Parquet file.

    pyarrow.dataset decodes a whole row group before it gives the first block of it (460 MB where
    this reader takes 180, for one group of a million rows and forty columns).
    """

    groups: tuple[int, ...] = ()
    file_format = "Parquet"

    def schema(self) -> Any:
        return pq.read_schema(arrow_path(self.path))

    def row_labels(self, schema: Any) -> set[str]:
        """Return the columns that were the index of the pandas frame that was written."""
        try:
            pandas = json.loads((schema.metadata or {}).get(b"pandas", b"{}"))
            return {name for name in pandas.get("index_columns", ()) if isinstance(name, str)}
        except (ValueError, AttributeError, TypeError, RecursionError):
            return set()  # another writer's metadata

    def _tables(self, plain: list[str] | None = None) -> Iterator[Any]:
        with pq.ParquetFile(arrow_path(self.path), pre_buffer=False) as file:
            columns = plain or self.columns_to_read(file.schema_arrow)
            groups = list(self.groups)
            for batch in file.iter_batches(ROWS_PER_BLOCK, groups, columns, use_threads=False):
                yield pa.Table.from_batches([batch])


def parquet_partitions(path: str, columns: ColumnRoles) -> Iterator[ParquetPartition]:
    """Divide a Parquet file into runs of row groups with at least PARTITION_ROWS rows each."""
    partition = ParquetPartition(path, columns=columns)
    with partition.reading_errors():
        metadata = pq.read_metadata(arrow_path(path))
        schema = metadata.schema.to_arrow_schema()
        check_unique_names(schema.names, path)
        partition.columns_to_read(schema)  # complains at once
        group_rows = [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]
    groups: list[int] = []
    rows = 0
    for group, count in enumerate(group_rows):
        groups.append(group)
        rows += count
        if rows >= PARTITION_ROWS or group == len(group_rows) - 1:
            yield replace(partition, groups=tuple(groups))
            groups, rows = [], 0


# -- arrays --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class NpyPartition(Partition):
    """Rows of an .npy file, as a memory map that each process opens for itself."""

    path: str
    start: int
    stop: int
    target: int | None

    def blocks(self) -> Iterator[RowBlock]:
        X = _memory_map(self.path)[self.start : self.stop]
        for start in range(0, len(X), ROWS_PER_BLOCK):
            rows = np.asarray(slice_rows(X, start, ROWS_PER_BLOCK))
            if self.target is None:
                yield RowBlock(rows)
            else:
                yield RowBlock(np.delete(rows, self.target, axis=1), rows[:, self.target])


def npy_partitions(path: str, target: str | int | None) -> Iterator[NpyPartition]:
    """Divide an .npy file into runs of PARTITION_ROWS rows; the target is a column number."""
    rows, columns = _memory_map(path).shape
    if target is not None and str(target) not in map(str, range(-columns, columns)):
        allowed = f"a column number from {-columns} to {columns - 1} for an .npy file"
        raise InvalidInput("target", target, allowed)
    column = None if target is None else int(target)
    starts = range(0, rows, PARTITION_ROWS)
    return (NpyPartition(path, start, start + PARTITION_ROWS, column) for start in starts)


def _memory_map(path: str) -> Values:
    """Return the matrix in an .npy file, not yet read."""
    with Path(path).open("rb") as file:
        header = _check_numeric(read_header(file, path), path)
        start, size = file.tell(), os.fstat(file.fileno()).st_size
    shape, dtype = header.shape, header.dtype
    if len(shape) != 2:
        raise InvalidInput(path, problem=f"must hold a matrix; it has {len(shape)} dimensions")
    if size - start < header.size:
        problem = f"is truncated: the shape {shape} needs more than {size} bytes"
        raise InvalidInput(path, problem=problem)
    # an empty file cannot be mapped
    if not header.size:
        return np.zeros(shape, dtype)
    return np.memmap(path, dtype, "r", start, shape, header.order)


def _check_numeric(header: Header, name: str) -> Header:
    if header.dtype.kind not in "fiub":
        raise InvalidInput(name, problem=f"must hold real numbers; it holds {header.dtype}")
    return header


@dataclass(frozen=True)
class NpzPartition(Partition):
    """Arrays X, y and w of an .npz file, unpacked as they are read."""

    path: str

    def blocks(self) -> Iterator[RowBlock]:
        with (
            reading_errors(self.path, "an .npz file", *DAMAGED_ARCHIVE),
            zipfile.ZipFile(self.path) as archive,
        ):
            present = {name.removesuffix(".npy") for name in archive.namelist()}
            names = ["X", self.columns.target, self.columns.weight]
            for name in names:
                if name is not None and name not in present:
                    problem = f"has no array {name!r}; it has {', '.join(sorted(present))}"
                    raise InvalidInput(self.path, problem=problem)
            self._check_shapes({n: self._header(archive, n) for n in names if n is not None})
            X, y, w = (None if name is None else _member_blocks(archive, name) for name in names)
            assert X is not None
            for inputs in X:
                yield RowBlock(inputs, *(None if a is None else next(a) for a in (y, w)))

    def _header(self, archive: zipfile.ZipFile, name: str) -> Header:
        array = f"{self.path}: array {name!r}"
        with archive.open(f"{name}.npy") as file:
            header = read_header(file, array)
        return header if name == self.columns.target else _check_numeric(header, array)

    def _check_shapes(self, headers: dict[str, Header]) -> None:
        """Check that X is a matrix, and that the other arrays have as many rows."""
        shape = headers["X"].shape
        if len(shape) != 2:
            raise InvalidInput(self.path, problem=f"X must be a matrix; its shape is {shape}")
        for name, header in headers.items():
            if header.shape[:1] != shape[:1]:
                problem = f"X has {shape[0]} rows; the shape of {name!r} is {header.shape}"
                raise InvalidInput(self.path, problem=problem)


def _member_blocks(archive: zipfile.ZipFile, name: str) -> Iterator[Values]:
    """Yield blocks of rows of one .npy member."""
    array = f"array {name!r}"
    with archive.open(f"{name}.npy") as file:
        header = read_header(file, array)
        shape, dtype = header.shape, header.dtype
        if header.order == "F" and len(shape) > 1:
            # rows do not lie together: the member is unpacked whole
            data = file.read()
            if len(data) != header.size:
                raise InvalidInput(array, problem="has too few or too many rows: damaged")
            matrix = np.frombuffer(data, dtype).reshape(shape, order="F")
            starts = range(0, shape[0], ROWS_PER_BLOCK)
            yield from (matrix[start : start + ROWS_PER_BLOCK] for start in starts)
            return
        row_bytes = header._replace(shape=shape[1:]).size
        for start in range(0, shape[0], ROWS_PER_BLOCK):
            rows = min(ROWS_PER_BLOCK, shape[0] - start)
            data = file.read(rows * row_bytes)
            if len(data) < rows * row_bytes:
                raise InvalidInput(array, problem=f"ends after row {start}: the file is truncated")
            yield np.frombuffer(data, dtype).reshape(rows, *shape[1:])
        file.read(1)  # nothing more, and the checksum is compared
