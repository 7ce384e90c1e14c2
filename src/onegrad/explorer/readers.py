"""What a reader of the page is told: the library's messages without talk of how it computes."""

from __future__ import annotations

from onegrad.exceptions import NotConverged

NO_NUMBER = "the theory gives no reliable number here; Simulate shows what networks do"


def for_readers(message: object) -> str:
    """Return the message in one line, without residuals or iterations."""
    return NO_NUMBER if isinstance(message, NotConverged) else str(message)
