"""onegrad completion: a script by which a shell completes commands, options and their values."""

import argparse
from typing import Any

import shtab

from onegrad.cli.options import add_command
from onegrad.cli.output import print_json
from onegrad.cli.parser import arguments_of, subcommands
from onegrad.problem import FIELDS

_EXAMPLES = (
    "source <(onegrad completion bash)                     # in ~/.bashrc",
    'eval "$(onegrad completion zsh)"                      # in ~/.zshrc, after compinit',
    "onegrad completion fish > ~/.config/fish/completions/onegrad.fish",
)
SHELLS = ("bash", "zsh", "fish")
FILES = ("FILE", "DATA", "MODEL", "SPEC.toml")  # how help calls arguments that are files


def add_parser(subparsers: Any) -> None:
    """Add `onegrad completion`."""
    summary = "shell completion of commands and options"
    description = "Print the script with which bash, zsh or fish completes commands and options."
    parser = add_command(subparsers, "completion", summary, description, *_EXAMPLES)
    parser.add_argument("shell", type=str.lower, choices=SHELLS, help="the shell")


def run(args: argparse.Namespace) -> None:
    """Print the script of a shell."""
    from onegrad.cli import build_parser

    parser = build_parser()
    _add_values(parser, _names_by_argument())
    script = shtab.complete(parser, args.shell)
    if args.json:
        print_json({"shell": args.shell, "script": script})
    else:
        print(script)


def _add_values(parser: argparse.ArgumentParser, names: dict[str, list[str]]) -> None:
    """Give the arguments the names and files that a shell may offer; parsing is not the purpose."""
    for action in arguments_of(parser):
        # bash splits words at blanks, so that a formula cannot be offered
        if words := [word for word in names.get(action.dest, []) if " " not in word]:
            action.choices = words
        elif action.metavar in (*FILES, "DIR"):
            place = shtab.FILE if action.metavar in FILES else shtab.DIRECTORY
            action.complete = place  # type: ignore[attr-defined]
    for inner in subcommands(parser).values():
        _add_values(inner, names)


def _names_by_argument() -> dict[str, list[str]]:
    """Return names worth offering, by the argument that takes them."""
    from onegrad.arrays import PRECISIONS
    from onegrad.networks.plan import MODELS
    from onegrad.studies import gallery
    from onegrad.tables import FAMILIES
    from onegrad.theory import THEORIES

    return {name: [*field.choices, *field.laws] for name, field in FIELDS.items()} | {
        "theory": list(THEORIES),
        "model": list(MODELS),
        "estimator": list(FAMILIES),
        "figures": [*gallery.groups(), *gallery.files()],
        "device": ["cpu", "torch", "cuda"],
        "dtype": ["float64", "float32"],
        "precision": list(PRECISIONS),
        "random": ["host", "device"],
    }
