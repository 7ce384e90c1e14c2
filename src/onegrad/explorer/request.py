"""Reading the page's requests: a query of texts becomes a Problem, or InvalidInput."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from onegrad.exceptions import InvalidInput, check_choice
from onegrad.explorer.controls import CONTROLS, DEFAULTS
from onegrad.problem import Problem
from onegrad.problem.fields import Field

MAX_VALUE_LENGTH = 400  # characters
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?", re.ASCII)
ALTERNATIVES = (("d", "phi"), ("N", "psi"), ("alpha", "eta"))  # two ways to say the same


def read_problem(query: Mapping[str, str]) -> Problem:
    """Return the problem that a query describes, its missing values taken from the defaults.

    `phi` stands for d = phi n, `psi` for N = d/psi. The argument of what it raises is the control.
    """
    for name in query:
        check_choice("control", name[:40], CONTROLS)
    entered = {name: value.strip() for name, value in query.items()}
    texts = DEFAULTS | entered
    for one, other in ALTERNATIVES:
        if one in entered and other in entered:
            raise InvalidInput(other, problem=f"it is given as {one}, too; keep one of them")
        if one in entered or other in entered:
            texts.pop(other if one in entered else one, None)
    values = {name: _value(CONTROLS[name], text) for name, text in texts.items()}
    if "phi" in values:
        values["d"] = _size_from("phi", CONTROLS["d"], values.pop("phi") * values["n"])
    if "psi" in values:
        values["N"] = _size_from("psi", CONTROLS["N"], values["d"] / values.pop("psi"))
    with np.errstate(all="ignore"):  # a coefficient may overflow, which Problem reports
        return Problem(**values)


def _value(control: Field, text: str) -> Any:
    """Return the value of a control, within its limits."""
    if len(text) > MAX_VALUE_LENGTH:
        raise InvalidInput(control.name, problem=f"longer than {MAX_VALUE_LENGTH} characters")
    if control.limits is None:
        return text  # Problem parses formulas and knows the choices
    low, high = control.limits
    value = float(text) if NUMBER.fullmatch(text) else math.nan
    integer = control.kind == "whole"
    if not low <= value <= high or (integer and not value.is_integer()):
        kind = "a whole number" if integer else "a number"
        raise InvalidInput(
            control.name, text, f"{kind} from {plain_number(low)} to {plain_number(high)}"
        )
    return int(value) if integer else value


def plain_number(x: float) -> str:
    """Return a number as people write it: 1,000,000,000 and 0.00000001.

    >>> plain_number(1e9), plain_number(1e-8), plain_number(-0.5)
    ('1,000,000,000', '0.00000001', '-0.5')
    """
    return f"{int(x):,}" if x == int(x) else np.format_float_positional(x, trim="-")


def read_whole(name: str, text: str, low: int, high: int) -> int:
    """Return the whole number that a text is, from `low` to `high`."""
    if not (text.isascii() and text.isdecimal() and len(text) < 10 and low <= int(text) <= high):
        raise InvalidInput(name, text, f"a whole number from {low} to {high}")
    return int(text)


def _size_from(ratio: str, control: Field, size: float) -> int:
    """Return the size that follows from a ratio, within the size's own limits."""
    assert control.limits is not None
    low, high = control.limits
    if not low <= round(size) <= high:
        limits = f"{plain_number(low)} to {plain_number(high)}"
        problem = f"it makes {control.name} = {size:.3g}, which must be from {limits}"
        raise InvalidInput(ratio, problem=problem)
    return round(size)


def control_of(error: Exception) -> str | None:
    """Return the control that an error is about, if it is about one."""
    name = error.argument if isinstance(error, InvalidInput) else None
    return name if name in (*CONTROLS, "seeds") else None
