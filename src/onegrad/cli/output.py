"""Tables, JSON and lines: on standard output, in colour where a person looks."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from typing import Any, TextIO

from onegrad.exceptions import printable
from onegrad.io.json_values import json_values

STYLES = {"bold": 1, "dim": 2, "red": 31, "green": 32, "yellow": 33}
DECIMALS = 7  # more are not filled up with zeros


def print_json(value: dict[str, Any]) -> None:
    """One JSON object and nothing else; a number that is not finite becomes null."""
    print(json.dumps(json_values(value), allow_nan=False))


def print_table(rows: Sequence[dict[str, Any]], columns: Sequence[str]) -> None:
    """Columns with a header; numbers with five significant digits, decimal points in one line."""
    entries = [[name, *aligned([row.get(name) for row in rows])] for name in columns]
    widths = [max(map(len, column)) for column in entries]
    header, *lines = (
        "  ".join(entry.rjust(width) for entry, width in zip(line, widths, strict=True))
        for line in zip(*entries, strict=True)
    )
    print(styled(header, "bold", sys.stdout))
    for line in lines:
        print(line)


def aligned(values: Sequence[Any]) -> list[str]:
    """The values as texts of one width, decimal point under decimal point.

    Numbers of a column have the same number of decimals, or, where those would be many, blanks
    after the last digit that counts.
    """
    texts = [_text(value) for value in values]
    decimals = max((_decimals(text) for text in texts), default=0)
    if decimals <= DECIMALS and not any("e" in t for t in texts):
        numbers = [isinstance(value, float) and value == value for value in values]
        pairs = zip(values, texts, numbers, strict=True)
        texts = [f"{value:.{decimals}f}" if is_number else text for value, text, is_number in pairs]
    wholes, fractions = zip(
        *(_parted(v, t) for v, t in zip(values, texts, strict=True)), strict=True
    )
    left, right = (max(map(len, part)) for part in (wholes, fractions))
    both = zip(wholes, fractions, strict=True)
    return [f"{whole:>{left}}{fraction:<{right}}" for whole, fraction in both]


def _text(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:.5g}" if isinstance(value, float) else str(value)


def _decimals(text: str) -> int:
    return len(text.partition(".")[2]) if text.replace(".", "").lstrip("-").isdigit() else 0


def _parted(value: Any, text: str) -> tuple[str, str]:
    """What stands before the decimal point, and the rest; words are not parted."""
    if not isinstance(value, float):
        return text, ""
    cut = min((text.index(mark) for mark in ".e" if mark in text), default=len(text))
    return text[:cut], text[cut:]


def styled(text: str, style: str, stream: TextIO) -> str:
    """The text in a style where the stream is a terminal that has any, and nobody minds."""
    run_directly = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    if run_directly or not stream.isatty():
        return text
    return f"\x1b[{STYLES[style]}m{text}\x1b[0m"


def title(text: str) -> None:
    """The line above a table: what its numbers are."""
    print(styled(text, "dim", sys.stdout))


def error_line(program: str, message: str) -> str:
    """A complaint for standard error."""
    return f"{program}: {styled('error:', 'red', sys.stderr)} {printable(message)}"


def note(program: str, message: str) -> None:
    """Something worth knowing, on standard error."""
    print(
        f"{program}: {styled('note:', 'yellow', sys.stderr)} {printable(message)}", file=sys.stderr
    )
