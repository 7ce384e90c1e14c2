"""The commit of the source tree is recorded; a tree that may not be read has none."""

from pathlib import Path

import pytest

from onegrad.experiments import runner

commit = runner.commit.__wrapped__  # without its cache


def test_a_tree_that_may_not_be_read_has_no_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder above it may be closed to this user: then even its existence cannot be asked for."""

    def refuse(path: Path, **_: object) -> bool:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "exists", refuse)
    assert commit() is None


def test_a_tree_that_git_does_not_know_has_no_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "src" / "onegrad" / "experiments" / "runner.py"
    (tmp_path / ".git").mkdir()
    monkeypatch.setattr(runner, "__file__", str(place))
    assert commit() is None
    (tmp_path / ".git").rmdir()
    assert commit() is None
