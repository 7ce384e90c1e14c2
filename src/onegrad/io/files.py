"""Files that appear whole or not at all, and the drafts of writers that were killed."""

import contextlib
import fcntl
import os
import re
import secrets
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from onegrad.exceptions import closest

DRAFT = re.compile(r"\..+\.[0-9a-f]{12}\.tmp")


@contextmanager
def atomic_write(
    target: Path, take_name: Callable[[Path, Path], object] = Path.replace
) -> Iterator[IO[bytes]]:
    """Yield an open file that takes the name `target` at the end, and is removed on any failure.

    Whatever happens in between, a reader sees the old file or the new one. The draft is locked
    while its writer lives: one that is not locked has no writer (see `sweep_drafts`).
    """
    draft, file = _locked_draft(target)
    try:
        with file:
            yield file
            # whole before it has its name; a text wrapper has closed it at its own end
            if not file.closed:
                file.flush()
            take_name(draft, target)  # locked: no other process removes it
    finally:
        draft.unlink(missing_ok=True)  # still there if anything failed, or if it was linked


def suggest_file(path: Path, suffixes: Collection[str] = ()) -> str:
    """Return "; did you mean ...?" with a file of nearly the same name, or an empty string."""
    try:
        names = [p.name for p in path.parent.iterdir() if not suffixes or p.suffix in suffixes]
    except OSError:
        return ""
    near = closest(path.name, names)
    return f"; did you mean {path.parent / near}?" if near else ""


def place(target: Path, data: bytes) -> bool:
    """Make a file that appears whole, unless there is one; return whether this call made it."""
    try:
        with atomic_write(target, _link) as file:
            file.write(data)
    except FileExistsError:
        return False
    return True


def _link(draft: Path, target: Path) -> None:
    """Give the draft its name; unlike a rename, a link refuses to replace."""
    try:
        os.link(draft, target)
    except FileExistsError:
        raise
    except OSError:  # a file system without links
        # two writers may both find no file: then the later one wins, with a whole file
        if target.exists():
            raise FileExistsError from None
        draft.replace(target)


def sweep_drafts(directory: Path) -> int:
    """Remove what killed writers left in a directory; return the number of files removed."""
    swept = 0
    for path in directory.iterdir() if directory.is_dir() else ():
        if DRAFT.fullmatch(path.name):
            with contextlib.suppress(OSError), path.open("rb") as file:  # gone, or not ours
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # raises where its writer lives
                path.unlink()
                swept += 1
    return swept


def _locked_draft(target: Path) -> tuple[Path, IO[bytes]]:
    while True:
        draft = target.with_name(f".{target.name}.{secrets.token_hex(6)}.tmp")
        file = draft.open("xb")
        with contextlib.suppress(OSError):  # a file system without locks
            fcntl.flock(file, fcntl.LOCK_EX)
        if draft.exists():  # else swept between its making and its locking
            return draft, file
        file.close()
