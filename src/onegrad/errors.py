"""What can go wrong, by kind: the command line maps these to exit codes."""

from __future__ import annotations

import difflib
import os
import re
import sys
import warnings
from collections.abc import Collection
from pathlib import Path
from typing import Any

PACKAGE = str(Path(__file__).parent) + os.sep
LONGEST_WORD = 400  # that a message quotes: longer than paths are


class InvalidInput(ValueError):
    """An argument is not allowed. The message is one line: name, value, what is allowed.

    Examples
    --------
    >>> import onegrad as og
    >>> og.Problem(n=100, d=50, N=80, ridge=-1)
    Traceback (most recent call last):
    onegrad.errors.InvalidInput: ridge must be ...; got -1
    """

    def __str__(self) -> str:
        return printable(super().__str__())  # names that files and requests bring are quoted in it


class OutOfScope(InvalidInput):
    """A theory was asked for a problem that it does not cover.

    Examples
    --------
    >>> import onegrad as og
    >>> og.spectrum(og.Problem(n=100, d=50, N=80, activation="H2", eta=1.0))
    Traceback (most recent call last):
    onegrad.errors.OutOfScope: ...
    """


class NotConverged(RuntimeError):
    """A solver stopped without an answer; the message has its residual and iteration count.

    Examples
    --------
    >>> import onegrad as og
    >>> try:
    ...     found = og.predict(og.Problem(n=100, d=50, N=80, eta=0.5)).test
    ... except og.NotConverged:
    ...     found = None  # nothing is returned that is not an answer
    >>> found is None
    False
    """


class AssumptionWarning(UserWarning):
    """A result was computed outside the assumptions of its theorem; the message says which.

    Examples
    --------
    >>> import warnings
    >>> import onegrad as og
    >>> with warnings.catch_warnings(record=True) as said:
    ...     warnings.simplefilter("always", og.AssumptionWarning)
    ...     test = og.predict(og.Problem(n=100, d=50, N=80), "staircase", alpha=0.25).test
    >>> "threshold" in str(said[0].message)
    True
    """


def warn(*messages: str) -> None:
    """Issue an AssumptionWarning for each line, at the line outside this package that led here."""
    frame = sys._getframe()
    while frame.f_back is not None and frame.f_code.co_filename.startswith(PACKAGE):
        frame = frame.f_back
    place = {
        "filename": frame.f_code.co_filename,
        "lineno": frame.f_lineno,
        "module": frame.f_globals.get("__name__", "__main__"),  # a warning of no module is dropped
        "registry": frame.f_globals.setdefault("__warningregistry__", {}),  # for once per place
    }
    for message in messages:
        warnings.warn_explicit(printable(message), AssumptionWarning, **place)


def printable(text: str) -> str:
    """The text in one line that a terminal shows and does not obey; endless words are cut.

    >>> print(printable("no column 'a\\n\\x1b[2J'"))
    no column 'a\\n\\x1b[2J'
    """
    line = "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
    return re.sub(rf"\S{{{LONGEST_WORD},}}", lambda word: f"{word[0][:40]}…{word[0][-40:]}", line)


def subject(error: Exception) -> str:
    """The first word of a complaint: the argument that it is about, where there is one."""
    match = re.match(r"[A-Za-z_]+", str(error))
    return match[0] if match else ""


def one_of(name: str, value: Any, allowed: Collection[str]) -> str:
    """The value, or the complaint that it is none of those allowed."""
    if isinstance(value, str) and value in allowed:
        return value
    raise none_of(name, value, allowed)


def none_of(name: str, value: Any, allowed: Collection[str], more: str = "") -> InvalidInput:
    """The complaint that a value is none of those allowed; what is spelt nearly so comes first."""
    names = f"{', '.join(allowed)}{more}"
    if isinstance(value, str) and (hint := did_you_mean(value, allowed)):
        return InvalidInput(f"{name} {value!r:.60}: {hint} It must be one of {names}")
    return InvalidInput(f"{name} must be one of {names}; got {value!r:.60}")


def in_any_case(value: str, allowed: Collection[str]) -> str:
    """The allowed name that this is but for its case; the value itself where there is none."""
    if value in allowed:
        return value
    return next((name for name in allowed if name.casefold() == value.casefold()), value)


def did_you_mean(value: str, allowed: Collection[str]) -> str:
    """A question that names what is spelt nearly so; nothing where nothing is."""
    spelt = {name.casefold(): name for name in allowed}
    near = difflib.get_close_matches(value.casefold()[:80], spelt, 1)
    return f"did you mean {spelt[near[0]]}?" if near else ""
