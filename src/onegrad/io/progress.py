"""Progress of a long computation: what it reports, and a line on standard error that shows it."""

import contextlib
import sys
import time
import uuid
from collections.abc import Callable
from typing import Any, TextIO

BAR_WIDTH = 30  # characters
NOTEBOOK_SECONDS = 2.0  # after which a notebook shows progress that nobody asked for
MIN_SECONDS, MIN_SHARE = 60.0, 0.1  # from either of which on the time left is told; not tuned


class Progress:
    """A callback for (done, total) parts; details that a callback cannot show are dropped."""

    def __init__(self, callback: Callable[[int, int], None] | None = None) -> None:
        self.callback = callback

    def __call__(self, done: int, total: int) -> None:
        """Report that `done` of `total` parts are done."""
        if self.callback is not None:
            self.callback(done, total)

    def rows(self, count: int) -> None:
        """Report that `count` more rows of the current part have been read."""

    def relabel(self, label: str) -> None:
        """Report what is counted from here on."""

    def detail(self, done: int, total: int) -> None:
        """Report `done` of `total` steps within a part."""


def as_progress(
    progress: Progress | Callable[[int, int], None] | bool | None, label: str = "blocks of rows"
) -> Progress:
    """Return a Progress as it is, a callback as one that drops details, True as lines.

    None is one line below the cell in a notebook, and nothing elsewhere.
    """
    if isinstance(progress, Progress):
        return progress
    if progress is True:
        return TerminalProgress(label, seconds_per_line=1.0)
    if progress is None and (shell := _notebook()) is not None:
        return NotebookProgress(label, shell)
    return Progress(progress or None)


def _notebook() -> Any:
    """Return the shell of the notebook that runs this, None elsewhere."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return shell if hasattr(shell, "kernel") else None


class TerminalProgress(Progress):
    """A line that is rewritten on a terminal, or a plain line every few seconds elsewhere.

    A computation calls it with (done, total). A sweep reports its cells: begin, step, end. With
    `seconds_per_line` plain lines come that often, and at the end of every count.
    """

    def __init__(
        self,
        label: str = "cells",
        stream: TextIO | None = None,
        *,
        quiet: bool = False,
        seconds_per_line: float | None = None,
    ) -> None:
        super().__init__()
        self.seconds_per_line = seconds_per_line
        self.label, self.quiet = label, quiet
        self.stream: TextIO | None = sys.stderr if stream is None else stream
        self.begin(0)

    # -- parts of a computation ----------------------------------------------------------------

    def __call__(self, done: int, total: int) -> None:
        """Show `done` of `total` parts; after the last one be ready for another count."""
        self.computed, self.total = done, total
        if done < total:
            self._show(bar=True)
            return
        always = self._is_terminal() or self.seconds_per_line is not None
        if always or self.shown > self.start:  # else over before a line was due
            self._finish(bar=True)
        self.begin(0)

    def rows(self, count: int) -> None:
        self.rows_read += count
        self._show(bar=True)

    def relabel(self, label: str) -> None:
        self.label = label

    def detail(self, done: int, total: int) -> None:
        self(done, total)

    # -- cells of a sweep ----------------------------------------------------------------------

    def begin(self, total: int, skipped: int = 0, damaged: int = 0) -> None:
        """Begin with `total` cells, of which some are skipped and some are damaged in the store."""
        self.total, self.skipped, self.computed, self.failed = total, skipped, 0, 0
        self.rows_read = 0
        self.start = self.shown = time.monotonic()
        if skipped:
            self._write(f"{self.label}: {skipped} of {total} cells are in the store already\n")
        if damaged:
            self._write(f"{self.label}: {damaged} damaged cells of the store are computed again\n")

    def step(self, *, skipped: bool = False, failure: str = "") -> None:
        """Count one more cell: computed, done by another runner, or failed with a message."""
        self.skipped += skipped
        self.failed += bool(failure)
        self.computed += not skipped and not failure
        if failure:
            erase = "\r\x1b[K" if self._is_terminal() else ""
            self._write(f"{erase}{self.label}: a cell failed: {failure}\n")
        self._show()

    def end(self) -> None:
        """Show the last line, if anything was computed."""
        if self.computed or self.failed:
            self._finish()

    # -- the line ------------------------------------------------------------------------------

    def _show(self, bar: bool = False) -> None:
        """Write the line if one is due."""
        now = time.monotonic()
        if now - self.shown >= (0.1 if self._is_terminal() else self.seconds_per_line or 5.0):
            self.shown = now
            self._write(self._line(bar))

    def _finish(self, bar: bool = False) -> None:
        self._write(self._line(bar) + ("\n" if self._is_terminal() else ""))

    def _line(self, bar: bool) -> str:
        spent = max(time.monotonic() - self.start, 1e-9)
        ran = self.computed + self.failed
        done = self.skipped + ran
        remaining = self.total - done
        parts = [f"{self.label}: {done}/{self.total}"]
        if self.rows_read:
            parts.append(f"{self.rows_read:,} rows at {self.rows_read / spent:,.0f}/s")
        else:
            parts.append(f"{ran / spent:.2g}/s")
        # the first parts of a count may be its longest, or its slowest to start
        if remaining and ran and (spent > MIN_SECONDS or ran >= MIN_SHARE * (ran + remaining)):
            parts.append(f"{_duration(remaining * spent / ran)} left")
        else:
            parts.append(_duration(spent))
        if self.failed:
            parts.append(f"{self.failed} failed")
        line = ", ".join(parts)
        if not self._is_terminal():
            return line + "\n"
        filled = round(BAR_WIDTH * done / max(self.total, 1))
        drawn = f"[{'#' * filled:.<{BAR_WIDTH}}] " if bar else ""
        return f"\r{drawn}{line}\x1b[K"

    def _is_terminal(self) -> bool:
        return self.stream is not None and not self.stream.closed and self.stream.isatty()

    def _write(self, text: str) -> None:
        """Write to the stream; work goes on where nobody can read: closed, full, hung up."""
        if not self.quiet and self.stream is not None:
            with contextlib.suppress(OSError, ValueError):
                self.stream.write(text)
                self.stream.flush()


class NotebookProgress(TerminalProgress):
    """One line below a cell that is rewritten, once the computation has taken two seconds."""

    def __init__(self, label: str, shell: Any) -> None:
        self.display_pub, self.created, self.id = shell.display_pub, time.monotonic(), ""
        super().__init__(label, seconds_per_line=0.5)

    def _write(self, text: str) -> None:
        if time.monotonic() - self.created < NOTEBOOK_SECONDS:
            return
        update, self.id = bool(self.id), self.id or uuid.uuid4().hex
        line, place = {"text/plain": text.rstrip()}, {"display_id": self.id}
        self.display_pub.publish(line, transient=place, update=update)


def _duration(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.0f} s"
    if seconds < 6000:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
