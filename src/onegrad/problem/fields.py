"""What a field of Problem is: its symbol, its meaning, what it allows, its name in every paper.

A field is described once, in the metadata of the dataclass. The checks of Problem, the options of
the command line, the keys of a sweep, the page's controls and the table in docs/notation.md are
made from these descriptions.
"""

from __future__ import annotations

import dataclasses
import math
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args, get_type_hints

from onegrad.exceptions import InvalidInput, case_insensitive, check_choice
from onegrad.problem.laws import Parameter, parse_law

PAPERS = ("Moniri et al. 2024", "Ba et al. 2022", "Cui et al. 2024")
LARGEST = 10**12  # no size beyond this is meant
REQUIRED: Any = ...  # the default of a field that has none
_KEY = "field"


@dataclass(frozen=True, kw_only=True)
class Field:
    """One field: what it is called, what it means, what it allows.

    Parameters
    ----------
    label, symbol, help : as a heading, as a letter, and as a phrase that starts in lower case.
    kind : a whole number, a number, a text that names a function, a choice, a law, a flag, or
        numbers, kept as a text with commas.
    low, above, high : bounds of a number, whether `low` itself is left out.
    choices : what is allowed (a choice), or worth a try (a text).
    laws : the laws that are allowed and their parameters.
    papers : what PAPERS call it, or take it to be; empty where they do not have it.
    unset : what None means where that is the default.
    logarithmic : whether an axis of it is best read in factors.
    group : its place on the page; without one, it is not there.
    limits, slider : what the page accepts of a number, and the part that its slider spans.
    name, default : as the dataclass has them.
    """

    label: str
    symbol: str = ""
    help: str
    kind: Literal["whole", "number", "text", "choice", "law", "flag", "numbers"] = "number"
    low: float = -math.inf
    above: bool = False
    high: float = math.inf
    choices: tuple[str, ...] = ()
    laws: Mapping[str, Parameter | None] = dataclasses.field(default_factory=dict)
    papers: tuple[str, str, str] = ("", "", "")
    unset: str = ""
    logarithmic: bool = False
    group: str = ""
    limits: tuple[float, float] | None = None
    slider: tuple[float, float] | None = None
    name: str = ""
    default: Any = REQUIRED

    @property
    def option(self) -> str:
        """How the command line spells it."""
        return "--" + self.name.replace("_", "-")

    @property
    def required(self) -> bool:
        return self.default is REQUIRED

    @property
    def written(self) -> bool:
        """Whether its values are texts."""
        return self.kind in ("text", "choice", "law", "numbers")

    @property
    def summary(self) -> str:
        """The meaning, what may be chosen, and the default."""
        names = self.choices if self.kind == "choice" else tuple(self.laws)
        allowed = f": {', '.join(names)}" if names else ""
        default = self.unset if self.default is None else self.default
        told = default != "" and not self.required and self.kind != "flag"
        said = f"{default:g}" if isinstance(default, float) else default
        return f"{self.help}{allowed}{f' (default {said})' if told else ''}"

    def checked(self, value: Any) -> Any:
        """The value as the field keeps it, or one line that says what is allowed."""
        if value is None and self.default is None:
            return None
        match self.kind:
            case "whole":
                return size(self.name, value)
            case "number":
                return number(self.name, value, self.low, self.high, above=self.above)
            case "choice":
                known = case_insensitive(value, self.choices) if isinstance(value, str) else value
                return check_choice(self.name, known, self.choices)
            case "law":
                return str(parse_law(value, self.laws, self.name))
            case "numbers":
                parts = value.split(",") if isinstance(value, str) else value
                found = (number(self.name, v, -10.0, 10.0) for v in parts if v != "")
                return ",".join(f"{v:.12g}" for v in found)
            case "flag" if not isinstance(value, bool):
                raise InvalidInput(self.name, value, "True or False")
        return value


def described(**about: Any) -> dict[str, Field]:
    """The metadata that describes a field."""
    return {_KEY: Field(**about)}


def fields_of(problem: type) -> dict[str, Field]:
    """The descriptions of a dataclass's fields, by name and in order; choices as in the types."""
    types = get_type_hints(problem)
    found = {}
    for f in dataclasses.fields(problem):
        about: Field = f.metadata[_KEY]
        choices = get_args(types[f.name]) if about.kind == "choice" else about.choices
        default = REQUIRED if f.default is dataclasses.MISSING else f.default
        found[f.name] = dataclasses.replace(about, name=f.name, default=default, choices=choices)
    return found


def size(name: str, value: Any) -> int:
    """A whole number from 1 to LARGEST."""
    try:
        whole = int(value) if float(value).is_integer() else operator.index(value)
    except (TypeError, ValueError, OverflowError):
        whole = 0
    if isinstance(value, bool) or whole < 1:
        raise InvalidInput(name, value, "a whole number >= 1")
    if whole > LARGEST:
        raise InvalidInput(name, value, f"at most {LARGEST:.0e}")
    return whole


def number(
    name: str, value: Any, low: float = -math.inf, high: float = math.inf, *, above: bool = False
) -> float:
    """A finite number within its bounds; `above`: more than `low`."""
    try:
        found = float(value)
    except (TypeError, ValueError, OverflowError):
        found = math.nan
    if not math.isfinite(found) or found < low or (found == low and above):
        bound = "" if low == -math.inf else f" {'>' if above else '>='} {low:g}"
        raise InvalidInput(name, value, f"a finite number{bound}")
    if found > high:
        raise InvalidInput(name, value, f"between {low:g} and {high:g}")
    return found


def is_sequence(value: Any) -> bool:
    """Whether a value given for a field lists several."""
    if isinstance(value, str | bytes) or callable(value):
        return False
    return isinstance(value, Sequence) or getattr(value, "ndim", 0) == 1


def listed(axes: Mapping[str, Any]) -> dict[str, list[Any]]:
    """The axes that list values: those of a grid, in order."""
    return {name: list(values) for name, values in axes.items() if is_sequence(values)}
