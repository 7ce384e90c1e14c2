"""The store: finished cells in SQLite (write-ahead log), large arrays beside it as .npy.

A cell's row is written in one transaction after its arrays are in place, unless there is one:
whatever is killed at any moment, a row is complete or absent. The file itself appears with its
tables in it; the next runner removes the drafts of arrays that a killed one left behind.
A row has a digest of its columns and of its arrays. A cell that does not fit its digests is
damaged: it counts as missing, and the next runner computes it again.
Each shard writes its own file, so that machines which share only a network file system never share
a database; a reader reads all files of the directory as one store.
"""

import io
import json
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any, Self, TypeVar

import numpy as np

from onegrad.exceptions import InvalidInput, printable
from onegrad.experiments.cell import Cell
from onegrad.experiments.store_file import (
    Damaged,
    StoredRow,
    StoreError,
    cell_rows,
    empty_file,
    explained,
    open_for_reading,
    open_for_writing,
    row_digest,
    sha256,
)
from onegrad.io.files import atomic_write, place, sweep_drafts

_Found = TypeVar("_Found")
# Of an array: a larger one has its own file, since JSON takes more than twice the bytes of .npy
# and is read as a whole whenever a row is checked.
MAX_INLINE_NUMBERS = 1000


@dataclass(frozen=True)
class Provenance:
    """Version, commit, precision, device, duration, host and time of a result."""

    version: str
    commit: str | None
    dtype: str
    device: str
    seconds: float
    host: str
    finished: str


@dataclass(frozen=True)
class Record:
    """A finished cell with its arrays and its provenance."""

    cell: Cell
    values: Mapping[str, np.ndarray]
    provenance: Provenance


@dataclass(frozen=True)
class Condition:
    """The cells of a store by state: finished, damaged or failed, with what is wrong."""

    done: set[str]
    damaged: dict[str, str]
    failed: dict[str, str]


