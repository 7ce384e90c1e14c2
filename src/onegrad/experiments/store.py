"""The store: finished cells in SQLite (write-ahead log), large arrays beside it as .npy.

A cell's row is written in one transaction after its arrays are in place, and `INSERT OR IGNORE`
makes a second writer harmless: whatever is killed at any moment, a row is complete or absent. The
file itself appears with its tables in it; the next runner removes the drafts of arrays that a
killed one left behind.
Each shard writes its own file, so that machines which share only a network file system never share
a database; a reader reads all files of the directory as one store.
"""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from onegrad.experiments.cell import Cell
from onegrad.io.files import atomic_write, place, sweep_drafts

SCHEMA = 1
APPLICATION_ID = 0x6F6E6567  # "oneg", the kind of SQLite file
MAX_INLINE_NUMBERS = 1000  # of an array; a larger one has its own file
LOCK_TIMEOUT = 60.0  # seconds to wait for another writer
TABLES = """
CREATE TABLE cells (
  key TEXT PRIMARY KEY, cell TEXT NOT NULL, result TEXT NOT NULL, version TEXT NOT NULL,
  commit_id TEXT, dtype TEXT NOT NULL, device TEXT NOT NULL, seconds REAL NOT NULL,
  host TEXT NOT NULL, finished TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE failures (
  key TEXT PRIMARY KEY, cell TEXT NOT NULL, message TEXT NOT NULL, finished TEXT NOT NULL
) WITHOUT ROWID;
"""
COLUMNS = "key, cell, result, version, commit_id, dtype, device, seconds, host, finished"


