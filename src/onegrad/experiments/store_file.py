"""One SQLite file of a store: its tables, the digests of its rows, who may read it."""

import hashlib
import io
import json
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from onegrad.exceptions import InvalidInput, printable
from onegrad.io.npy import read_array

STORE_FORMAT = 2  # that of 0.4.0, the first release: later versions read it, too
APPLICATION_ID = 0x6F6E6567  # "oneg", the kind of SQLite file
# Seconds to wait for another writer: the 5 of sqlite3 end a runner behind others on a slow disk.
LOCK_TIMEOUT = 60.0
TABLES = """
CREATE TABLE cells (
  key TEXT PRIMARY KEY, cell TEXT NOT NULL, result TEXT NOT NULL, version TEXT NOT NULL,
  commit_id TEXT, dtype TEXT NOT NULL, device TEXT NOT NULL, seconds REAL NOT NULL,
  host TEXT NOT NULL, finished TEXT NOT NULL, digest TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE failures (
  key TEXT PRIMARY KEY, cell TEXT NOT NULL, message TEXT NOT NULL, finished TEXT NOT NULL
) WITHOUT ROWID;
"""
COLUMNS = 11  # of the table of cells
NUMERIC_KINDS = "fiubc"  # of NumPy's types
REPLACE_FILE = "move it away and run the sweep again, or take a copy"


class StoreError(RuntimeError):
    """The store cannot be opened, read or written; the message names the file and the reason."""


class Damaged(Exception):
    """A row, or an array that it names, is not what was written."""


@dataclass(frozen=True)
class StoredRow:
    """A row of the table of cells as it is in the file: any of it may be damaged."""

    path: Path
    key_bytes: str  # the key in hexadecimal digits: a damaged one may be no text
    columns: tuple[Any, ...]

    @property
    def key(self) -> str:
        return str(self.columns[0])

    def values(self, arrays: Path) -> dict[str, np.ndarray[Any, Any]]:
        """Return the arrays of the cell; raise Damaged unless all is as it was written."""
        if len(self.columns) != COLUMNS:
            raise Damaged("its columns are not those of a cell")
        *written, digest = self.columns
        key, cell, result, *_ = written
        if not isinstance(cell, str) or sha256(cell.encode(errors="surrogateescape")) != key:
            raise Damaged("its key is not that of its cell")
        if digest != row_digest(written):
            raise Damaged("it is not what was written")
        try:
            return {name: _numbers(value, arrays) for name, value in json.loads(result).items()}
        except (ValueError, TypeError, AttributeError, LookupError, RecursionError):
            raise Damaged("its result is not readable") from None

    def damage(self, arrays: Path) -> str:
        """Return what is wrong with the row or its arrays; an empty text if nothing is."""
        try:
            self.values(arrays)
        except Damaged as damage:
            return str(damage)
        return ""


