"""argparse with manners: complaints are one line, name what was meant, and know a number.

What argparse keeps to itself (the options of a parser, its commands) is asked for here only.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NoReturn

from onegrad.cli.output import error_line
from onegrad.exceptions import did_you_mean

# -0.2:0.5:8, -.5, -H2 and -(H1 + H2) are values; no option of ours looks like that
VALUE = re.compile(r"-(?:[\d.(]|[Hh]\d)")


class Parser(argparse.ArgumentParser):
    """argparse whose complaints are one line that starts with what was probably meant."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._negative_number_matcher = VALUE

    def error(self, message: str) -> NoReturn:
        self.exit(2, error_line(self.prog, f"{message} (see {self.prog} --help)") + "\n")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is None or value in action.choices:
            return
        allowed = [str(choice) for choice in action.choices]
        hint = did_you_mean(str(value), allowed)
        said = f"{value!r:.60} is not one of {', '.join(allowed)}"
        raise argparse.ArgumentError(action, f"{hint} {said}" if hint else said)


def commands(parser: argparse.ArgumentParser) -> Mapping[str, argparse.ArgumentParser]:
    """The parsers of a parser's commands, by name."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return action.choices
    return {}


def options(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    """What may be given with a dash, in order."""
    return [action for action in parser._actions if action.option_strings]


def positionals(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    """What is given without a dash, commands left out."""
    subparsers = argparse._SubParsersAction
    found = (a for a in parser._actions if not a.option_strings)
    return [action for action in found if not isinstance(action, subparsers)]


def summaries(parser: argparse.ArgumentParser) -> dict[str, str]:
    """What the commands of a parser are said to do."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return {choice.dest: choice.help or "" for choice in action._choices_actions}
    return {}


def innermost(parser: argparse.ArgumentParser, words: Sequence[str]) -> argparse.ArgumentParser:
    """The parser of the command that the words name, or of the command within it."""
    for word in words:
        if not word.startswith("-") and word in commands(parser):
            parser = commands(parser)[word]
    return parser


def check_options(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:
    """Complain of an option that is nearly one: before argparse misses what it stands for."""
    known = [name for action in options(parser) for name in action.option_strings]
    for word in _options_in(words):
        if any(name.startswith(word) for name in known):
            continue
        if hint := did_you_mean(word, known):
            parser.error(f"{hint} {word!r:.60} is not an option")


def _options_in(words: Sequence[str]) -> Iterator[str]:
    for word in words:
        if word == "--":
            return
        if word.startswith("--"):
            yield word.partition("=")[0]


def spelt(parser: argparse.ArgumentParser) -> dict[str, str]:
    """How the options of a parser are spelt, by the name of what they set."""
    return {action.dest: action.option_strings[-1] for action in options(parser)}
