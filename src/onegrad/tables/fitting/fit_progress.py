"""Progress of a fit, and how to end its search: the first Ctrl-C keeps the best so far."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from onegrad.io.progress import Progress


class FitProgress:
    """Counts the candidates of a fit; `stopped` says that no further one is to be tried."""

    def __init__(self, progress: Progress | None = None, expected: int = 1) -> None:
        self.progress = progress or Progress()
        self.expected = max(expected, 1)
        self.done, self.best, self.stopped = 0, float("inf"), False

    def tried(self, score: float) -> None:
        """Count one more candidate, with its score on held-out rows."""
        self.done += 1
        self.best = min(self.best, score)
        if self.done < self.expected:
            self.progress.relabel(f"first layer, best loss {self.best:.4g}")
            self.progress.detail(self.done, self.expected)

    def finish(self) -> None:
        """Show that there are no more candidates, often fewer than were expected."""
        if self.done:
            self.progress.detail(self.done, self.done)


@contextmanager
def interruptible(progress: FitProgress) -> Iterator[None]:
    """Let the first Ctrl-C stop the search, and the second one interrupt as usual.

    Only in the main thread, and only if nothing else handles the signal.
    """
    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return

    def stop(*_: Any) -> None:
        progress.stopped = True
        signal.signal(signal.SIGINT, signal.default_int_handler)

    signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