class Store:
    """Finished cells in a directory.

    Parameters
    ----------
    directory : created if it does not exist, unless `create` is False.
    part : name of the file that this process writes, `cells` or one per shard.
    """

    def __init__(self, directory: Path, *, part: str = "cells", create: bool = True) -> None:
        self.directory, self.path = directory, directory / f"{part}.sqlite"
        self.arrays = directory / "arrays"
        if not create and not self._files():
            raise StoreError(f"{directory}: there is no store")
        try:
            if create:
                self.arrays.mkdir(parents=True, exist_ok=True)
                if not self.path.exists():
                    place(self.path, empty_file())
                for folder in (directory, self.arrays):
                    sweep_drafts(folder)
        except (OSError, InvalidInput) as error:
            raise _not_written(directory, error) from None
        self._connection = open_for_writing(self.path) if create else None
        self._lock = threading.Lock()  # an executor may ask for work from a thread of its own

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- writing -------------------------------------------------------------------------------

    def add(self, cell: Cell, values: Mapping[str, Any], provenance: Provenance) -> bool:
        """Store a result and return True; False if the cell was stored already."""
        with self._writing() as connection:
            if _contains(connection, cell):
                return False
            result = {name: self._stored(cell, name, value) for name, value in values.items()}
            row = (cell.key, cell.json, json.dumps(result), *astuple(provenance))
            marks = ",".join("?" * (len(row) + 1))
            connection.execute(f"INSERT INTO cells VALUES ({marks})", (*row, row_digest(row)))
            connection.execute("DELETE FROM failures WHERE key = ?", (cell.key,))
        return True

    def fail(self, cell: Cell, message: str, finished: str) -> None:
        """Record that a cell raised; it is tried again when the sweep is resumed."""
        with self._writing() as connection:
            row = (cell.key, cell.json, message, finished)
            connection.execute("INSERT OR REPLACE INTO failures VALUES (?,?,?,?)", row)

    def remove_damaged(self) -> int:
        """Remove the damaged cells of the file that this process writes; return their number."""
        with self._writing() as connection:
            rows = [row for row in cell_rows(connection, self.path) if row.damage(self.arrays)]
            for row in rows:
                connection.execute("DELETE FROM cells WHERE hex(key) = ?", (row.key_bytes,))
        return len(rows)

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        assert self._connection is not None, "opened for reading"
        with self._lock, explained(self.path), self._connection as connection:
            connection.execute("BEGIN IMMEDIATE")  # whoever writes a row also wrote its arrays
            yield connection

    def _stored(self, cell: Cell, name: str, value: Any) -> Any:
        array = np.asarray(value)
        if array.size <= MAX_INLINE_NUMBERS:
            return array.tolist()
        target, content = self.arrays / f"{cell.key}.{name}.npy", io.BytesIO()
        np.save(content, array, allow_pickle=False)
        try:
            with atomic_write(target) as file:
                file.write(content.getbuffer())
        except (OSError, InvalidInput) as error:
            raise _not_written(target, error) from None
        return {"file": target.name, "sha256": sha256(content.getbuffer())}

    # -- reading -------------------------------------------------------------------------------

    def condition(self) -> Condition:
        """Check every cell and its arrays."""
        done, damaged = set[str](), dict[str, str]()
        for row in self._rows():
            if damage := row.damage(self.arrays):
                damaged[row.key] = damage
            else:
                done.add(row.key)
        failures = self._read(lambda _, file: file.execute("SELECT key, message FROM failures"))
        return Condition(
            done,
            {key: damage for key, damage in damaged.items() if key not in done},
            {str(key): str(message) for key, message in failures if key not in done},
        )

    def done(self) -> set[str]:
        """Return the keys of all finished cells that are not damaged."""
        return self.condition().done

    def has(self, cell: Cell) -> bool:
        """Return whether this cell is in the file that this process writes."""
        assert self._connection is not None, "opened for reading"
        with self._lock, explained(self.path):
            return _contains(self._connection, cell)

    def provenances(self) -> dict[str, Provenance]:
        """Return the provenance of every finished cell, by key."""
        rows = (row for row in self._rows() if not row.damage(self.arrays))
        return {row.key: _provenance(row) for row in rows}

    def values(self, key: str) -> dict[str, np.ndarray] | None:
        """Return the arrays of the cell with this key; None if it is not finished or damaged."""
        for row in self._rows("WHERE key = ?", key):
            with suppress(Damaged):
                return row.values(self.arrays)
        return None

    def records(self, accepts: Callable[[str], bool] = lambda _: True) -> Iterator[Record]:
        """Yield every finished cell whose key is accepted, once, in order of key within a file.

        Raises
        ------
        StoreError : at the end, if there is a damaged cell that no other file holds; at a cell
            that another version of onegrad describes in its own way.
        """
        seen, damaged = set[str](), dict[str, str]()
        for row in self._rows():
            if row.key in seen:
                continue
            try:
                values = row.values(self.arrays)
            except Damaged as damage:
                damaged[row.key] = f"{row.path}: cell {row.key:.12}: {damage}"
                continue
            seen.add(row.key)
            if accepts(row.key):  # asked last: the key of a damaged cell may not be its own
                yield Record(_cell(row), values, _provenance(row))
        if lost := [text for key, text in damaged.items() if key not in seen]:
            more = f" ({len(lost)} cells are damaged)" if len(lost) > 1 else ""
            advice = "run the sweep again: damaged cells are computed again"
            raise StoreError(printable(f"{lost[0]}{more}; {advice}"))

    def _files(self) -> list[Path]:
        try:
            paths = sorted(self.directory.iterdir())
        except FileNotFoundError:
            return []
        except OSError as error:
            raise StoreError(f"{self.directory}: cannot be read: {error.strerror}") from None
        return [path for path in paths if path.suffix == ".sqlite" and not path.is_dir()]

    def _rows(self, where: str = "", *parameters: str) -> Iterator[StoredRow]:
        return self._read(lambda path, file: cell_rows(file, path, where, *parameters))

    def _read(
        self, query: Callable[[Path, sqlite3.Connection], Iterable[_Found]]
    ) -> Iterator[_Found]:
        """Yield what a query finds in each file of the store; no file is open meanwhile."""
        for path in self._files():
            if self._connection is not None and path == self.path:
                with self._lock, explained(path):
                    rows = list(query(path, self._connection))
            else:
                with open_for_reading(path) as connection:
                    rows = list(query(path, connection))
            yield from rows


def _not_written(path: Path, error: Exception) -> StoreError:
    reason = getattr(error, "strerror", None) or getattr(error, "problem", None) or error
    return StoreError(f"{path}: cannot be written: {reason}")


def _contains(connection: sqlite3.Connection, cell: Cell) -> bool:
    rows = connection.execute("SELECT 1 FROM cells WHERE key = ?", (cell.key,))
    return rows.fetchone() is not None


def _provenance(row: StoredRow) -> Provenance:
    return Provenance(*row.columns[3:10])


def _cell(row: StoredRow) -> Cell:
    try:
        return Cell.from_json(row.columns[1])
    except (InvalidInput, ValueError, TypeError, LookupError, AttributeError) as error:
        by = f"cell {row.key:.12} is of onegrad {row.columns[3]}, which described it in another way"
        raise StoreError(printable(f"{row.path}: {by}: {error}")) from None
