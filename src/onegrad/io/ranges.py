"""Numbers in text, such as `"0,0.1,0.2"`, `"0:0.5:11"` and `"1e-4:1:9:log"`."""

from __future__ import annotations

import math

import numpy as np

from onegrad.exceptions import InvalidInput


def parse_numbers(text: str, name: str, most: int) -> list[float]:
    """The numbers that a list of numbers and ranges start:stop:count[:log] means.

    `name` is what complaints start with; `most` is how many numbers are allowed.
    """
    values: list[float] = []
    for part in str(text).split(","):
        values.extend(_range(part, name, most) if ":" in part else [_float(part, name)])
        if len(values) > most:
            raise InvalidInput(f"{name} lists more than {most} values")
    return values


def _range(part: str, name: str, most: int) -> list[float]:
    pieces = part.split(":")
    logarithmic = pieces[-1].strip() == "log"
    pieces = pieces[:-1] if logarithmic else pieces
    if len(pieces) != 3:
        raise InvalidInput(f"{name}: a range is start:stop:count[:log]; got {part!r:.60}")
    start, stop, count = (_float(piece, name) for piece in pieces)
    if not (count.is_integer() and 1 <= count <= most):
        raise InvalidInput(f"{name}: count must be 1 to {most}; got {pieces[2]!r:.60}")
    if logarithmic and not (start > 0 and stop > 0):
        raise InvalidInput(f"{name}: a logarithmic range needs positive ends; got {part!r:.60}")
    spaced = np.geomspace if logarithmic else np.linspace
    return [float(x) for x in spaced(start, stop, int(count))]


def _float(text: str, name: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise InvalidInput(f"{name} must be a number, a list or a range; got {text!r:.60}")
    return value