class StoreError(RuntimeError):
    """The store cannot be opened, read or written; the message names the file and the reason."""


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
        if not create and not any(directory.glob("*.sqlite")):
            raise StoreError(f"{directory}: there is no store")
        try:
            if create:
                self.arrays.mkdir(parents=True, exist_ok=True)
                if not self.path.exists():
                    place(self.path, _empty())
                for folder in (directory, self.arrays):
                    sweep_drafts(folder)
        except OSError as error:
            raise StoreError(f"{directory}: cannot be written: {error.strerror}") from None
        self._connection = _open(self.path) if create else None
        self._lock = threading.Lock()  # an executor may ask for work from a thread of its own

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- writing -------------------------------------------------------------------------------

    def add(self, cell: Cell, values: Mapping[str, Any], provenance: Provenance) -> bool:
        """Store a result and return True; False if the cell was stored already."""
        result = {name: self._stored(cell, name, value) for name, value in values.items()}
        row = (cell.key, cell.json, json.dumps(result), *astuple(provenance))
        with self._writing() as connection:
            marks = ",".join("?" * len(row))
            added = connection.execute(f"INSERT OR IGNORE INTO cells VALUES ({marks})", row)
            connection.execute("DELETE FROM failures WHERE key = ?", (cell.key,))
        return added.rowcount == 1

    def fail(self, cell: Cell, message: str, finished: str) -> None:
        """Record that a cell raised; it is tried again when the sweep is resumed."""
        with self._writing() as connection:
            row = (cell.key, cell.json, message, finished)
            connection.execute("INSERT OR REPLACE INTO failures VALUES (?,?,?,?)", row)

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        assert self._connection is not None, "opened for reading"
        with self._lock, _explained(self.path), self._connection as connection:
            yield connection

    def _stored(self, cell: Cell, name: str, value: Any) -> Any:
        array = np.asarray(value)
        if array.size <= MAX_INLINE_NUMBERS:
            return array.tolist()
        target = self.arrays / f"{cell.key}.{name}.npy"
        try:
            with atomic_write(target) as file:
                np.save(file, array, allow_pickle=False)
        except OSError as error:
            raise StoreError(f"{target}: cannot be written: {error.strerror or error}") from None
        return {"file": target.name}

    # -- reading -------------------------------------------------------------------------------

    def done(self) -> set[str]:
        """Return the keys of all finished cells."""
        return {row[0] for row in self._rows("SELECT key FROM cells")}

    def has(self, cell: Cell) -> bool:
        """Return whether this cell is in the file that this process writes."""
        assert self._connection is not None, "opened for reading"
        with self._lock, _explained(self.path):
            rows = self._connection.execute("SELECT 1 FROM cells WHERE key = ?", (cell.key,))
            return rows.fetchone() is not None

    def failures(self) -> dict[str, str]:
        """Return the messages of the cells that raised, by key."""
        done = self.done()
        rows = self._rows("SELECT key, message FROM failures")
        return {key: message for key, message in rows if key not in done}

    def provenances(self) -> dict[str, Provenance]:
        """Return the provenance of every finished cell, by key."""
        rows = self._rows(f"SELECT {COLUMNS} FROM cells")
        return {row[0]: Provenance(*row[3:]) for row in rows}

    def values(self, key: str) -> dict[str, np.ndarray] | None:
        """Return the arrays of the cell with this key; None if it is not finished."""
        rows = self._rows("SELECT result FROM cells WHERE key = ?", (key,))
        return next((self._arrays(row[0]) for row in rows), None)

    def records(self) -> Iterator[Record]:
        """Yield every finished cell once, in order of key within a file."""
        seen: set[str] = set()
        for row in self._rows(f"SELECT {COLUMNS} FROM cells ORDER BY key"):
            if row[0] not in seen:
                seen.add(row[0])
                yield self._record(row)

    def _record(self, row: tuple[Any, ...]) -> Record:
        _, cell, result, *rest = row
        return Record(Cell.from_json(cell), self._arrays(result), Provenance(*rest))

    def _arrays(self, result: str) -> dict[str, np.ndarray]:
        return {name: self._loaded(value) for name, value in json.loads(result).items()}

    def _loaded(self, value: Any) -> np.ndarray:
        if not isinstance(value, dict):
            return np.asarray(value)
        path = self.arrays / value["file"]
        try:
            return np.asarray(np.load(path, allow_pickle=False))
        except (OSError, ValueError) as error:
            raise StoreError(f"{path}: cannot be read: {error}") from None

    def _rows(self, query: str, parameters: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
        for path in sorted(self.directory.glob("*.sqlite")):
            with _explained(path):
                if self._connection is not None and path == self.path:
                    with self._lock:
                        rows = self._connection.execute(query, parameters).fetchall()
                else:
                    # an earlier version was killed while creating it: SQLite must undo that first
                    undo = path.with_name(f"{path.name}-journal").exists()
                    source = f"{path.resolve().as_uri()}?mode={'rw' if undo else 'ro'}"
                    with closing(
                        sqlite3.connect(source, timeout=LOCK_TIMEOUT, uri=True)
                    ) as connection:
                        begun = _version(connection, path) > 0  # else killed while creating it
                        rows = connection.execute(query, parameters).fetchall() if begun else []
            yield from rows


def _empty() -> bytes:
    """Return the file of a store without cells, its write-ahead log switched on."""
    with closing(sqlite3.connect(":memory:")) as connection:
        _make_tables(connection)
        data = bytearray(connection.serialize())
    data[18:20] = b"\x02\x02"  # SQLite's file format: read and written with a log
    return bytes(data)


def _make_tables(connection: sqlite3.Connection) -> None:
    for statement in filter(str.strip, TABLES.split(";")):
        connection.execute(statement)
    connection.execute(f"PRAGMA application_id={APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version={SCHEMA}")


def _open(path: Path) -> sqlite3.Connection:
    """Return a connection for writing, with the tables in place."""
    with _explained(path):
        connection = sqlite3.connect(path, timeout=LOCK_TIMEOUT, check_same_thread=False)
        try:
            _prepare(connection, path)
        except BaseException:
            connection.close()
            raise
        return connection


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=NORMAL")  # safe against kill -9, fast
    if _version(connection, path) == 0:  # an earlier version was killed while creating it
        with connection:
            connection.execute("BEGIN IMMEDIATE")  # of two that start, one creates and one waits
            if _version(connection, path) == 0:
                _make_tables(connection)


def _version(connection: sqlite3.Connection, path: Path) -> int:
    """Return the schema of an open file; refuse a newer one and files of other programs."""
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    application: int = connection.execute("PRAGMA application_id").fetchone()[0]
    if application not in (0, APPLICATION_ID) or (version and application != APPLICATION_ID):
        raise StoreError(f"{path}: an SQLite file, but not a store of onegrad")
    if version > SCHEMA:
        raise StoreError(
            f"{path}: written by a newer onegrad (schema {version}; this one knows {SCHEMA}): "
            "upgrade onegrad or choose another directory"
        )
    return version


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Turn errors of SQLite into one line that names the file."""
    try:
        yield
    except sqlite3.Error as error:
        hint = ""
        if "full" in str(error) or "disk I/O" in str(error):
            hint = "; is the disk full? Finished cells are safe: free some space and resume"
        elif "readonly" in str(error) or "unable to open" in str(error):
            hint = "; is the directory writable?"
        raise StoreError(f"{path}: {error}{hint}") from None
