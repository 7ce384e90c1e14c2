"""Parts of files of plain arrays: npz and npy, read block by block."""

from __future__ import annotations

import os
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from onegrad.data.partitions import (
    BLOCK,
    PARTITION_ROWS,
    ArrayPartition,
    Columns,
    Partition,
    RowBlock,
)
from onegrad.data.table import Values
from onegrad.exceptions import InvalidInput
from onegrad.io.npy import Header, read_header, size_of


@dataclass(frozen=True)
class NpyPartition(Partition):
    """Rows of an .npy file, as a memory map that each process opens for itself."""

    path: str
    start: int
    stop: int
    target: int | None

    def blocks(self) -> Iterator[RowBlock]:
        X = _mapped(self.path)
        return ArrayPartition(X[self.start : self.stop], target=self.target).blocks()


def npy_parts(path: str, target: str | int | None) -> Iterator[Partition]:
    """PARTITION_ROWS rows each; the target is the number of a column."""
    X = _mapped(path)
    d = X.shape[1]
    if target is not None and str(target) not in map(str, range(-d, d)):
        raise InvalidInput(
            f"target of an .npy file is a column number, -{d}..{d - 1}; got {target!r}"
        )
    column = None if target is None else int(target)
    return (
        NpyPartition(path, i, i + PARTITION_ROWS, column) for i in range(0, len(X), PARTITION_ROWS)
    )


def _mapped(path: str) -> Values:
    """The matrix in an .npy file, not yet read."""
    with Path(path).open("rb") as file:
        shape, fortran, dtype = _numbers(read_header(file, path), path)
        start, size = file.tell(), os.fstat(file.fileno()).st_size
    if len(shape) != 2:
        raise InvalidInput(f"{path!r} must hold a matrix; it has {len(shape)} dimensions")
    if size - start < size_of(shape, dtype):
        raise InvalidInput(f"{path!r} is truncated: its shape {shape} needs more than {size} bytes")
    if not size_of(shape, dtype):
        return np.zeros(shape, dtype)
    return np.memmap(path, dtype, "r", start, shape, "F" if fortran else "C")


def _numbers(header: Header, name: str) -> Header:
    if header[2].kind not in "fiub":
        raise InvalidInput(f"{name} holds entries of type {header[2]}; allowed are real numbers")
    return header


@dataclass(frozen=True)
class NpzPartition(Partition):
    """Arrays X, y and w of an .npz file, unpacked as they are read."""

    path: str
    columns: Columns

    def blocks(self) -> Iterator[RowBlock]:
        with _archive(self.path) as archive:
            present = {name.removesuffix(".npy") for name in archive.namelist()}
            wanted = ["X", self.columns.target, self.columns.weight]
            for name in wanted:
                if name is not None and name not in present:
                    raise InvalidInput(
                        f"{self.path} has no array {name!r}; it has {', '.join(sorted(present))}"
                    )
            self._check({n: self._header(archive, n) for n in wanted if n is not None})
            streams = [None if name is None else _rows(archive, name) for name in wanted]
            assert streams[0] is not None
            for X in streams[0]:
                yield RowBlock(X, *(None if s is None else next(s) for s in streams[1:]))

    def _header(self, archive: zipfile.ZipFile, name: str) -> Header:
        with archive.open(f"{name}.npy") as file:
            header = read_header(file, f"{self.path}: array {name!r}")
        return header if name == self.columns.target else _numbers(header, f"{self.path}: {name!r}")

    def _check(self, headers: dict[str, Header]) -> None:
        """X a matrix, the others as long as it."""
        shape = headers["X"][0]
        if len(shape) != 2:
            raise InvalidInput(f"{self.path}: X must be a matrix; its shape is {shape}")
        for name, (other, _, _) in headers.items():
            if other[:1] != shape[:1]:
                raise InvalidInput(
                    f"{self.path}: X has {shape[0]} rows; the shape of {name!r} is {other}"
                )


def _rows(archive: zipfile.ZipFile, name: str) -> Iterator[Values]:
    """Blocks of rows of one .npy member."""
    with archive.open(f"{name}.npy") as file:
        shape, fortran, dtype = read_header(file, f"array {name!r}")
        row_bytes = size_of(shape[1:], dtype)
        if fortran and len(shape) > 1:
            data = file.read()
            if len(data) != size_of(shape, dtype):
                raise InvalidInput(f"array {name!r} has too few or too many rows: damaged")
            whole = np.frombuffer(data, dtype).reshape(shape, order="F")
            yield from (whole[i : i + BLOCK] for i in range(0, shape[0], BLOCK))
            return
        for start in range(0, shape[0], BLOCK):
            rows = min(BLOCK, shape[0] - start)
            data = file.read(rows * row_bytes)
            if len(data) < rows * row_bytes:
                raise InvalidInput(f"array {name!r} ends after row {start}: the file is truncated")
            yield np.frombuffer(data, dtype).reshape(rows, *shape[1:])
        file.read(1)  # nothing more, and the checksum is compared


@contextmanager
def _archive(path: str) -> Iterator[zipfile.ZipFile]:
    """An archive whose damage, found at any time, is one line."""
    try:
        with zipfile.ZipFile(path) as archive:
            yield archive
    except InvalidInput:
        raise
    except (
        zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, ValueError, KeyError,
        OverflowError, StopIteration,
    ) as error:  # fmt: skip
        reason = " ".join(str(error).split()) or type(error).__name__
        raise InvalidInput(f"{path}: not an .npz file, or damaged: {reason:.120}") from None
