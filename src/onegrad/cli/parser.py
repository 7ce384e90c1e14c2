"""argparse whose messages are one line, suggest what was meant, and which knows a negative number.

Everything that argparse keeps private (the options of a parser, its commands) is read here only.
"""

import argparse
import re
import sys
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from onegrad.cli.output import error_line
from onegrad.exceptions import closest

# -0.2:0.5:8, -.5, -H2 and -(H1 + H2) are values; no option of ours looks like that
NEGATIVE_VALUE = re.compile(r"-(?:[\d.(]|[Hh]\d)")
OPTION = re.compile(r"--?[A-Za-z_-]+")


class Parser(argparse.ArgumentParser):
    """argparse whose messages are one line that starts with what was probably meant."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._negative_number_matcher = NEGATIVE_VALUE

    def error(self, message: str) -> NoReturn:
        self.exit(2, error_line(self.prog, f"{message} (see {self.prog} --help)") + "\n")

    def _print_message(self, message: str, file: Any = None) -> None:
        """Write help or an error; argparse would pass over a full disk in silence."""
        (file or sys.stderr).write(message or "")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is None or value in action.choices:
            return
        choices = [str(choice) for choice in action.choices]
        near = closest(str(value), choices)
        meant = f"did you mean {near}? " if near else ""
        message = f"{meant}{value!r:.60} is not one of {', '.join(choices)}"
        raise argparse.ArgumentError(action, message)


def subcommands(parser: argparse.ArgumentParser) -> Mapping[str, argparse.ArgumentParser]:
    """Return the parsers of a parser's commands, by name."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return action.choices
    return {}


def group_commands(parser: argparse.ArgumentParser, groups: Mapping[str, Sequence[str]]) -> None:
    """List the commands of a parser in groups in its help."""
    for action in [a for a in parser._actions if isinstance(a, argparse._SubParsersAction)]:
        listed = {choice.dest: choice for choice in action._choices_actions}
        action._choices_actions, action.help = [], argparse.SUPPRESS
        for title, names in groups.items():
            section = parser.add_argument_group(f"{title} commands")
            for name in [name for name in names if name in listed]:
                section._group_actions.append(listed.pop(name))


def arguments_of(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    """Return all arguments of a parser; the choice of a command is one of them."""
    return parser._actions


def options_of(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    """Return the arguments of a parser that start with a dash."""
    return [action for action in arguments_of(parser) if action.option_strings]


def innermost_parser(
    parser: argparse.ArgumentParser, words: Sequence[str]
) -> argparse.ArgumentParser:
    """Return the parser of the command that the words name, or of the command within it."""
    for word in words:
        if not word.startswith("-"):
            parser = subcommands(parser).get(word, parser)
    return parser


def check_options(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:
    """Report a misspelt option, such as -n, before argparse misses the one that it stands for."""
    spellings = [name for action in options_of(parser) for name in action.option_strings]
    names = {spelling.lstrip("-"): spelling for spelling in spellings}
    before_rest = words[: words.index("--")] if "--" in words else words
    for word in before_rest:
        name = word.partition("=")[0]
        if not OPTION.fullmatch(name) or any(spelling.startswith(name) for spelling in spellings):
            continue
        bare = name.lstrip("-")
        if near := bare if bare in names else closest(bare, names):
            parser.error(f"did you mean {names[near]}? {name!r:.60} is not an option")
