"""What may not be read is said with its name and as what it is; nothing is left out in silence."""

import os

import pytest

from onegrad.exceptions import InvalidInput
from onegrad.tables import source

ANYONE = 65534
TABLE = "x,y\n1,2\n3,4\n"


def read(path):
    return list(source(path, target="y").blocks())


@pytest.mark.skipif(os.geteuid() != 0, reason="root alone can become another user")
def test_what_may_not_be_read_is_named(public_folder):
    """A table in a folder, one that only root may read, and one in a folder of root's."""
    source({"x": [1.0], "y": [2.0]}, target="y")  # loads what has to be loaded
    (public_folder / "secret").mkdir()
    for name in ("a.csv", "private.csv", "secret/b.csv"):
        (public_folder / name).write_text(TABLE, "utf-8")
    (public_folder / "secret").chmod(0o700)
    (public_folder / "private.csv").chmod(0o600)
    os.seteuid(ANYONE)
    try:
        for path in ("", "secret", "*/*.csv", "secret/*.csv", "secret/b.csv"):
            with pytest.raises(InvalidInput, match=r"secret.*cannot be read: permission denied"):
                source(public_folder / path, target="y")
        for path in ("private.csv", "p*.csv"):
            with pytest.raises(InvalidInput, match=r"private\.csv: cannot be read: permission"):
                read(public_folder / path)
        paths = source(public_folder / "a*.csv", target="y").paths
        assert paths == [str(public_folder / "a.csv")]
    finally:
        os.seteuid(0)


def test_a_long_line_is_called_that(tmp_path):
    (tmp_path / "long.csv").write_text("x,y\n" + "1," + "2" * 30_000_000 + "\n3,4\n", "utf-8")
    with pytest.raises(InvalidInput, match="a line is longer than a megabyte"):
        read(tmp_path / "long.csv")


def test_a_name_that_is_no_utf_8_is_called_that(tmp_path):
    path = os.fsencode(tmp_path) + b"/\xe9.csv"
    with open(path, "w", encoding="utf-8") as file:  # noqa: PTH123 -- of bytes
        file.write(TABLE)
    with pytest.raises(InvalidInput, match="its name is not UTF-8") as caught:
        read(os.fsdecode(path))
    assert str(caught.value).isprintable()


def test_what_is_no_file_is_called_that(tmp_path):
    (tmp_path / "link.csv").symlink_to("gone")
    os.mkfifo(tmp_path / "pipe.csv")
    for name, problem in (
        ("link.csv", "a link that leads nowhere"),
        ("pipe.csv", "a folder, a device or a pipe"),
        ("*", "link.csv': a link that leads nowhere"),
        ("", "link.csv': a link that leads nowhere"),
    ):
        with pytest.raises(InvalidInput, match=problem):
            source(tmp_path / name, target="y")
