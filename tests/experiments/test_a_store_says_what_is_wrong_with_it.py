"""A full disk, a read-only directory, a file of another kind: one clear line, nothing lost."""

import sqlite3
import subprocess
from pathlib import Path

import pytest
from soak import sweeping

from onegrad.experiments import Store, StoreError


@pytest.mark.full
@pytest.mark.parametrize("numbers", [40, 5000], ids=["in the database", "arrays beside it"])
def test_full_disk(tmp_path: Path, numbers: int) -> None:
    """RLIMIT_FSIZE stands in for the full disk: the kernel refuses the write in mid-sweep."""
    store, said = tmp_path / "store", tmp_path / "said"
    size = {"cells": 300, "numbers": numbers}
    sweeping.sweep(str(store), {"cells": 5, "numbers": 41})
    limit = 90_000 if numbers < 1000 else 70_000  # bytes: the write-ahead log, or one array
    process = sweeping.start(sweeping.sweep_on_full_disk, str(store), limit, size, str(said))
    process.join()
    message = said.read_text("utf-8")
    assert message.startswith("StoreError:"), message
    assert "\n" not in message
    assert "disk" in message or "too large" in message
    assert len(sweeping.contents(store)) >= 5, "what was finished stays readable"
    assert not list((store / "arrays").glob("*.tmp"))
    sweeping.sweep(str(store), size)  # space was freed: the sweep completes
    assert len(sweeping.contents(store)) == 305


@pytest.mark.full
def test_full_disk_for_real(tmp_path: Path) -> None:
    if not sweeping.may_mount():
        pytest.skip("file systems are mounted by root only")
    store = tmp_path / "store"
    store.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=300k", "tmpfs", str(store)], check=True)
    try:
        with pytest.raises(StoreError, match=r"disk.* resume"):
            sweeping.sweep(str(store), {"cells": 2000, "numbers": 40})
        assert len(sweeping.contents(store)) > 10
    finally:
        subprocess.run(["umount", str(store)], check=True)


@pytest.mark.full
def test_read_only_directory(public_folder: Path) -> None:
    store, said = public_folder / "store", public_folder / "said"
    sweeping.sweep(str(store), {"cells": 5})
    for path in (store, *store.rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)
    try:
        process = sweeping.start(
            sweeping.sweep_without_rights, str(store), {"cells": 20}, str(said)
        )
        process.join()
        message = said.read_text("utf-8")
        assert message.startswith("StoreError:"), message
        assert "\n" not in message and ("writable" in message or "cannot be written" in message)
    finally:
        for path in (store, *store.rglob("*")):
            path.chmod(0o755 if path.is_dir() else 0o644)
    assert len(sweeping.contents(store)) == 5


def test_a_directory_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", "utf-8")
    with pytest.raises(StoreError, match=r"file/store: cannot be written"):
        Store(tmp_path / "file" / "store")


@pytest.mark.parametrize(
    ("number", "own"), [(99, "format 99"), (1, "format 1"), (0, "no format number")]
)
def test_a_store_of_another_format_is_refused(tmp_path: Path, number: int, own: str) -> None:
    sweeping.sweep(str(tmp_path), {"cells": 3})
    connection = sqlite3.connect(tmp_path / "cells.sqlite")
    connection.execute(f"PRAGMA user_version={number}")
    connection.close()
    message = rf"cells\.sqlite: a store with {own}; this version reads format 2: [^\n]*$"
    with pytest.raises(StoreError, match=message):
        Store(tmp_path)
    with pytest.raises(StoreError, match=message), Store(tmp_path, create=False) as store:
        store.done()


def test_another_programs_file_is_refused(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "cells.sqlite")
    connection.execute("PRAGMA application_id=7")
    connection.close()
    foreign = (tmp_path / "cells.sqlite").read_bytes()
    contents = {
        foreign: "not a store of onegrad",
        b"": "not a store of onegrad",
        b"not a database at all" * 100: "not a database",
    }
    for content, message in contents.items():
        (tmp_path / "cells.sqlite").write_bytes(content)
        with pytest.raises(StoreError, match=message):
            Store(tmp_path)
        assert (tmp_path / "cells.sqlite").read_bytes() == content, "it is left as it was"
