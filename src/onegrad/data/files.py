"""Parts of files with named columns: Parquet and CSV, read block by block."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from onegrad.data.kinds import ColumnType, arrow_type
from onegrad.data.partitions import BLOCK, PARTITION_ROWS, Columns, Partition, RowBlock
from onegrad.data.table import check_unique_names, kinds
from onegrad.exceptions import InvalidInput


@dataclass(frozen=True)
class FilePartition(Partition):
    """A file, or a piece of one, whose columns have names."""

    path: str
    columns: Columns

    def kinds(self) -> dict[str, str]:
        """The kinds of the input columns, in order; empty where a column has no values."""
        raise NotImplementedError

    def unnamed(self) -> bool:
        """Whether a column without a name is left out, which nobody said."""
        return False

    def with_types(
        self, column_types: Mapping[str, ColumnType], only: bool = False
    ) -> FilePartition:
        return replace(self, columns=self.columns.with_types(column_types, only))


@contextmanager
def one_line(path: str, kind: str) -> Iterator[None]:
    """Whatever a reader says of a file that it cannot read, as one line that names the file."""
    import pyarrow as pa

    try:
        yield
    except InvalidInput:
        raise
    except UnicodeDecodeError:
        raise InvalidInput(f"{path}: the names of its columns are not UTF-8 text") from None
    except FileNotFoundError:
        raise InvalidInput(f"no such file: {path!r}") from None
    except (pa.ArrowException, OSError, ValueError, OverflowError, KeyError, MemoryError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0].split("Invalid: ")[-1]
        damaged = "" if "conversion error" in reason else f"not a {kind} file, or damaged: "
        raise InvalidInput(f"{path}: {damaged}{reason:.200}") from None


@dataclass(frozen=True)
class CsvPartition(FilePartition):
    """One CSV file, read as a stream; types are those of its first megabyte, or those asked for.

    Whole numbers and columns that are empty there are read as float64: later rows may hold others.
    """

    def kinds(self) -> dict[str, str]:
        with one_line(self.path, "CSV"):
            schema = self._fragment().physical_schema
            wanted = set(self.columns.of(schema.names, row_labels(schema.names)))
            found = kinds(field for field in schema if field.name in wanted)
            return {n: k for n, k in found.items() if self.columns.is_input(n)}

    def unnamed(self) -> bool:
        with one_line(self.path, "CSV"):
            names = self._fragment().physical_schema.names
            return bool(row_labels(names)) and "" not in self.columns.of(names, row_labels(names))

    def _fragment(self) -> Any:
        from pyarrow import csv, dataset, fs

        empty_is_null = csv.ConvertOptions(strings_can_be_null=True)
        form = dataset.CsvFileFormat(convert_options=empty_is_null)
        return form.make_fragment(self.path, fs.LocalFileSystem())

    def blocks(self) -> Iterator[RowBlock]:
        import pyarrow as pa

        with one_line(self.path, "CSV"):
            file = self._fragment()
            check_unique_names(file.physical_schema.names, f"{self.path}: ")
            schema = pa.schema(self._typed(field) for field in file.physical_schema)
            for batch in file.to_batches(
                schema=schema,
                columns=self.columns.of(schema.names, row_labels(schema.names)),
                batch_size=BLOCK,
                batch_readahead=0,  # nothing beyond the block that is asked for
                fragment_readahead=0,
                use_threads=False,
            ):
                if batch.num_rows:
                    yield self.columns.block(pa.Table.from_batches([batch]))

    def _typed(self, field: Any) -> Any:
        """A field as it is asked for; text, from which others are made, where a type is narrower.

        A learned column of dates may have a time of day here, or a zone.
        """
        import pyarrow as pa

        reading = self.columns.column_types.get(field.name)
        if reading is not None:
            exact = reading.kind in ("number", "truth")
            return field.with_type(arrow_type(reading.kind if exact else "text"))
        vague = pa.types.is_integer(field.type) or pa.types.is_null(field.type)
        return field.with_type(pa.float64()) if vague else field


@dataclass(frozen=True)
class ParquetPartition(FilePartition):
    """Some row groups of one Parquet file.

    pyarrow.dataset decodes a whole row group before it gives the first block of it (460 MB where
    this reader takes 180, for one group of a million rows and forty columns).
    """

    groups: tuple[int, ...]

    def kinds(self) -> dict[str, str]:
        import pyarrow.parquet as pq

        with one_line(self.path, "Parquet"):
            schema = pq.read_schema(self.path)
            wanted = set(self.columns.of(schema.names, index_columns(schema)))
            found = kinds(field for field in schema if field.name in wanted)
            return {n: k for n, k in found.items() if self.columns.is_input(n)}

    def blocks(self) -> Iterator[RowBlock]:
        import pyarrow as pa
        import pyarrow.parquet as pq

        with one_line(self.path, "Parquet"), pq.ParquetFile(self.path, pre_buffer=False) as file:
            schema = file.schema_arrow
            names = self.columns.of(schema.names, index_columns(schema))
            for batch in file.iter_batches(
                BLOCK, row_groups=list(self.groups), columns=names, use_threads=False
            ):
                yield self.columns.block(pa.Table.from_batches([batch]))


def row_labels(names: Sequence[str]) -> set[str]:
    """The first column of a CSV file where it has no name: programs write row labels like that."""
    return {""} if names and not names[0] else set()


def index_columns(schema: Any) -> set[str]:
    """Columns that are the index of the pandas frame that was written: row labels, not inputs."""
    try:
        pandas = json.loads((schema.metadata or {}).get(b"pandas", b"{}"))
        return {name for name in pandas.get("index_columns", ()) if isinstance(name, str)}
    except (ValueError, AttributeError, TypeError, RecursionError):
        return set()  # another writer's metadata


def parquet_parts(path: str, columns: Columns) -> Iterator[Partition]:
    """Neighbouring row groups of at least PARTITION_ROWS rows together."""
    import pyarrow.parquet as pq

    with one_line(path, "Parquet"):
        metadata = pq.read_metadata(path)
        schema = metadata.schema.to_arrow_schema()
        check_unique_names(schema.names, f"{path}: ")
        columns.of(schema.names, index_columns(schema))
        sizes = [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]
    groups: list[int] = []
    rows = 0
    for i, size in enumerate(sizes):
        groups.append(i)
        rows += size
        if rows >= PARTITION_ROWS or i == len(sizes) - 1:
            yield ParquetPartition(path, columns, tuple(groups))
            groups, rows = [], 0
