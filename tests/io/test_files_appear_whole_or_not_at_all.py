"""A file that is being replaced is the old one until the new one is complete."""

import os

import pytest

from onegrad.exceptions import InvalidInput
from onegrad.io.files import atomic_write, output_file, place


def test_the_new_file_takes_the_name_at_the_end(tmp_path):
    target = tmp_path / "table.csv"
    target.write_bytes(b"old")
    with atomic_write(target) as file:
        file.write(b"new")
        assert target.read_bytes() == b"old"
    assert target.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [target]


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path):
    target = tmp_path / "table.csv"
    target.write_bytes(b"old")
    for error in (ValueError, KeyboardInterrupt):
        with pytest.raises(error), atomic_write(target) as file:
            file.write(b"half of the n")
            raise error
        assert target.read_bytes() == b"old"
        assert list(tmp_path.iterdir()) == [target]
    with (
        pytest.raises(InvalidInput, match="no such directory"),
        atomic_write(tmp_path / "nowhere" / "x"),
    ):
        pass


def test_a_file_that_is_there_is_not_replaced(tmp_path, monkeypatch):
    def refused(*_):
        raise PermissionError

    for name in ("linked", "renamed"):
        target = tmp_path / name
        assert place(target, b"first")
        assert not place(target, b"second")
        assert target.read_bytes() == b"first"
        monkeypatch.setattr("os.link", refused)  # as some file systems do
    assert {path.name for path in tmp_path.iterdir()} == {"linked", "renamed"}


@pytest.mark.skipif(os.geteuid() != 0, reason="root alone can become another user")
def test_the_file_of_another_user_is_refused_before_the_work(public_folder):
    """In a folder such as that of temporary files, where everybody may write."""
    public_folder.chmod(0o1777)
    (public_folder / "roots").write_bytes(b"")
    os.seteuid(65534)
    try:
        output_file(public_folder / "new")
        with pytest.raises(InvalidInput, match="belongs to another user"):
            output_file(public_folder / "roots")
    finally:
        os.seteuid(0)
    assert output_file(public_folder / "roots") == public_folder / "roots"
    assert [path.name for path in public_folder.iterdir()] == ["roots"]
