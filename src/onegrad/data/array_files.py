"""Partitions of files of plain arrays: .npz and .npy, read block by block."""

from __future__ import annotations

import os
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from onegrad.data.partitions import (
    PARTITION_ROWS,
    ROWS_PER_BLOCK,
    MemoryPartition,
    Partition,
    RowBlock,
    reading_errors,
)
from onegrad.data.table import Values
from onegrad.exceptions import InvalidInput
from onegrad.io.npy import Header, read_header

# what zipfile raises of damaged archives; StopIteration: an array has fewer rows than X
DAMAGED_ARCHIVE = (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, StopIteration)


@dataclass(frozen=True)
class NpyPartition(Partition):
    """Rows of an .npy file, as a memory map that each process opens for itself."""

    path: str
    start: int
    stop: int
    target: int | None

    def blocks(self) -> Iterator[RowBlock]:
        X = _memory_map(self.path)
        return MemoryPartition(X[self.start : self.stop], target=self.target).blocks()


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
