"""What a reader of the page is told: the library's messages without talk of how it computes."""

from __future__ import annotations

import re

from onegrad.exceptions import NotConverged

NO_NUMBER = "the theory gives no reliable number here; Simulate shows what networks do"
_QUADRATURE = re.compile(r"quadrature error ([\d.e+-]+).*")


def for_readers(message: object) -> str:
    """The message in one line: an accuracy as such, and no residuals or iterations."""
    if isinstance(message, NotConverged):
        return NO_NUMBER
    inexact = _QUADRATURE.fullmatch(str(message))
    if inexact:
        return f"uniform theory: computed to within {100 * float(inexact[1]):.1g} % here"
    return str(message)
