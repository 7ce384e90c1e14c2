"""Partitions of files with named columns: Parquet and CSV, read block by block."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.types as t
from pyarrow import csv, dataset, fs

from onegrad.data.kinds import KINDS, kind_of
from onegrad.data.partitions import (
    PARTITION_ROWS,
    ROWS_PER_BLOCK,
    ColumnRoles,
    Partition,
    RowBlock,
    reading_errors,
)
from onegrad.data.table import check_unique_names, not_a_column
from onegrad.exceptions import InvalidInput


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
        empty_is_null = csv.ConvertOptions(strings_can_be_null=True)
        csv_format = dataset.CsvFileFormat(convert_options=empty_is_null)
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
