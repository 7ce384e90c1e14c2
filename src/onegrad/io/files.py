"""Paths that may be written, files that appear whole or not at all, drafts of killed writers."""

import contextlib
import fcntl
import os
import re
import secrets
import stat
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO

from onegrad.exceptions import InvalidInput, closest

STANDARD_OUTPUT = "-"  # as the name of a file
DRAFT = re.compile(r"\..+\.[0-9a-f]{12}\.tmp")


def output_file(
    path: str | Path,
    argument: str = "path",
    *,
    replace: bool = True,
    others: Iterable[str | Path] = (),
) -> Path:
    """Return the file that an output goes to, a link followed; raise InvalidInput if it may not.

    Only a regular file is ever replaced: a folder, a device, a pipe, a socket or a link that leads
    nowhere is refused, and so is a folder that cannot be written to.

    Parameters
    ----------
    argument : name of the argument or option in the exception.
    replace : whether a file that exists may be replaced.
    others : inputs and further outputs of the same work, which this file must not be.
    """
    target, state = _replaceable(path, argument)
    refused = partial(InvalidInput, argument, Path(path))
    if any(os.path.realpath(other) == os.path.realpath(target) for other in others):
        raise refused(problem="this file is an input or another output; choose another name")
    if state is not None and not replace:
        raise refused(
            problem="the file already exists; choose another name, or add --force to replace it"
        )
    folder = target.parent.stat()
    sticky = folder.st_mode & stat.S_ISVTX  # as that of temporary files is
    if sticky and state and os.geteuid() not in (0, folder.st_uid, state.st_uid):
        raise refused(problem="it belongs to another user, who alone may replace it in this folder")
    try:  # what is allowed only shows where it is done: root has every right, even in /proc
        draft, file = _locked_draft(target)
        with file:
            draft.unlink()
    except OSError as error:
        raise refused(problem=f"its folder cannot be written to: {error.strerror}") from None
    return target


def _replaceable(path: str | Path, argument: str) -> tuple[Path, os.stat_result | None]:
    """Return a path, a link followed, and what is there; refuse it unless that is a file."""
    path, state = Path(path), None
    refused = partial(InvalidInput, argument, path)
    if str(path) == STANDARD_OUTPUT:
        raise refused(problem="standard output takes only tables, as CSV")
    try:
        state = path.stat()
    except FileNotFoundError:
        if path.is_symlink():
            raise refused(problem="a link that leads nowhere; remove it first") from None
    except (OSError, ValueError) as error:  # a loop of links, a name that is too long, a zero byte
        raise refused(problem=f"cannot be written: {getattr(error, 'strerror', error)}") from None
    if state is not None and not stat.S_ISREG(state.st_mode):
        kinds = (kind for is_kind, kind in _KINDS if is_kind(state.st_mode))
        kind = next(kinds, "no regular file")
        raise refused(problem=f"this is {kind}, which is never replaced")
    target = path.resolve() if path.is_symlink() else path
    if not target.parent.is_dir():
        raise refused(problem="no such directory")
    return target, state


_KINDS = (
    (stat.S_ISDIR, "a folder"), (stat.S_ISFIFO, "a pipe"), (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"), (stat.S_ISBLK, "a device"),
)  # fmt: skip


@contextmanager
def atomic_write(
    target: Path, take_name: Callable[[Path, Path], object] = Path.replace
) -> Iterator[IO[bytes]]:
    """Yield an open file that takes the name `target` at the end, and is removed on any failure.

    Whatever happens in between, a reader sees the old file or the new one. The draft is locked
    while its writer lives: one that is not locked has no writer (see `sweep_drafts`). Who may read
    and write a file that is replaced stays as it was.

    Raises
    ------
    InvalidInput : the target is nothing that may be written, see `output_file`.
    """
    target, state = _replaceable(target, "path")
    draft, file = _locked_draft(target)
    try:
        with file:
            if state is not None:
                os.fchmod(file.fileno(), state.st_mode & 0o777)
            yield file
            # whole before it has its name; a text wrapper has closed it at its own end
            if not file.closed:
                file.flush()
            take_name(draft, target)  # locked: no other process removes it
    finally:
        draft.unlink(missing_ok=True)  # still there if anything failed, or if it was linked


def input_problem(path: Path) -> str:
    """Return why a path cannot be read as a file, or an empty text."""
    if path.is_file():
        return ""
    if path.exists():
        return "is a folder, a device or a pipe, not a file"
    return "a link that leads nowhere" if path.is_symlink() else f"no such file{suggest_file(path)}"


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
        # the name shortened: a file system allows 255 bytes
        draft = target.with_name(f".{target.name[:40]}.{secrets.token_hex(6)}.tmp")
        file = draft.open("xb")
        with contextlib.suppress(OSError):  # a file system without locks
            fcntl.flock(file, fcntl.LOCK_EX)
        if draft.exists():  # else swept between its making and its locking
            return draft, file
        file.close()
