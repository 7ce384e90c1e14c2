"""The options that commands share: every field of Problem, lists and ranges of numbers."""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import Any

from onegrad.errors import InvalidInput
from onegrad.io.ranges import numbers
from onegrad.problem import FIELDS, Problem

METAVARS = {"whole": "X", "number": "X", "text": "F", "law": "LAW", "choice": "WHICH"}
MOST_POINTS = 10_000


def add_problem_options(parser: argparse.ArgumentParser) -> None:
    """Every field of Problem as an option; numbers may be lists (1,2,3) or ranges (0:0.5:11)."""
    group = parser.add_argument_group(
        "problem", "a number may be a comma list (0,0.1,0.2) or a range start:stop:count[:log]"
    )
    for name, field in FIELDS.items():
        about: dict[str, Any] = {"metavar": METAVARS.get(field.kind), "dest": name}
        if field.kind == "flag":
            about = {"action": "store_true"}
        group.add_argument(field.option, help=field.summary.replace("%", "%%"), **about)


def add_json_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print one JSON object, nothing else")


def not_an_input(option: str, out: Path, data: Any, *others: str) -> None:
    """What is written replaces nothing that is read."""
    for path in (*data.paths, *others):
        if out.exists() and out.samefile(path):
            raise InvalidInput(f"{option} {str(out)!r} is an input; choose another name")


def problem_of(args: argparse.Namespace) -> tuple[Problem, dict[str, list[float]]]:
    """The problem at its first values, and the axes along which values were listed."""
    given = {name: value for name in FIELDS if (value := getattr(args, name)) is not None}
    missing = [f.option for name, f in FIELDS.items() if f.required and name not in given]
    if missing:
        raise InvalidInput(f"{', '.join(missing)} must be given: a whole number >= 1")
    if "alpha" in given and "eta" in given:
        raise InvalidInput("give --alpha or --eta, not both")
    listed = {
        name: numbers(text, FIELDS[name].option, MOST_POINTS)
        for name, text in given.items()
        if FIELDS[name].kind in ("whole", "number")
    }
    axes = {name: values for name, values in listed.items() if len(values) > 1}
    if math.prod(len(v) for v in axes.values()) > MOST_POINTS:
        raise InvalidInput(f"the grid has more than {MOST_POINTS} points; list fewer values")
    return Problem(**given | {name: values[0] for name, values in listed.items()}), axes
