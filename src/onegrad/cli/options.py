"""The options that commands share: every field of Problem, lists and ranges of numbers."""

from __future__ import annotations

import argparse
import math
from typing import Any

import numpy as np

from onegrad.errors import InvalidInput
from onegrad.laws import INPUTS, NOISE
from onegrad.problem import CHOICES, Problem

NUMBERS = {
    "n": "rows of the ridge fit",
    "d": "inputs",
    "N": "neurons",
    "noise": "standard deviation of the label noise (default 0)",
    "ridge": "penalty of the second layer (default 0.01)",
    "alpha": "step exponent: eta = n**alpha",
    "eta": "step size itself (default 0, the untrained network)",
    "n_step": "rows of the gradient step (default n)",
    "steps": "gradient steps (default 1)",
    "corrupted": "fraction of labels replaced (default 0)",
}
TEXTS = {
    "activation": "name or Hermite combination (default tanh)",
    "teacher": "name or Hermite combination (default H1)",
    "inputs": f"law of the inputs: {', '.join(INPUTS)} (default gaussian)",
    "noise_law": f"law of the label noise: {', '.join(NOISE)} (default gaussian)",
}
MOST_POINTS = 10_000


def add_problem_options(parser: argparse.ArgumentParser) -> None:
    """Every field of Problem as an option; numbers may be lists (1,2,3) or ranges (0:0.5:11)."""
    group = parser.add_argument_group(
        "problem", "a number may be a comma list (0,0.1,0.2) or a range start:stop:count[:log]"
    )
    for name, text in NUMBERS.items():
        group.add_argument(_option(name), metavar="X", dest=name, help=text)
    for name, text in TEXTS.items():
        group.add_argument(_option(name), metavar="F", dest=name, help=text)
    for name, allowed in CHOICES.items():
        help_ = f"one of {', '.join(allowed)} (default {allowed[0]})"
        group.add_argument(_option(name), metavar="WHICH", dest=name, help=help_)
    group.add_argument("--intercept", action="store_true", help="ridge fits a free constant")


def add_json_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print one JSON object, nothing else")


def problem_of(args: argparse.Namespace) -> tuple[Problem, dict[str, list[float]]]:
    """The problem at its first values, and the axes along which values were listed."""
    missing = [_option(name) for name in ("n", "d", "N") if getattr(args, name) is None]
    if missing:
        raise InvalidInput(f"{', '.join(missing)} must be given: a whole number >= 1")
    if args.alpha is not None and args.eta is not None:
        raise InvalidInput("give --alpha or --eta, not both")
    fields: dict[str, Any] = {k: getattr(args, k) for k in (*TEXTS, *CHOICES)}
    axes: dict[str, list[float]] = {}
    for name in NUMBERS:
        text = getattr(args, name)
        if text is not None:
            values = numbers(text, _option(name))
            fields[name] = values[0]
            if len(values) > 1:
                axes[name] = values
    if math.prod(len(v) for v in axes.values()) > MOST_POINTS:
        raise InvalidInput(f"the grid has more than {MOST_POINTS} points; list fewer values")
    fields = {k: v for k, v in fields.items() if v is not None}
    return Problem(**fields, intercept=args.intercept), axes


def numbers(text: str, option: str) -> list[float]:
    """`"0,0.1,0.2"`, `"0:0.5:11"` or `"1e-4:1:9:log"` as a list of numbers."""
    values: list[float] = []
    for part in str(text).split(","):
        values.extend(_range(part, option) if ":" in part else [_float(part, option)])
    if len(values) > MOST_POINTS:
        raise InvalidInput(f"{option} lists more than {MOST_POINTS} values")
    return values


def _range(part: str, option: str) -> list[float]:
    pieces = part.split(":")
    logarithmic = pieces[-1].strip() == "log"
    pieces = pieces[:-1] if logarithmic else pieces
    if len(pieces) != 3:
        raise InvalidInput(f"{option}: a range is start:stop:count[:log]; got {part!r:.60}")
    start, stop, count = (_float(piece, option) for piece in pieces)
    if not (count.is_integer() and 1 <= count <= MOST_POINTS):
        raise InvalidInput(f"{option}: count must be 1 to {MOST_POINTS}; got {pieces[2]!r:.60}")
    if logarithmic and not (start > 0 and stop > 0):
        raise InvalidInput(f"{option}: a logarithmic range needs positive ends; got {part!r:.60}")
    spaced = np.geomspace if logarithmic else np.linspace
    return [float(x) for x in spaced(start, stop, int(count))]


def _float(text: str, option: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise InvalidInput(f"{option} must be a number, a list or a range; got {text!r:.60}")
    return value


def _option(name: str) -> str:
    return "--" + name.replace("_", "-")
