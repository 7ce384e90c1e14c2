"""Numbers in text, such as `"0,0.1,0.2"`, `"0:0.5:11"` and `"1e-4:1:9:log"`."""

import math

import numpy as np

from onegrad.exceptions import InvalidInput


def parse_numbers(text: str, argument: str, max_count: int) -> list[float]:
    """Return the numbers of a list of numbers and ranges start:stop:count[:log].

    Parameters
    ----------
    argument : the name that exceptions state.
    max_count : largest number of values that is allowed.
    """
    values: list[float] = []
    for part in str(text).split(","):
        if ":" in part:
            values.extend(_range(part, argument, max_count))
        else:
            values.append(_number(part, argument))
        if len(values) > max_count:
            raise InvalidInput(argument, problem=f"lists more than {max_count} values")
    return values


def _range(part: str, argument: str, max_count: int) -> list[float]:
    pieces = part.split(":")
    logarithmic = pieces[-1].strip() == "log"
    pieces = pieces[:-1] if logarithmic else pieces
    if len(pieces) != 3:
        raise InvalidInput(argument, part, problem="a range is start:stop:count[:log]")
    start, stop, count = (_number(piece, argument) for piece in pieces)
    if not (count.is_integer() and 1 <= count <= max_count):
        raise InvalidInput(argument, part, problem=f"count must be 1 to {max_count}")
    if logarithmic and not (start > 0 and stop > 0):
        raise InvalidInput(argument, part, problem="a logarithmic range needs positive ends")
    # unlike powers of a common factor, both end exactly where they were asked to
    spaced = np.geomspace if logarithmic else np.linspace
    return [float(x) for x in spaced(start, stop, int(count))]


def _number(text: str, argument: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise InvalidInput(argument, text, "a number, a list or a range")
    return value
