"""Named probability laws with at most one parameter, written `name` or `name(value)`."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from onegrad.exceptions import InvalidInput, not_a_choice

# a parameter is any text here, so that one that is no number gets a message about the number
_SYNTAX = re.compile(r"\s*([a-z][a-z-]*)\s*(?:\(\s*([^()]{1,40})\s*\))?\s*")


@dataclass(frozen=True)
class Law:
    """A law's name and its parameter (None when the law has none)."""

    name: str
    parameter: float | None = None

    def __str__(self) -> str:
        return self.name if self.parameter is None else f"{self.name}({self.parameter:g})"


@dataclass(frozen=True)
class LawParameter:
    """The parameter of a law: its lower bound (excluded), its default and its meaning."""

    above: float
    default: float
    meaning: str


INPUT_LAWS: dict[str, LawParameter | None] = {
    "gaussian": None,
    "rademacher": None,
    "uniform": None,
    "student-t": LawParameter(2.0, 5.0, "degrees of freedom"),
    "power-law": LawParameter(0.0, 1.0, "decay exponent of the covariance's eigenvalues"),
    "spiked": LawParameter(0.0, 4.0, "excess variance along one random direction"),
    "mixture": LawParameter(0.0, 1.0, "distance of the two centres from the origin"),
}

NOISE_LAWS: dict[str, LawParameter | None] = {
    "gaussian": None,
    "rademacher": None,
    "uniform": None,
    "student-t": LawParameter(2.0, 3.0, "degrees of freedom"),
}


def parse_law(text: str, allowed: Mapping[str, LawParameter | None], argument: str) -> Law:
    """Return a text such as `"student-t(5)"` as a Law, if the argument allows that law."""
    match = _SYNTAX.fullmatch(text.lower()) if isinstance(text, str) and len(text) <= 80 else None
    if match is None or match[1] not in allowed:
        names = [n if p is None else f"{n}({p.default:g})" for n, p in allowed.items()]
        raise not_a_choice(argument, text, names)
    parameter = allowed[match[1]]
    if parameter is None:
        if match[2] is not None:
            raise InvalidInput(argument, text, problem=f"{match[1]} takes no parameter")
        return Law(match[1])
    try:
        value = parameter.default if match[2] is None else float(match[2])
    except ValueError:
        value = float("nan")
    if not parameter.above < value < float("inf"):
        rule = f"{parameter.meaning} must be a number > {parameter.above:g}"
        raise InvalidInput(argument, text, problem=rule)
    return Law(match[1], value)
