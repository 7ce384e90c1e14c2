"""Live progress on standard error: done, rate, time left, failures."""

from __future__ import annotations

import sys
import time
from typing import TextIO

BAR = 30  # characters


class Progress:
    """A line that is rewritten on a terminal, a plain line every few seconds otherwise.

    A computation calls it with (done, total). A sweep tells it of cells: begin, steps, end.
    """

    def __init__(
        self, label: str = "cells", stream: TextIO | None = None, *, quiet: bool = False
    ) -> None:
        self.label, self.quiet = label, quiet
        self.stream = sys.stderr if stream is None else stream
        self.begin(0)

    def __call__(self, done: int, total: int) -> None:
        """`done` of `total` parts; after the last one it is ready for another count."""
        self.computed, self.total = done, total
        if done < total:
            self._show(bar=True)
            return
        if self._terminal() or self.shown > self.start:  # else over before a line was due
            self._finish(bar=True)
        self.begin(0)

    def rows(self, count: int) -> None:
        """So many more rows of the part that is being read."""
        self.read += count
        self._show(bar=True)

    def begin(self, total: int, skipped: int = 0) -> None:
        self.total, self.skipped, self.computed, self.failed = total, skipped, 0, 0
        self.read = 0
        self.start = self.shown = time.monotonic()
        if skipped:
            self._say(f"{self.label}: {skipped} of {total} cells are in the store already\n")

    def step(self, *, skipped: bool = False, failure: str = "") -> None:
        """One more cell: computed, found done by another runner, or failed with a message."""
        self.skipped += skipped
        self.failed += bool(failure)
        self.computed += not skipped and not failure
        if failure:
            erase = "\r\x1b[K" if self._terminal() else ""
            self._say(f"{erase}{self.label}: a cell failed: {failure}\n")
        self._show()

    def end(self) -> None:
        if self.computed or self.failed:
            self._finish()

    def _show(self, bar: bool = False) -> None:
        """The line, when one is due."""
        now = time.monotonic()
        if now - self.shown >= (0.1 if self._terminal() else 5.0):
            self.shown = now
            self._say(self._line(bar))

    def _finish(self, bar: bool = False) -> None:
        self._say(self._line(bar) + ("\n" if self._terminal() else ""))

    def _line(self, bar: bool) -> str:
        spent = max(time.monotonic() - self.start, 1e-9)
        ran = self.computed + self.failed
        done = self.skipped + ran
        left = self.total - done
        parts = [f"{self.label}: {done}/{self.total}"]
        if self.read:
            parts.append(f"{self.read:,} rows at {self.read / spent:,.0f}/s")
        else:
            parts.append(f"{ran / spent:.2g}/s")
        parts.append(f"{_duration(left * spent / ran)} left" if left and ran else _duration(spent))
        if self.failed:
            parts.append(f"{self.failed} failed")
        line = ", ".join(parts)
        if not self._terminal():
            return line + "\n"
        filled = round(BAR * done / max(self.total, 1))
        drawn = f"[{'#' * filled:.<{BAR}}] " if bar else ""
        return f"\r{drawn}{line}\x1b[K"

    def _terminal(self) -> bool:
        return self.stream.isatty()

    def _say(self, text: str) -> None:
        if not self.quiet:
            self.stream.write(text)
            self.stream.flush()


def _duration(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.0f} s"
    if seconds < 6000:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
