"""Entries that are more likely mistakes than data: they are read as they are, and said once."""

import re
from collections.abc import Sequence

import numpy as np

from onegrad.arrays import Floats
from onegrad.exceptions import AssumptionWarning, warn

# These limits decide warnings alone; they were set on examples of such mistakes, not tuned.
MAX_SHARE_OF_WORDS = 0.05  # of the values of a column of numbers: more are not mistakes
MIN_WRITTEN_NUMBERS = 10  # values with a comma or a percent sign: fewer may be codes
# 1,5 and 1,234.5 and 1.234,5 and 12 % and 1'000 and $3.50: numbers for people, text for programs
WRITTEN_NUMBER = re.compile(
    r"[+-]?(\d+,\d+|\d{1,3}([,.'\s]\d{3})+([.,]\d+)?|\d+([.,]\d+)?\s?[%€$£]|[€$£]\s?\d[\d.,]*)"
)
# ranges of the other values that a value lies beyond them, if it occurs often, or once
FAR_IF_REPEATED, FAR_IF_SINGLE = 20.0, 1e4
FEW_DIGITS = 1e-12  # deviation, relative to the mean, of which float64 keeps some three digits


def warn_of_infinities(name: str, values: Floats) -> None:
    """Warn of infinite values, which count as missing."""
    if infinite := int(np.isinf(values).sum()):
        _warn(name, f"{infinite} infinite values, which count as missing")


def warn_of_words_among_numbers(name: str, values: Sequence[str]) -> None:
    """Warn of many numbers and a few words: they are rarely codes, more often damaged entries."""
    words = [value for value in values if not is_number(value)]
    if 0 < len(words) <= MAX_SHARE_OF_WORDS * len(values):
        text = (
            f"numbers and {words[0]!r:.40}: it is read as text with {len(values)} values; "
            "if it should be a number, fix that entry or leave it empty"
        )
        _warn(name, text)


def warn_of_written_numbers(name: str, values: Sequence[str]) -> None:
    """Warn of numbers with decimal commas, thousands separators or percent signs."""
    written = [value for value in values if WRITTEN_NUMBER.fullmatch(value.strip())]
    enough = len(written) >= MIN_WRITTEN_NUMBERS
    if enough and len(written) >= (1 - MAX_SHARE_OF_WORDS) * len(values):
        text = (
            f"text such as {written[0]!r:.40}: it is read as {len(values)} categories; "
            "if they are numbers, write them with a decimal point and no other separator"
        )
        _warn(name, text)


def warn_of_lone_values(x: Floats, names: Sequence[str]) -> None:
    """Warn of columns of x (n, d) whose smallest or largest value lies far from all others.

    Such a value often stands for a missing one (-999, 1e200). It sets the scale of its column, in
    which the other values can hardly be told apart.
    """
    for sign in (1.0, -1.0):
        top = (sign * x).max(0)
        at_top = sign * x == top
        second = np.where(at_top, -np.inf, sign * x).max(0)
        with np.errstate(over="ignore", invalid="ignore"):
            others = second + (-sign * x).max(0)  # their range
            distance = top - second
            count = at_top.sum(0)
            far = distance > np.where(count > 1, FAR_IF_REPEATED, FAR_IF_SINGLE) * others
        for j in np.flatnonzero(far & (others > 0)).tolist():
            text = (
                f"{sign * top[j]:g} in {count[j]} rows, far from all other values: "
                "if it stands for a missing value, leave it empty"
            )
            _warn(names[j], text)


def warn_of_few_digits(mean: Floats, deviation: Floats, names: Sequence[str]) -> None:
    """Warn of columns that vary so little around their mean that few digits say how."""
    few = (deviation > 0) & (deviation < FEW_DIGITS * np.abs(mean))
    for j in np.flatnonzero(few).tolist():
        text = (
            f"values that differ by {deviation[j]:.1g} around {mean[j]:.6g}: "
            "few digits are left; subtract that number first"
        )
        _warn(names[j], text)


def _warn(name: str, text: str) -> None:
    warn(AssumptionWarning("encoding", name, f"column {name!r} holds {text}"))


def is_number(text: str) -> bool:
    """Return whether readers of files take a text for a number; Python reads 1_000, too."""
    try:
        float(text)
    except ValueError:
        return False
    return text.isascii() and "_" not in text
