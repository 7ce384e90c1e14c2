"""The command line: parse, call, print. One file per command.

Exit codes: 0 success, 2 bad input, 1 failure, 130 interrupted. Bad input is one line on standard
error that names the option, the value and what is allowed.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import warnings
from collections.abc import Sequence
from typing import Any, NoReturn

from onegrad import __version__
from onegrad.errors import AssumptionWarning, InvalidInput, NotConverged, printable, subject
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
)


class Parser(argparse.ArgumentParser):
    """argparse whose complaints are one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: error: {printable(message)} (see {self.prog} --help)\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    parser = Parser(
        prog="onegrad",
        description="What one gradient step learns: theory, simulation, experiments, estimators.",
        epilog="example: onegrad predict --n 1000 --d 500 --N 667 --alpha 0:0.5:11",
    )
    parser.add_argument("--version", action="version", version=f"onegrad {__version__}")
    subparsers = parser.add_subparsers(dest="command", metavar="command", required=True)
    named = [a for a in arguments if not a.startswith("-")][:1]
    for command in named if set(named) <= set(COMMANDS) and named else COMMANDS:
        importlib.import_module(f"onegrad.cli.{command}").add_parser(subparsers)
    args = parser.parse_args(arguments)
    name = f"onegrad {args.command}"

    def note(message: Warning | str, category: type[Warning], *_: Any) -> None:
        if issubclass(category, AssumptionWarning):  # the user's business; others are ours
            print(f"{name}: note: {message}", file=sys.stderr)

    with warnings.catch_warnings():
        warnings.simplefilter("once", AssumptionWarning)
        warnings.showwarning = note  # type: ignore[assignment]
        return _run(args, name)


def _run(args: argparse.Namespace, name: str) -> int:
    """The command's exit code, whatever it raises."""
    try:
        return int(importlib.import_module(f"onegrad.cli.{args.command}").run(args))
    except InvalidInput as error:
        print(f"{name}: error: {_with_option(error)}", file=sys.stderr)
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


def _with_option(error: InvalidInput) -> str:
    """A complaint that starts with a field's name, starting with its option instead."""
    name = subject(error)
    return f"{FIELDS[name].option}{str(error)[len(name) :]}" if name in FIELDS else str(error)
