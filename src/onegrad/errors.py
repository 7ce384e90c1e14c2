"""What can go wrong, by kind: the command line maps these to exit codes."""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path

PACKAGE = str(Path(__file__).parent) + os.sep


class InvalidInput(ValueError):
    """An argument is not allowed. The message is one line: name, value, what is allowed."""


class OutOfScope(InvalidInput):
    """A theory was asked for a problem that it does not cover."""


class NotConverged(RuntimeError):
    """A solver stopped without an answer; the message has its residual and iteration count."""


class AssumptionWarning(UserWarning):
    """A result was computed outside the assumptions of its theorem; the message says which."""


def warn(*messages: str) -> None:
    """Issue an AssumptionWarning for each line, at the line outside this package that led here."""
    frame = sys._getframe()
    while frame.f_back is not None and frame.f_code.co_filename.startswith(PACKAGE):
        frame = frame.f_back
    place = {
        "filename": frame.f_code.co_filename,
        "lineno": frame.f_lineno,
        "module": frame.f_globals.get("__name__"),
        "registry": frame.f_globals.setdefault("__warningregistry__", {}),  # for once per place
    }
    for message in messages:
        warnings.warn_explicit(message, AssumptionWarning, **place)
