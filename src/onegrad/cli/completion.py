"""onegrad completion: what a shell needs to complete commands, options and their values.

The script is written from the parser, once; the shell asks no Python afterwards.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from onegrad.cli.options import add_json_option
from onegrad.cli.output import print_json
from onegrad.cli.parser import commands, options, positionals, summaries
from onegrad.cli.shells import bash, fish, zsh
from onegrad.problem import FIELDS

EXAMPLE = """examples:
  source <(onegrad completion bash)                     # in ~/.bashrc
  onegrad completion zsh > ~/.zfunc/_onegrad            # a folder of $fpath
  onegrad completion fish > ~/.config/fish/completions/onegrad.fish"""
FILES = ("FILE", "DIR", "DATA", "MODEL", "SPEC.toml")  # metavars of paths
SHELLS: dict[str, Callable[[list[Any]], str]] = {"bash": bash, "zsh": zsh, "fish": fish}


@dataclass(frozen=True)
class Choice:
    """An option or a positional argument: how it is spelt, and what may follow."""

    names: tuple[str, ...]
    summary: str
    takes: bool  # whether a value follows
    values: tuple[str, ...] = ()
    file: bool = False


@dataclass(frozen=True)
class Command:
    """A command by its words, such as ("sweep", "run"), and what it takes."""

    words: tuple[str, ...]
    summary: str
    options: tuple[Choice, ...]
    positional: Choice | None
    inner: tuple[str, ...] = ()


def add_parser(subparsers: Any) -> None:
    parser = subparsers.add_parser(
        "completion",
        help="a script by which a shell completes commands and options",
        description="Print what bash, zsh or fish needs to complete commands, options and names.",
        epilog=EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("shell", type=str.lower, choices=tuple(SHELLS), help="whose script")
    add_json_option(parser)


def run(args: argparse.Namespace) -> int:
    from onegrad.cli import whole_parser

    script = SHELLS[args.shell](described(whole_parser()))
    if args.json:
        print_json({"shell": args.shell, "script": script})
    else:
        print(script, end="")
    return 0


def described(parser: argparse.ArgumentParser) -> list[Command]:
    """The program itself, its commands, and the commands within those."""
    names = _names()

    def walk(parser: argparse.ArgumentParser, words: tuple[str, ...], about: str) -> list[Command]:
        inner = commands(parser)
        given = next(iter(positionals(parser)), None)
        here = Command(
            words,
            about,
            tuple(_choice(action, names) for action in options(parser)),
            None if given is None else _choice(given, names),
            tuple(inner),
        )
        said = summaries(parser)
        below = (walk(one, (*words, name), said[name]) for name, one in inner.items())
        return [here, *(command for found in below for command in found)]

    return walk(parser, (), "")


def _choice(action: argparse.Action, names: dict[str, tuple[str, ...]]) -> Choice:
    values = tuple(map(str, action.choices or names.get(action.dest, ())))
    summary = (action.help or "").replace("%%", "%")
    is_file = action.metavar in FILES
    return Choice(tuple(action.option_strings), summary, action.nargs != 0, values, is_file)


def _names() -> dict[str, tuple[str, ...]]:
    """Words worth a try, by what they are given for; none of them holds a blank."""
    from onegrad.networks.plan import MODELS
    from onegrad.studies import gallery
    from onegrad.theory.dispatch import THEORIES

    fields = {name: (*field.choices, *field.laws) for name, field in FIELDS.items()}
    more = {
        "theory": tuple(THEORIES),
        "model": tuple(MODELS),
        "figures": (*gallery.groups(), *gallery.files()),
        "device": ("cpu", "torch", "cuda"),
        "dtype": ("float64", "float32"),
        "random": ("host", "device"),
    }
    found = (fields | more).items()
    return {name: tuple(v for v in values if " " not in v) for name, values in found}
