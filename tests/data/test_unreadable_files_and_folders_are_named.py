"""What may not be read is said with its name and as what it is; nothing is left out in silence."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from onegrad.data import source
from onegrad.exceptions import InvalidInput

ANYONE = 65534
TABLE = "x,y\n1,2\n3,4\n"
pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="root alone can become another user")


@pytest.fixture
def folder(public_folder: Path) -> Iterator[Path]:
    """A folder with a table in it, and one in a folder within that only root may read."""
    source({"x": [1.0], "y": [2.0]}, target="y")  # loads what has to be loaded
    (public_folder / "secret").mkdir()
    for name in ("a.csv", "private.csv", "secret/b.csv"):
        (public_folder / name).write_text(TABLE)
    (public_folder / "secret").chmod(0o700)
    (public_folder / "private.csv").chmod(0o600)
    os.seteuid(ANYONE)
    yield public_folder
    os.seteuid(0)


@pytest.mark.parametrize("path", ["", "secret", "*/*.csv", "secret/*.csv", "secret/b.csv"])
def test_a_folder_that_may_not_be_read(folder: Path, path: str) -> None:
    with pytest.raises(InvalidInput, match=r"secret.*cannot be read: permission denied"):
        source(folder / path, target="y")


def test_a_file_that_may_not_be_read(folder: Path) -> None:
    with pytest.raises(InvalidInput, match=r"private\.csv: cannot be read: permission denied"):
        list(source(folder / "private.csv", target="y").blocks())
    with pytest.raises(InvalidInput, match=r"private\.csv"):
        list(source(folder / "p*.csv", target="y").blocks())


def test_what_may_be_read_is_read(folder: Path) -> None:
    assert source(folder / "a*.csv", target="y").paths == [str(folder / "a.csv")]


def test_a_long_line_is_called_that(tmp_path: Path) -> None:
    (tmp_path / "long.csv").write_text("x,y\n" + "1," + "2" * 30_000_000 + "\n3,4\n")
    with pytest.raises(InvalidInput, match="a line is longer than a megabyte"):
        list(source(tmp_path / "long.csv", target="y").blocks())


def test_a_name_that_is_no_utf_8_is_called_that(tmp_path: Path) -> None:
    path = os.fsencode(tmp_path) + b"/\xe9.csv"
    with open(path, "w") as file:  # noqa: PTH123 -- of bytes
        file.write(TABLE)
    with pytest.raises(InvalidInput, match="its name is not UTF-8") as caught:
        list(source(os.fsdecode(path), target="y").blocks())
    assert str(caught.value).isprintable()
