"""Reading what the page asks for: a query of texts becomes a Problem, or a complaint."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from onegrad.exceptions import InvalidInput, subject
from onegrad.explorer.controls import CONTROLS, DEFAULTS
from onegrad.problem import Problem
from onegrad.problem.fields import Field

LONGEST = 400  # characters of one value
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?", re.ASCII)
RIVALS = (("d", "phi"), ("N", "psi"), ("alpha", "eta"))  # two ways to say the same


def read_problem(query: Mapping[str, str]) -> Problem:
    """The problem that a query asks for, its missing values taken from the defaults.

    `phi` stands for d = phi n, `psi` for N = d/psi. Raises InvalidInput, whose first word is the
    control's name.
    """
    for name in query:
        if name not in CONTROLS:
            raise InvalidInput(f"{name[:40]!r} is not a control; allowed are {', '.join(CONTROLS)}")
    given = {name: value.strip() for name, value in query.items() if value.strip()}
    texts = DEFAULTS | given
    for one, other in RIVALS:
        if one in given and other in given:
            raise InvalidInput(f"{other} and {one} say the same thing: give one of them")
        if one in given or other in given:
            texts.pop(other if one in given else one, None)
    values = {name: _value(CONTROLS[name], text) for name, text in texts.items()}
    if "phi" in values:
        values["d"] = _ratio_size(CONTROLS["d"], values.pop("phi") * values["n"], "phi")
    if "psi" in values:
        values["N"] = _ratio_size(CONTROLS["N"], values["d"] / values.pop("psi"), "psi")
    with np.errstate(all="ignore"):  # a coefficient may overflow; Problem says so
        return Problem(**values)


def _value(control: Field, text: str) -> Any:
    """The control's value, within its limits."""
    if len(text) > LONGEST:
        raise InvalidInput(f"{control.name} is longer than {LONGEST} characters")
    if control.limits is None:
        return text  # Problem parses formulas and knows the choices
    low, high = control.limits
    value = float(text) if NUMBER.fullmatch(text) else math.nan
    whole = control.kind == "whole"
    if not low <= value <= high or (whole and not value.is_integer()):
        kind = "a whole number" if whole else "a number"
        raise InvalidInput(
            f"{control.name} must be {kind} from {low:g} to {high:g}; got {text!r:.60}"
        )
    return int(value) if whole else value


def _ratio_size(control: Field, size: float, ratio: str) -> int:
    """A size that follows from a ratio, within the size's own limits."""
    assert control.limits is not None
    low, high = control.limits
    if not low <= round(size) <= high:
        raise InvalidInput(
            f"{ratio} makes {control.name} = {size:.3g}; allowed are {low:g} to {high:g}"
        )
    return round(size)


def field_of(error: Exception) -> str | None:
    """The control that a complaint is about: the first word of its message."""
    name = subject(error)
    return name if name in (*CONTROLS, "seeds") else None
