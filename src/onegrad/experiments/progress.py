"""Live progress of a run on standard error: done, rate, time left, failures."""

from __future__ import annotations

import sys
import time
from typing import TextIO


class Progress:
    """A line that is rewritten on a terminal, a plain line every few seconds otherwise."""

    def __init__(
        self, label: str = "cells", stream: TextIO | None = None, *, quiet: bool = False
    ) -> None:
        self.label, self.quiet = label, quiet
        self.stream = sys.stderr if stream is None else stream
        self.total = self.skipped = self.computed = self.failed = 0
        self.start = self.shown = time.monotonic()

    def begin(self, total: int, skipped: int) -> None:
        self.total, self.skipped = total, skipped
        self.start = self.shown = time.monotonic()
        if skipped:
            self._say(f"{self.label}: {skipped} of {total} cells are in the store already\n")

    def step(self, *, skipped: bool = False, failure: str = "") -> None:
        """One more cell: computed, found done by another runner, or failed with a message."""
        self.skipped += skipped
        self.failed += bool(failure)
        self.computed += not skipped and not failure
        if failure:
            self._say(f"{self._erase()}{self.label}: a cell failed: {failure}\n")
        now = time.monotonic()
        if now - self.shown >= (0.1 if self._terminal() else 5.0):
            self.shown = now
            self._say(self._line())

    def end(self) -> None:
        if self.computed or self.failed:
            self._say(self._line() + ("\n" if self._terminal() else ""))

    def _line(self) -> str:
        spent = max(time.monotonic() - self.start, 1e-9)
        ran = self.computed + self.failed
        left = self.total - self.skipped - ran
        rate = ran / spent
        parts = [f"{self.label}: {self.total - left}/{self.total}", f"{rate:.2g}/s"]
        parts.append(f"{_duration(left / rate)} left" if left and ran else _duration(spent))
        if self.failed:
            parts.append(f"{self.failed} failed")
        line = ", ".join(parts)
        return f"\r{line}\x1b[K" if self._terminal() else line + "\n"

    def _erase(self) -> str:
        return "\r\x1b[K" if self._terminal() else ""

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
