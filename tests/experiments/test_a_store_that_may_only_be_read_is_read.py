"""Another user, a folder without the right to write: the store is read."""

import os
import shutil
import sqlite3
from pathlib import Path

import pytest
from soak import sweeping

from onegrad.experiments import Store


def read(directory: str, told: str) -> None:
    """Count the cells as a user who may not write; root would be let through."""
    Path(told).touch()
    Path(told).chmod(0o666)
    if os.geteuid() == 0:
        os.setegid(sweeping.NOBODY)
        os.seteuid(sweeping.NOBODY)

    def work() -> None:
        with Store(Path(directory), create=False) as store:
            raise RuntimeError(f"{len(store.done())} cells, {len(list(store.records()))} records")

    sweeping.complain(told, work)


def read_in_a_process(store: Path, told: Path) -> str:
    process = sweeping.start(read, str(store), str(told))
    process.join()
    assert process.exitcode == 0
    return told.read_text("utf-8")


@pytest.mark.full
@pytest.mark.parametrize("log", ["none", "empty", "with cells"])
def test_without_the_right_to_write(public_folder: Path, log: str) -> None:
    store, told = public_folder / "store", public_folder / "told"
    sweeping.sweep(str(store), {"cells": 5, "numbers": 600})
    if log == "empty":
        (store / "cells.sqlite-wal").touch()
    if log == "with cells":  # as a killed runner leaves it
        connection = sqlite3.connect(store / "cells.sqlite")
        connection.execute("INSERT INTO failures VALUES ('a', 'b', 'c', 'd')")
        connection.commit()
        shutil.copytree(store, public_folder / "copy")
        connection.close()
        store = public_folder / "copy"
        (store / "cells.sqlite-shm").unlink()
        assert (store / "cells.sqlite-wal").stat().st_size
    for path in (store, *store.rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)
    assert read_in_a_process(store, told) == "RuntimeError: 5 cells, 5 records"
    assert not list(store.glob("*-shm"))


@pytest.mark.full
@pytest.mark.skipif(os.geteuid() != 0, reason="another user's folder is made by root only")
def test_a_folder_that_may_not_be_entered_is_said(public_folder: Path) -> None:
    store, told = public_folder / "store", public_folder / "told"
    sweeping.sweep(str(store), {"cells": 2})
    store.chmod(0o700)
    complaint = f"StoreError: {store}: cannot be read: Permission denied"
    assert read_in_a_process(store, told) == complaint


def test_a_folder_with_the_name_of_a_store_is_none(public_folder: Path) -> None:
    sweeping.sweep(str(public_folder), {"cells": 2})
    (public_folder / "x.sqlite").mkdir()
    with Store(public_folder, create=False) as opened:
        assert len(opened.done()) == 2
