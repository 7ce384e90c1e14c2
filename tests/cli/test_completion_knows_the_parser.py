"""`onegrad completion`: what the shells offer is what the parser takes."""

import re
import shlex
import shutil
import subprocess

import pytest

from onegrad.cli import COMMANDS, build_parser, main
from onegrad.cli.completion import SHELLS
from onegrad.cli.parser import options_of, subcommands

OFFERED = {
    "onegrad pre": ["predict"],
    "onegrad comp": ["compare", "completion"],
    "onegrad predict --activation so": ["softplus"],
    "onegrad predict --weights sp": ["sphere"],
    "onegrad predict --n 60 --theory sta": ["staircase"],
    "onegrad simulate --json --dev": ["--device"],
    "onegrad sweep ex": ["export"],
    "onegrad sweep run --wo": ["--workers"],
    "onegrad reproduce ba-figure3": ["ba-figure3a", "ba-figure3b", "ba-figure3c"],
    "onegrad fit d.csv --task cl": ["classification"],
    "onegrad fit d.csv --estimator on": ["one-step"],
    "onegrad completion z": ["zsh"],
    "onegrad apply pri": ["price.model", "prices"],  # files and folders
    "onegrad fit d.csv --out price.": ["price.model"],
    "onegrad reproduce --out pr": ["prices"],  # a folder
    "onegrad sweep run --cluster pr": [],
}
BASH = """source ./script; compopt() { :; }
while read -r line; do
    COMP_WORDS=($line); COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
    _shtab_onegrad; echo "${COMPREPLY[@]}"
done"""
FISH = """source ./script
while read -l line; echo (complete -C $line | string replace -r '\\t.*' '' | string trim -rc /); end
"""


def script(shell, capsys):
    assert main(["completion", shell]) == 0
    return capsys.readouterr().out


def test_every_command_and_every_option_is_in_the_script(capsys):
    bash = script("bash", capsys)
    assert f"_shtab_onegrad_subparsers=({' '.join(COMMANDS)})" in bash
    others = [script(shell, capsys) for shell in SHELLS[1:]]
    for name, parser in subcommands(build_parser()).items():
        options = [option for action in options_of(parser) for option in action.option_strings]
        (line,) = re.findall(rf"^_shtab_onegrad_{name}_option_strings=\((.*)\)$", bash, re.M)
        assert shlex.split(line) == options
        for text in others:
            assert all(re.search(rf"\b{word.lstrip('-')}\b", text) for word in (name, *options))


@pytest.mark.full
@pytest.mark.parametrize(("shell", "loop"), [("bash --norc", BASH), ("fish --no-config", FISH)])
def test_a_shell_offers(shell, loop, capsys, tmp_path):
    name, flag = shell.split()
    if shutil.which(name) is None:
        pytest.skip(f"{name} is not installed")
    (tmp_path / "script").write_text(script(name, capsys), "utf-8")
    (tmp_path / "price.model").touch()
    (tmp_path / "prices").mkdir()
    done = subprocess.run(
        [name, flag, "-c", loop], input="\n".join(OFFERED) + "\n", capture_output=True, text=True,
        check=True, cwd=tmp_path,
    )  # fmt: skip
    assert done.stderr == ""
    answers = dict(zip(OFFERED, map(str.split, done.stdout.split("\n")), strict=False))
    assert {line: sorted(words) for line, words in answers.items()} == OFFERED
