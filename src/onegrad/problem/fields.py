"""Descriptions of the fields of Problem: symbol, meaning, allowed values, name in every paper.

A field is described once, in the metadata of the dataclass. The checks of Problem, the options of
the command line, the keys of a sweep, the controls of the explorer and the table in
docs/notation.md are made from these descriptions.
"""

import dataclasses
import math
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args, get_type_hints

from onegrad.exceptions import InvalidInput, case_insensitive, check_choice
from onegrad.problem.laws import LawParameter, parse_law

PAPERS = ("Moniri et al. 2024", "Ba et al. 2022", "Cui et al. 2024")
_MAX_SIZE = 10**12  # no machine holds more; products of three sizes stay far from overflow
_REQUIRED: Any = ...  # the default of a field that has none
_METADATA_KEY = "field"


@dataclass(frozen=True, kw_only=True)
class Field:
    """The description of one field.

    Parameters
    ----------
    label, symbol, help : heading, letter, and meaning as a phrase that starts in lower case.
    kind : a whole number, a number, a text that names a function, a choice, a law, a flag, or
        numbers (stored as a text with commas).
    low, above, high : bounds of a number, and whether `low` itself is excluded.
    choices : allowed values of a choice, or suggestions for a text.
    laws : allowed laws and their parameters.
    papers : name or value in each of PAPERS; empty where a paper does not have it.
    unset : meaning of None, where that is the default.
    logarithmic : whether an axis of it is logarithmic.
    group : group of controls of the explorer; a field without one is not shown.
    limits, slider : range that the explorer accepts, and the part that its slider spans.
    name, default : those of the dataclass.
    """

    label: str
    symbol: str = ""
    help: str
    kind: Literal["whole", "number", "text", "choice", "law", "flag", "numbers"] = "number"
    low: float = -math.inf
    above: bool = False
    high: float = math.inf
    choices: tuple[str, ...] = ()
    laws: Mapping[str, LawParameter | None] = dataclasses.field(default_factory=dict)
    papers: tuple[str, str, str] = ("", "", "")
    unset: str = ""
    logarithmic: bool = False
    group: str = ""
    limits: tuple[float, float] | None = None
    slider: tuple[float, float] | None = None
    name: str = ""
    default: Any = _REQUIRED

    @property
    def option(self) -> str:
        """Option of the command line."""
        return "--" + self.name.replace("_", "-")

    @property
    def required(self) -> bool:
        return self.default is _REQUIRED

    @property
    def is_text(self) -> bool:
        """True if values of the field are strings."""
        return self.kind in ("text", "choice", "law", "numbers")

    @property
    def summary(self) -> str:
        """Meaning, choices and default in one phrase."""
        names = self.choices if self.kind == "choice" else tuple(self.laws)
        choices = f": {', '.join(names)}" if names else ""
        default = self.unset if self.default is None else self.default
        if default == "" or self.required or self.kind == "flag":
            return f"{self.help}{choices}"
        text = f"{default:g}" if isinstance(default, float) else default
        return f"{self.help}{choices} (default {text})"

    def check(self, value: Any) -> Any:
        """Return the value as the field stores it; raise InvalidInput if it is not allowed."""
        if value is None and self.default is None:
            return None
        match self.kind:
            case "whole":
                return check_size(self.name, value)
            case "number":
                return check_number(self.name, value, self.low, self.high, above=self.above)
            case "choice":
                choice = case_insensitive(value, self.choices) if isinstance(value, str) else value
                return check_choice(self.name, choice, self.choices)
            case "law":
                return str(parse_law(value, self.laws, self.name))
            case "numbers":
                one = [value] if isinstance(value, int | float) else value
                items = value.split(",") if isinstance(value, str) else one
                numbers = (check_number(self.name, v, -10.0, 10.0) for v in items if v != "")
                return ",".join(f"{v:.12g}" for v in numbers)
            case "flag" if not isinstance(value, bool):
                raise InvalidInput(self.name, value, "True or False")
        return value


def description(**facts: Any) -> dict[str, Field]:
    """Return the metadata of a dataclass field that describe it."""
    return {_METADATA_KEY: Field(**facts)}


def described_fields(problem: type) -> dict[str, Field]:
    """Return the description of each field of a dataclass; choices come from the types."""
    types = get_type_hints(problem)
    descriptions = {}
    for f in dataclasses.fields(problem):
        about: Field = f.metadata[_METADATA_KEY]
        choices = get_args(types[f.name]) if about.kind == "choice" else about.choices
        default = _REQUIRED if f.default is dataclasses.MISSING else f.default
        facts = {"name": f.name, "default": default, "choices": choices}
        descriptions[f.name] = dataclasses.replace(about, **facts)
    return descriptions


def check_size(name: str, value: Any) -> int:
    """Return the value as a whole number >= 1; raise InvalidInput if it is not one."""
    try:
        # 1000.0 is a size, as a command line or a JSON file may write it; 1.5 and "many" are not
        size = int(value) if float(value).is_integer() else operator.index(value)
    except (TypeError, ValueError, OverflowError):
        size = 0
    if isinstance(value, bool) or size < 1:  # True is an int to Python
        raise InvalidInput(name, value, "a whole number >= 1")
    if size > _MAX_SIZE:
        raise InvalidInput(name, value, f"a whole number <= {_MAX_SIZE:.0e}")
    return size


def check_number(
    name: str, value: Any, low: float = -math.inf, high: float = math.inf, *, above: bool = False
) -> float:
    """Return the value as a float within its bounds; with `above`, `low` itself is excluded."""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number) or number < low or (number == low and above):
        bound = "" if low == -math.inf else f" {'>' if above else '>='} {low:g}"
        raise InvalidInput(name, value, f"a finite number{bound}")
    if number > high:
        raise InvalidInput(name, value, f"between {low:g} and {high:g}")
    return number


def is_sequence(value: Any) -> bool:
    """Return whether the value of a field is a list of values."""
    if isinstance(value, str | bytes) or callable(value):
        return False
    # an array, or a column of a table, is no Sequence but has one axis
    return isinstance(value, Sequence) or getattr(value, "ndim", 0) == 1


def list_axes(axes: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Return the axes that are lists of values: those of a grid, in order."""
    return {name: list(values) for name, values in axes.items() if is_sequence(values)}
