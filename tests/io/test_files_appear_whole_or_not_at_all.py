"""A file that is being replaced is the old one until the new one is complete."""

from __future__ import annotations

from pathlib import Path

import pytest

from onegrad.io.files import atomic_write, place


def test_the_new_file_takes_the_name_at_the_end(tmp_path: Path) -> None:
    target = tmp_path / "table.csv"
    target.write_bytes(b"old")
    with atomic_write(target) as file:
        file.write(b"new")
        assert target.read_bytes() == b"old"
    assert target.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_a_failure_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, error: type[BaseException]
) -> None:
    target = tmp_path / "table.csv"
    target.write_bytes(b"old")
    with pytest.raises(error), atomic_write(target) as file:
        file.write(b"half of the n")
        raise error
    assert target.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [target]


def test_a_place_that_is_not_there_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), atomic_write(tmp_path / "nowhere" / "x"):
        pass


@pytest.mark.parametrize("links", [True, False])
def test_a_file_that_is_there_is_not_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, links: bool
) -> None:
    def refused(*_: object) -> None:
        raise PermissionError

    if not links:  # as some file systems do
        monkeypatch.setattr("os.link", refused)
    target = tmp_path / "store"
    assert place(target, b"first")
    assert not place(target, b"second")
    assert target.read_bytes() == b"first"
    assert list(tmp_path.iterdir()) == [target]
