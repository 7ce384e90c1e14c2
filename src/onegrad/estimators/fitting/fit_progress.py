"""Somebody watches a fit: progress is told, and the first Ctrl-C asks for the best so far."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from onegrad.io.progress import Progress

Told = Callable[[int, int], None]


class Watch:
    """Counts the trials of a fit; `enough` says that no further one is wanted."""

    def __init__(self, progress: Told | None = None, trials: int = 1) -> None:
        # a function of the caller's counts parts of passes; a line on the screen has names
        self.progress = progress if isinstance(progress, Progress) else None
        self.expected = max(trials, 1)
        self.done, self.best, self.enough = 0, float("inf"), False

    def tried(self, score: float) -> None:
        """One more trial, with its score on held-out rows."""
        self.done += 1
        self.best = min(self.best, score)
        if self.progress is not None and self.done < self.expected:
            staged(self.progress, f"first layer, best loss {self.best:.4g}")
            self.progress(self.done, self.expected)

    def over(self) -> None:
        """No more trials, often fewer than were expected."""
        if self.progress is not None and self.done:
            self.progress(self.done, self.done)


def staged(progress: Told | None, name: str) -> None:
    """Say what is counted from here on."""
    if isinstance(progress, Progress):
        progress.label = name


@contextmanager
def interruptible(watch: Watch) -> Iterator[None]:
    """The first Ctrl-C makes it enough, the second one interrupts as ever.

    Only in the main thread, and where nobody else listens.
    """
    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return

    def first(number: int, frame: Any) -> None:
        watch.enough = True
        signal.signal(signal.SIGINT, signal.default_int_handler)

    signal.signal(signal.SIGINT, first)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
