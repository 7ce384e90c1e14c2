"""A cell that is not what was written is never read: it is missing, and a run computes it again."""

import io
import json
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from soak import sweeping

from onegrad.cli import main
from onegrad.experiments import Store, StoreError
from onegrad.experiments.store_file import row_digest, sha256
from onegrad.experiments.tables import export

SIZE = {"cells": 4, "numbers": 600}  # two seeds a cell: an array of 1,200 numbers beside the store
SPEC = sweeping.rehearsal_toml(8, wait=0.0, numbers=600, seeds_per_cell=2)


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory: Path = tmp_path_factory.mktemp("sound")
    sweeping.sweep(str(directory), SIZE)
    return directory


@pytest.fixture
def store(sound: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(sound, tmp_path / "store"))


def array_of(store: Path, number: int = 0) -> Path:
    return sorted((store / "arrays").iterdir())[number]


def change(store: Path, statement: str) -> None:
    with closing(sqlite3.connect(store / "cells.sqlite")) as connection, connection:
        assert connection.execute(statement).rowcount > 0


def flip(path: Path, place: int) -> None:
    data = bytearray(path.read_bytes())
    data[place] ^= 1
    path.write_bytes(data)


def swap(store: Path) -> None:
    one, other = array_of(store, 0), array_of(store, 1)
    first, second = one.read_bytes(), other.read_bytes()
    one.write_bytes(second)
    other.write_bytes(first)


def text_array(store: Path) -> None:
    content = io.BytesIO()
    np.save(content, np.array(["a", "b"]))
    array_of(store).write_bytes(content.getvalue())


ONE = "WHERE key = (SELECT MIN(key) FROM cells)"
DAMAGES: dict[str, tuple[int, Callable[[Path], object]]] = {
    "array deleted": (1, lambda s: array_of(s).unlink()),
    "array short": (1, lambda s: array_of(s).write_bytes(array_of(s).read_bytes()[:-8])),
    "array empty": (1, lambda s: array_of(s).write_bytes(b"")),
    "array of text": (1, text_array),
    "bit of an array": (1, lambda s: flip(array_of(s), -2)),
    "arrays swapped": (2, swap),
    "key": (4, lambda s: change(s, "UPDATE cells SET key = key || 'x'")),
    "key that is no text": (1, lambda s: change(s, f"UPDATE cells SET key = x'ff00' {ONE}")),
    "cell": (4, lambda s: change(s, "UPDATE cells SET cell = replace(cell, '10', '11')")),
    "measure": (4, lambda s: change(s, "UPDATE cells SET cell = replace(cell, 'rehears', 'x')")),
    "result": (1, lambda s: change(s, f"UPDATE cells SET result = '{{}}' {ONE}")),
    "half result": (1, lambda s: change(s, f"UPDATE cells SET result = substr(result, 5) {ONE}")),
    "result not text": (1, lambda s: change(s, f"UPDATE cells SET result = x'80' {ONE}")),
    "host": (1, lambda s: change(s, f"UPDATE cells SET host = CAST(x'80ff' AS TEXT) {ONE}")),
    "seconds": (1, lambda s: change(s, f"UPDATE cells SET seconds = seconds + 1 {ONE}")),
    "digest": (1, lambda s: change(s, f"UPDATE cells SET digest = '' {ONE}")),
}


def test_it_is_missing_until_it_is_computed_again(sound: Path, tmp_path: Path) -> None:
    summary = tmp_path / "summary"
    for kind, (count, damage) in DAMAGES.items():
        store = Path(shutil.copytree(sound, tmp_path / kind))
        damage(store)
        with Store(store, create=False) as opened:
            condition = opened.condition()
            assert (len(condition.done), len(condition.damaged)) == (4 - count, count), kind
            with pytest.raises(StoreError, match="run the sweep again") as caught:
                export(opened, {}, whole_store=True)
        assert "\n" not in str(caught.value), kind
        sweeping.sweep(str(store), SIZE, str(summary))
        assert json.loads(summary.read_text("utf-8"))["computed"] == count, kind
        assert sweeping.contents(store) == sweeping.contents(sound), kind
        with Store(store, create=False) as opened:
            assert export(opened, {}, whole_store=True).num_rows == 8, kind


