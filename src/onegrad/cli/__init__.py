"""The command line: parse, call, print. One file per command.

Exit codes: 0 success, 2 bad input, 1 failure, 130 interrupted. Bad input is one line on standard
error that names the option, the value and what is allowed.
"""

from __future__ import annotations

import argparse
import importlib
import os
import re
import sys
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from onegrad import __version__
from onegrad.cli.output import error_line, note
from onegrad.cli.parser import Parser, check_options, innermost, spelt
from onegrad.exceptions import AssumptionWarning, InvalidInput, NotConverged, printable
from onegrad.problem import FIELDS

COMMANDS = (
    "predict",
    "simulate",
    "spectrum",
    "reproduce",
    "sweep",
    "fit",
    "apply",
    "explore",
    "exponents",
    "cite",
    "doctor",
    "completion",
)
# arguments of the library that are options by another name
RENAMED = {
    "random_state": "--seed",
    "n_jobs": "--workers",
    "categorical_features": "--categorical",
    "coverage": "--interval",
    "memory_limit": "--memory",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    named = [a for a in arguments if not a.startswith("-")][:1]
    parser = whole_parser(named if named and set(named) <= set(COMMANDS) else COMMANDS)
    inner = innermost(parser, arguments)
    check_options(inner, arguments)
    args = parser.parse_args(arguments)
    name = f"onegrad {args.command}"

    def showwarning(message: Warning | str, category: type[Warning], *_: Any) -> None:
        if issubclass(category, AssumptionWarning):  # the user's business; others are ours
            note(name, str(message))

    with warnings.catch_warnings():
        warnings.simplefilter("once", AssumptionWarning)
        warnings.showwarning = showwarning  # type: ignore[assignment]
        return _run(args, name, RENAMED | spelt(inner))


def whole_parser(commands: Sequence[str] = COMMANDS) -> Parser:
    """The parser of the program, with the parsers of these commands."""
    parser = Parser(
        prog="onegrad",
        description="What one gradient step learns: theory, simulation, experiments, estimators.",
        epilog="example: onegrad predict --n 1000 --d 500 --N 667 --alpha 0:0.5:11",
    )
    parser.add_argument("--version", action="version", version=f"onegrad {__version__}")
    subparsers = parser.add_subparsers(dest="command", metavar="command", required=True)
    for command in commands:
        importlib.import_module(f"onegrad.cli.{command}").add_parser(subparsers)
    return parser


def _run(args: argparse.Namespace, name: str, options: Mapping[str, str]) -> int:
    """The command's exit code, whatever it raises."""
    try:
        return int(importlib.import_module(f"onegrad.cli.{args.command}").run(args))
    except InvalidInput as error:
        print(error_line(name, _with_option(str(error), options)), file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"{name}: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the reader went away
        return 1
    except (OSError, MemoryError, NotConverged, ImportError, RuntimeError) as error:
        if os.environ.get("ONEGRAD_TRACEBACK"):
            raise
        line = printable(" ".join(str(error).split())) or type(error).__name__
        print(f"{name}: failed: {line}", file=sys.stderr)
        return 1


def _with_option(complaint: str, options: Mapping[str, str]) -> str:
    """A complaint that starts with an argument's name, starting with its option instead."""
    match = re.match(r"(\w+)(?=:? )(?: must | needs | is for | ')?", complaint)
    name = match[1] if match else ""
    if match is None or name not in options or (name not in FIELDS and match[0] == name):
        return complaint
    return options[name] + complaint[len(name) :]