def sha256(data: bytes | memoryview) -> str:
    """Return the SHA-256 in hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()


def row_digest(columns: Sequence[Any]) -> str:
    """Return the digest of a row without its last column, which is the digest."""
    return sha256(json.dumps(columns, default=repr).encode())


def _numbers(value: Any, arrays: Path) -> np.ndarray[Any, Any]:
    """Return a value of a result: numbers, or a reference to a file of them."""
    array = _read_array(value, arrays) if isinstance(value, dict) else np.asarray(value)
    if array.dtype.kind not in NUMERIC_KINDS:
        raise Damaged("its result is not made of numbers")
    return array


def _read_array(reference: dict[str, str], arrays: Path) -> np.ndarray[Any, Any]:
    name = Path(reference["file"]).name
    try:
        data = (arrays / name).read_bytes()
    except FileNotFoundError:
        raise Damaged(f"its array {name} is missing") from None
    except OSError as error:  # not the store's fault: it is not to be computed again
        raise StoreError(f"{arrays / name}: cannot be read: {error.strerror}") from None
    if reference["sha256"] != sha256(data):
        raise Damaged(f"its array {name} is not what was written")
    try:
        return read_array(io.BytesIO(data), name).copy()  # of its own memory: it may be written to
    except InvalidInput:
        raise Damaged(f"its array {name} is truncated or damaged") from None


# -- writing -----------------------------------------------------------------------------------


def empty_file() -> bytes:
    """Return the file of a store without cells, its write-ahead log switched on."""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(TABLES)
        connection.execute(f"PRAGMA application_id={APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version={STORE_FORMAT}")
        data = bytearray(connection.serialize())
    data[18:20] = b"\x02\x02"  # SQLite's file format: read and written with a log
    return bytes(data)


def open_for_writing(path: Path) -> sqlite3.Connection:
    """Return a connection to a store of this format that is safe to write."""
    with explained(path):
        connection = sqlite3.connect(path, timeout=LOCK_TIMEOUT, check_same_thread=False)
        try:
            connection.text_factory = _decoded
            _check_kind(connection, path)
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=NORMAL")  # safe against kill -9, fast
            # tables that share a page: what is written to one is lost from the other
            if connection.execute("PRAGMA quick_check(1)").fetchone() != ("ok",):
                raise StoreError(f"{path}: damaged; {REPLACE_FILE}")
        except BaseException:
            connection.close()
            raise
        return connection


# -- reading -----------------------------------------------------------------------------------


def cell_rows(
    connection: sqlite3.Connection, path: Path, where: str = "", *parameters: Any
) -> list[StoredRow]:
    """Return rows of the table of cells, in order of key."""
    query = f"SELECT hex(key), * FROM cells {where} ORDER BY key"
    try:
        rows = connection.execute(query, parameters).fetchall()
    except MemoryError:  # a damaged size
        raise StoreError(f"{path}: damaged; {REPLACE_FILE}") from None
    return [StoredRow(path, key_bytes, tuple(columns)) for key_bytes, *columns in rows]


@contextmanager
def open_for_reading(path: Path) -> Iterator[sqlite3.Connection]:
    """Yield a connection to a store of this format."""
    with (
        explained(path),
        _readable_uri(path) as uri,
        closing(sqlite3.connect(uri, timeout=LOCK_TIMEOUT, uri=True)) as connection,
    ):
        connection.text_factory = _decoded
        _check_kind(connection, path)
        yield connection


@contextmanager
def _readable_uri(path: Path) -> Iterator[str]:
    """Yield the address for SQLite, which reads a file with a log only if it may write beside it.

    Where it may not, the file is read as one that nobody changes, or, if its log is not empty, as
    a copy of both.
    """
    log = path.with_name(f"{path.name}-wal")
    try:
        if os.access(path.parent, os.W_OK, effective_ids=os.access in os.supports_effective_ids):
            yield f"{path.resolve().as_uri()}?mode=ro"
        elif not log.exists() or not log.stat().st_size:
            yield f"{path.resolve().as_uri()}?mode=ro&immutable=1"
        else:
            with tempfile.TemporaryDirectory() as folder:
                for file in (path, log):
                    shutil.copyfile(file, Path(folder) / file.name)
                yield f"{(Path(folder) / path.name).as_uri()}?mode=ro"
    except OSError as error:
        raise StoreError(f"{path}: cannot be read: {error.strerror or error}") from None


def _decoded(data: bytes) -> str:
    """Return text as it is in the file; bytes that are not text do not hide the other rows."""
    return data.decode(errors="surrogateescape")


def _check_kind(connection: sqlite3.Connection, path: Path) -> None:
    """Refuse the files of other programs, stores of another format, and a damaged header."""
    number: int = connection.execute("PRAGMA user_version").fetchone()[0]
    application: int = connection.execute("PRAGMA application_id").fetchone()[0]
    if application != APPLICATION_ID:
        raise StoreError(f"{path}: an SQLite file, but not a store of onegrad")
    if number != STORE_FORMAT:
        own = f"format {number}" if number else "no format number"
        advice = "choose another directory" if number else REPLACE_FILE
        problem = f"a store with {own}; this version reads format {STORE_FORMAT}"
        raise StoreError(f"{path}: {problem}: {advice}")


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn errors of SQLite into one line that names the file."""
    try:
        yield
    except UnicodeDecodeError:  # SQLite quotes a damaged schema
        raise StoreError(f"{path}: damaged; {REPLACE_FILE}") from None
    except sqlite3.Error as error:
        hint = ""
        if "full" in str(error) or "disk I/O" in str(error):
            hint = "; is the disk full? Finished cells are safe: free some space and resume"
        elif "readonly" in str(error) or "unable to open" in str(error):
            hint = "; is the directory writable?"
        elif "malformed" in str(error) or "no such" in str(error) or "not a database" in str(error):
            hint = f"; {REPLACE_FILE}"
        reason = printable(" ".join(str(error).split()))  # it may quote a damaged schema
        raise StoreError(f"{path}: {reason:.200}{hint}") from None
