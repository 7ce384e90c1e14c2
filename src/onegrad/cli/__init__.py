"""The command line: parse, call, print. One file per command.

Exit codes: 0 success, 2 bad input, 1 failure, 130 interrupted. Bad input is one line on standard
error that names the option, the value and what is allowed.
"""

import importlib
import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from onegrad import __version__
from onegrad.cli.output import error_line, print_note
from onegrad.cli.parser import Parser, check_options, group_commands, innermost_parser, options_of
from onegrad.exceptions import AssumptionWarning, InvalidInput, NotConverged, printable

EVERYDAY_COMMANDS = (
    "predict", "simulate", "compare", "spectrum", "fit", "apply", "explore",
)  # fmt: skip
MORE_COMMANDS = (
    "optimum", "exponents", "reproduce", "sweep", "show", "cite", "doctor", "completion",
)  # fmt: skip
COMMANDS = EVERYDAY_COMMANDS + MORE_COMMANDS
# arguments of the library whose options have other names
RENAMED_OPTIONS = {
    "random_state": "--seed",
    "n_jobs": "--workers",
    "categorical_features": "--categorical",
    "coverage": "--interval",
    "memory_limit": "--memory",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    if words[:1] == ["help"]:
        words = [*words[1:], "--help"]
    first = next((word for word in words if not word.startswith("-")), None)
    # only the command that is run is imported: most load NumPy and SciPy, fit loads Arrow, too
    parser = build_parser([first] if first in COMMANDS else COMMANDS)
    group_commands(parser, {"everyday": EVERYDAY_COMMANDS, "more": MORE_COMMANDS})
    command_parser, program = innermost_parser(parser, words), "onegrad"
    try:
        if not words:
            parser.print_help()
            return 0
        check_options(command_parser, words)
        args = parser.parse_args(words)
        program = f"onegrad {args.command}"
        with _warnings_as_notes(program):
            run = importlib.import_module(f"onegrad.cli.{args.command}").run
            return int(run(args) or 0)
    except InvalidInput as error:
        options = {action.dest: action.option_strings[-1] for action in options_of(command_parser)}
        name = (RENAMED_OPTIONS | options).get(error.argument, error.argument)
        print(error_line(program, error.describe(name)), file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"{program}: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the reader went away
        return 1
    except (OSError, MemoryError, NotConverged, ImportError, RuntimeError) as error:
        if os.environ.get("ONEGRAD_TRACEBACK"):
            raise
        line = printable(" ".join(str(error).split())) or type(error).__name__
        print(f"{program}: failed: {line}", file=sys.stderr)
        return 1


def build_parser(commands: Sequence[str] = COMMANDS) -> Parser:
    """Return the parser of the program, with the parsers of these commands."""
    parser = Parser(
        prog="onegrad",
        description="What a network learns in one gradient step: theory, simulation, estimators.",
        epilog="example: onegrad predict --alpha 0:0.5:11",
    )
    parser.add_argument("--version", action="version", version=f"onegrad {__version__}")
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    parser.usage = "onegrad COMMAND [--help] ..."
    for command in commands:
        importlib.import_module(f"onegrad.cli.{command}").add_parser(subparsers)
    return parser


@contextmanager
def _warnings_as_notes(program: str) -> Iterator[None]:
    """Print assumption warnings as notes, each once, and hide those that are ours to fix."""

    def show(message: Warning | str, category: type[Warning], *_: Any) -> None:
        if issubclass(category, AssumptionWarning):
            print_note(program, str(message))

    with warnings.catch_warnings():
        warnings.simplefilter("once", AssumptionWarning)
        warnings.showwarning = show  # type: ignore[assignment]
        yield