def test_the_commands_say_so(
    store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("onegrad.experiments.runner.core_count", lambda: 1)
    (tmp_path / "spec.toml").write_text(SPEC, "utf-8")
    array_of(store).unlink()
    command = [str(tmp_path / "spec.toml"), "--store", str(store)]
    assert main(["sweep", "status", *command]) == 0
    captured = capsys.readouterr()
    assert captured.out == "rehearsal: 3 of 4 cells done, 0 failed, 1 damaged\n"
    assert "is missing" in captured.err
    assert main(["sweep", "export", *command]) == 1
    assert capsys.readouterr().err.count("\n") == 1
    assert main(["sweep", "run", *command, "--json"]) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)["computed"] == 1
    assert "1 damaged cells of the store are computed again" in captured.err
    assert main(["sweep", "export", *command]) == 0


def test_a_bit_of_the_database_never_changes_a_number(store: Path, sound: Path) -> None:
    """Whatever bit is flipped: the cells that are read are those that were written."""
    expected, path = sweeping.contents(sound), store / "cells.sqlite"
    content, rng = path.read_bytes(), np.random.default_rng(1)
    unread = 0
    for place in rng.integers(len(content), size=150):
        data = bytearray(content)
        data[place] ^= 1 << int(rng.integers(8))
        path.write_bytes(data)
        try:
            with Store(store, create=False) as opened:
                records = {r.cell.key: r.values for r in opened.records()}
                missing = expected.keys() - opened.done()
        except StoreError as error:
            assert "\n" not in str(error)
            unread += 1
            continue
        assert not missing or place < 100  # the header: a size of the file that ends before them
        for key, values in records.items():
            assert {name: value.tobytes() for name, value in values.items()} == expected[key]
    assert 10 < unread < 150


def test_a_damaged_cell_is_read_from_another_file_that_holds_it(store: Path, sound: Path) -> None:
    shutil.copy(store / "cells.sqlite", store / "cells-1-of-2.sqlite")
    change(store, "UPDATE cells SET host = 'other'")
    with Store(store, create=False) as opened:
        assert len(list(opened.records())) == len(opened.done()) == 4
        assert not opened.condition().damaged


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [('"n"', '"zzz":1,"n"', "zzz"), ('"format":1', '"format":2', "format 2: this version reads 1")],
)
def test_a_cell_of_another_version_is_one_line(store: Path, old: str, new: str, said: str) -> None:
    """It is sound, its digests say so: it is not computed again, and not understood."""
    with closing(sqlite3.connect(store / "cells.sqlite")) as connection, connection:
        row = connection.execute("SELECT * FROM cells LIMIT 1").fetchone()
        cell = row[1].replace(old, new)
        columns = (sha256(cell.encode()), cell, "{}", "9.9", *row[4:10])
        marks = ",".join("?" * 11)
        values = (*columns, row_digest(columns))
        connection.execute(f"INSERT INTO cells VALUES ({marks})", values)
    with Store(store, create=False) as opened:
        assert len(opened.done()) == 5 and not opened.condition().damaged
        with pytest.raises(StoreError, match=rf"is of onegrad 9\.9.*{said}") as caught:
            list(opened.records())
    assert "\n" not in str(caught.value)


def test_tables_that_share_a_page_are_not_written(store: Path) -> None:
    """A cell that is added would be deleted again with its failure, and every run look complete."""
    with closing(sqlite3.connect(store / "cells.sqlite")) as connection, connection:
        connection.execute("PRAGMA writable_schema=ON")
        page = "SELECT rootpage FROM sqlite_master WHERE name = 'cells'"
        change = f"UPDATE sqlite_master SET rootpage = ({page}) WHERE name = 'failures'"
        assert connection.execute(change).rowcount == 1
    with pytest.raises(StoreError, match="damaged; move it away"):
        Store(store)
