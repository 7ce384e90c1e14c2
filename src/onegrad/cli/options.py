"""The options that commands share: every field of Problem, lists and ranges of numbers.

Sizes may be given as ratios, `--phi` d/n and `--psi` d/N; without any size the default setting is
meant, with whatever else is given in place of its own.
"""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from onegrad.exceptions import InvalidInput
from onegrad.io.ranges import parse_numbers
from onegrad.problem import FIELDS, RATIO_FIELDS, Problem
from onegrad.problem.conventions import ratio

METAVARS = {"whole": "X", "number": "X", "text": "F", "law": "LAW", "choice": "WHICH"}
MOST_POINTS = 10_000
SIZES = ("n", "d", "N")
DEFAULT = "quick-start"  # the setting of the docs' first page
SETTINGS: dict[str, dict[str, str]] = {
    DEFAULT: {
        "n": "1000", "d": "500", "N": "667", "activation": "softplus",
        "teacher": "H1 + H2/sqrt(2)", "alpha": "0:0.5:11",
    },
}  # fmt: skip


@dataclass(frozen=True)
class Asked:
    """A problem at its first values, the axes along which values were listed, where it is from."""

    problem: Problem
    axes: dict[str, list[float]]
    setting: str | None = None

    @property
    def title(self) -> str:
        """The sizes and functions that the axes leave alone."""
        p = self.problem
        sizes = [f"{name} = {getattr(p, name)}" for name in SIZES if name not in self.axes]
        said = ", ".join(
            [*sizes, f"activation {p.sigma.name}", f"teacher {p.teacher_function.name}"]
        )
        return said if self.setting is None else f"{said} (default setting {self.setting!r})"


def add_problem_options(parser: argparse.ArgumentParser) -> None:
    """Every field of Problem as an option; numbers may be lists (1,2,3) or ranges (0:0.5:11)."""
    group = parser.add_argument_group(
        "problem", "a number may be a comma list (0,0.1,0.2) or a range start:stop:count[:log]"
    )
    for name, field in {**FIELDS, **RATIO_FIELDS}.items():
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


def asked(args: argparse.Namespace, **otherwise: str) -> Asked:
    """What the options ask for; `otherwise` replaces values of the default setting."""
    fields = {**FIELDS, **RATIO_FIELDS}
    given = {name: value for name in fields if (value := getattr(args, name)) is not None}
    if "alpha" in given and "eta" in given:
        raise InvalidInput("give --alpha or --eta, not both")
    setting = None if {*SIZES, *RATIO_FIELDS} & given.keys() else DEFAULT
    if setting is not None:
        step = {"alpha"} if "eta" in given else set()
        base = {**SETTINGS[setting], **otherwise}
        given = {k: v for k, v in base.items() if k not in step} | given
    listed = {
        name: parse_numbers(text, fields[name].option, MOST_POINTS)
        for name, text in given.items()
        if fields[name].kind in ("whole", "number")
    }
    _follow_ratios(listed, given)
    missing = [FIELDS[name].option for name in SIZES if name not in listed]
    if missing:
        ratios = ", or --phi and --psi beside --n" if "--n" not in missing else ""
        raise InvalidInput(f"{', '.join(missing)} must be given: a whole number >= 1{ratios}")
    axes = {name: values for name, values in listed.items() if len(values) > 1}
    if math.prod(len(v) for v in axes.values()) > MOST_POINTS:
        raise InvalidInput(f"the grid has more than {MOST_POINTS} points; list fewer values")
    problem = Problem(**given | {name: values[0] for name, values in listed.items()})
    return Asked(problem, axes, setting)


def _follow_ratios(listed: dict[str, list[float]], given: dict[str, Any]) -> None:
    """d from --phi and n, N from --psi and d: in place of the ratios."""
    for name, of, size, inverse in (("phi", "n", "d", False), ("psi", "d", "N", True)):
        if name not in listed:
            continue
        option, whole, other = RATIO_FIELDS[name].option, FIELDS[size].option, FIELDS[of].option
        if size in listed:
            raise InvalidInput(f"give {option} or {whole}, not both")
        if of not in listed:
            raise InvalidInput(f"{option} needs {other}: {whole} follows from both")
        if len(listed[of]) > 1:
            raise InvalidInput(
                f"{option} needs one value of {other}; list those of {whole} instead"
            )
        values, given_size = listed.pop(name), listed[of][0]
        given.pop(name)
        if min(values) <= 0:
            raise InvalidInput(f"{option} must be > 0; got {min(values):g}")
        listed[size] = [ratio(name, 1 / v if inverse else v, of, given_size) for v in values]
