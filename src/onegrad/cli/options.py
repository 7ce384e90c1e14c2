"""The options that commands share: every field of Problem, lists and ranges of numbers.

Sizes may be given as ratios, `--phi` d/n and `--psi` d/N. An option that is not given has its value
in the default setting.
"""

import argparse
import math
import textwrap
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from onegrad.exceptions import InvalidInput
from onegrad.functions.function import with_hermite_sum
from onegrad.io.files import input_problem
from onegrad.io.ranges import parse_numbers
from onegrad.problem import FIELDS, QUICK_START, RATIO_FIELDS, Problem
from onegrad.problem.conventions import size_from_ratio

METAVARS = {"text": "F", "law": "LAW", "choice": "WHICH"}  # others are numbers: X
MAX_POINTS = 10_000  # of one command, which prints them all; a sweep has no limit
SIZES = ("n", "d", "N")
POINT = ("alpha", "eta", "ridge")
EVERYDAY_FIELDS = (
    *SIZES, "phi", "psi", "activation", "teacher", "noise", "ridge", "alpha", "eta",
)  # fmt: skip
INSTEAD = {"eta": "alpha", "phi": "d", "psi": "N"}  # options that take the place of a default
OPTIONS = {**FIELDS, **RATIO_FIELDS}
DEFAULT_SETTING = "quick-start"  # the setting of the docs' first page


@dataclass(frozen=True)
class ProblemOptions:
    """The problem that the options describe, and the axes along which they list values."""

    problem: Problem  # at the first value of every axis
    axes: dict[str, Any]  # the listed values, by field
    setting: str | None  # the name of the default setting, if no size was given

    @property
    def columns(self) -> list[str]:
        """Columns that say which point a row of results is: listed fields, step and penalty."""
        return [*(name for name in self.axes if name not in POINT), *POINT]

    @property
    def title(self) -> str:
        """The sizes and functions that are the same at every point."""
        p = self.problem
        sizes = [f"{name} = {getattr(p, name)}" for name in SIZES if name not in self.axes]
        teacher = with_hermite_sum(p.teacher_function)
        functions = [f"activation {p.sigma.name}", f"teacher {teacher}"]
        suffix = "" if self.setting is None else " (default)"
        return ", ".join(sizes + functions) + suffix


def add_command(
    subparsers: Any,
    name: str,
    summary: str,
    description: str,
    *examples: str,
    json_option: bool = True,
) -> argparse.ArgumentParser:
    """Add the parser of a command, with examples in its help, and with `--json`."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        name,
        help=summary,
        description=textwrap.fill(description),
        epilog="\n  ".join(["examples:", *examples]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    if json_option:
        text = "print one JSON object and nothing else"
        parser.add_argument("--json", action="store_true", help=text)
    return parser


def add_problem_command(subparsers: Any, *texts: str) -> argparse.ArgumentParser:
    """Add the parser of a command, with the texts of `add_command`, and every field of Problem.

    Numbers may be lists (1,2,3) or ranges (0:0.5:11).
    """
    parser = add_command(subparsers, *texts)
    parser.usage = "%(prog)s [--OPTION VALUE ...]"  # a list of all options is what follows
    everyday = parser.add_argument_group(
        "problem", "a number may be a comma list (0,0.1,0.2) or a range start:stop:count[:log]"
    )
    more = parser.add_argument_group("more about the problem")
    for name in (*EVERYDAY_FIELDS, *(name for name in OPTIONS if name not in EVERYDAY_FIELDS)):
        default = "" if name == "eta" else QUICK_START.get(name, OPTIONS[name].default)
        field = replace(OPTIONS[name], default=default)
        group = everyday if name in EVERYDAY_FIELDS else more
        settings: dict[str, Any] = {"metavar": METAVARS.get(field.kind, "X"), "dest": name}
        if field.kind == "flag":
            settings = {"action": "store_true"}
        group.add_argument(field.option, help=field.summary.replace("%", "%%"), **settings)
    return parser


def add_force(parser: Any) -> None:
    """Add the option without which no file is replaced."""
    parser.add_argument("--force", action="store_true", help="overwrite existing files")


def add_escape(parser: Any) -> None:
    """Add the option that makes text of a CSV file harmless in a spreadsheet."""
    text = "put ' before text that a spreadsheet takes for a formula: = + - @ (CSV)"
    parser.add_argument("--escape", action="store_true", help=text)


def add_plot(parser: Any, what: str) -> None:
    """Add `--plot`, and `--force` for its file."""
    parser.add_argument("--plot", metavar="FILE", help=f"plot {what} to a .svg, .png or .pdf file")
    add_force(parser)


def read_problem_options(args: argparse.Namespace) -> ProblemOptions:
    """Return the problem that the options describe, and its axes."""
    texts = {name: value for name in OPTIONS if (value := getattr(args, name)) is not None}
    sizes_given = bool({*SIZES, *RATIO_FIELDS} & texts.keys())
    defaults = {name: str(value) for name, value in QUICK_START.items()}
    for name in INSTEAD.keys() & texts.keys():
        option, other = OPTIONS[name].option, OPTIONS[INSTEAD[name]].option
        if INSTEAD[name] in texts:
            raise InvalidInput(option, problem=f"give {option} or {other}, not both")
        del defaults[INSTEAD[name]]
    texts = defaults | texts
    numbers = {
        name: parse_numbers(text, OPTIONS[name].option, MAX_POINTS)
        for name, text in texts.items()
        if OPTIONS[name].kind in ("whole", "number")
    }
    words = {name: text for name, text in texts.items() if name not in numbers}
    _replace_ratio(numbers, "phi", "n", "d")
    _replace_ratio(numbers, "psi", "d", "N")
    axes = {name: values for name, values in numbers.items() if len(values) > 1}
    points = math.prod(len(values) for values in axes.values())
    if points > MAX_POINTS:
        options = ", ".join(FIELDS[name].option for name in axes)
        raise InvalidInput(options, problem=f"{points} points; list at most {MAX_POINTS}")
    problem = Problem(**words | {name: values[0] for name, values in numbers.items()})
    return ProblemOptions(problem, axes, None if sizes_given else DEFAULT_SETTING)


def _replace_ratio(
    numbers: dict[str, list[float]], name: str, reference: str, implied: str
) -> None:
    """Replace a ratio among the numbers by the size that it implies: phi = d/n, psi = d/N."""
    if name not in numbers:
        return
    option, of, size = RATIO_FIELDS[name].option, FIELDS[reference].option, FIELDS[implied].option
    if len(numbers[reference]) > 1:
        raise InvalidInput(option, problem=f"needs one value of {of}; list values of {size}")
    ratios = numbers.pop(name)
    if min(ratios) <= 0:
        raise InvalidInput(option, min(ratios), "> 0")
    factors = [1 / value for value in ratios] if name == "psi" else ratios
    numbers[implied] = [
        size_from_ratio(name, factor, reference, numbers[reference][0]) for factor in factors
    ]


def load_rows(path: str | None) -> Any:
    """Return the array of a .npy file, the value of --rows; None without one."""
    from onegrad.io.npy import read_array

    if path is None:
        return None
    if problem := input_problem(Path(path)):
        raise InvalidInput("--rows", Path(path), problem=problem)
    with Path(path).open("rb") as file:
        return read_array(file, "--rows")
