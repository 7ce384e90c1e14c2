"""onegrad completion: a script by which a shell completes commands, options and their values.

The script is written from the parser, once, so the shell need not start Python for every key. It
is a table from the words before the cursor to the words that may follow; where the table says
nothing, the shell offers files.
"""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterator
from typing import Any

from onegrad.cli.options import add_command
from onegrad.cli.output import print_json
from onegrad.cli.parser import options_of, positionals_of, subcommands
from onegrad.problem import FIELDS

_EXAMPLES = (
    "source <(onegrad completion bash)                     # in ~/.bashrc",
    "source <(onegrad completion zsh)                      # in ~/.zshrc, after compinit",
    "onegrad completion fish > ~/.config/fish/completions/onegrad.fish",
)
BASH = """_onegrad_words() {
    case "$1" in
%s
        *) return 1 ;;
    esac
}
_onegrad() {
    local current="${COMP_WORDS[COMP_CWORD]}" previous="" command="onegrad" word
    for word in "${COMP_WORDS[@]:1:$((COMP_CWORD - 1))}"; do
        previous="$word"
        [[ $word != -* ]] && _onegrad_words "$command $word" >/dev/null && command="$command $word"
    done
    [[ $current == -* ]] && command="$command -"
    word="$(_onegrad_words "${command%% -} $previous" || _onegrad_words "$command")"
    COMPREPLY=($(compgen -W "$word" -- "$current"))
}
complete -o default -F _onegrad onegrad
"""
ZSH = "autoload -U +X bashcompinit && bashcompinit\n" + BASH
FISH = """function __onegrad_words
    switch "$argv"
%s
        case '*'
            return 1
    end
end
function __onegrad
    set -l command onegrad
    set -l previous
    for word in (commandline -opc)[2..-1]
        set previous $word
        if not string match -q -- '-*' $word; and __onegrad_words "$command $word" >/dev/null
            set command "$command $word"
        end
    end
    __onegrad_words "$command $previous"; and return
    string match -q -- '-*' (commandline -ct); and set command "$command -"
    __onegrad_words "$command"
end
complete -c onegrad -f -a '(__onegrad)'
complete -c onegrad -n 'not __onegrad | string match -q "?*"' -F
"""
SHELLS = {"bash": BASH, "zsh": ZSH, "fish": FISH}
CASES = {
    "bash": "{pattern}) echo {words} ;;",
    "fish": "case {pattern}; string split -n ' ' -- {words}; true",
}


def add_parser(subparsers: Any) -> None:
    """Add `onegrad completion`."""
    summary = "shell completion of commands and options"
    description = "Print the script with which bash, zsh or fish completes commands and options."
    parser = add_command(subparsers, "completion", summary, description, *_EXAMPLES)
    parser.add_argument("shell", type=str.lower, choices=tuple(SHELLS), help="the shell")


def run(args: argparse.Namespace) -> int:
    """Print the script of a shell."""
    from onegrad.cli import build_parser

    case = CASES.get(args.shell, CASES["bash"])
    table = word_table(build_parser(), "onegrad", _names_by_argument())
    quoted = ((shlex.quote(before), shlex.quote(" ".join(words))) for before, words in table)
    lines = (case.format(pattern=before, words=words) for before, words in quoted)
    script = SHELLS[args.shell] % "\n".join(f"        {line}" for line in lines)
    if args.json:
        print_json({"shell": args.shell, "script": script})
    else:
        print(script, end="")
    return 0


def word_table(
    parser: argparse.ArgumentParser, command: str, names: dict[str, list[str]]
) -> Iterator[tuple[str, list[str]]]:
    """Yield the words so far with the words that may follow; `command -` stands for its options."""
    positional = [word for action in positionals_of(parser) for word in _words(action, names)]
    yield command, [*subcommands(parser), *positional]
    yield f"{command} -", [name for action in options_of(parser) for name in action.option_strings]
    for action in options_of(parser):
        if action.nargs != 0:
            for name in action.option_strings:
                yield f"{command} {name}", _words(action, names)
    for name, inner in subcommands(parser).items():
        yield from word_table(inner, f"{command} {name}", names)


def _words(action: argparse.Action, names: dict[str, list[str]]) -> list[str]:
    words = map(str, action.choices or names.get(action.dest, []))
    return [word for word in words if " " not in word]


def _names_by_argument() -> dict[str, list[str]]:
    """Return names worth offering, by the argument that takes them."""
    from onegrad.arrays import PRECISIONS
    from onegrad.networks.plan import MODELS
    from onegrad.studies import gallery
    from onegrad.theory import THEORIES

    return {name: [*field.choices, *field.laws] for name, field in FIELDS.items()} | {
        "theory": list(THEORIES),
        "model": list(MODELS),
        "figures": [*gallery.groups(), *gallery.files()],
        "device": ["cpu", "torch", "cuda"],
        "dtype": ["float64", "float32"],
        "precision": list(PRECISIONS),
        "random": ["host", "device"],
    }
