"""`onegrad completion`: what the shells offer is what the parser takes."""

import shutil
import subprocess

import pytest

from onegrad.cli import COMMANDS, build_parser, main
from onegrad.cli.parser import options_of, subcommands

QUESTIONS = [
    ("onegrad pre", ["predict"]),
    ("onegrad comp", ["compare", "completion"]),
    ("onegrad predict --activation so", ["softplus"]),
    ("onegrad predict --n 60 --theory sta", ["staircase"]),
    ("onegrad simulate --json --dev", ["--device"]),
    ("onegrad sweep ex", ["export"]),
    ("onegrad sweep run --wo", ["--workers"]),
    ("onegrad reproduce ba-figure3", ["ba-figure3a", "ba-figure3b", "ba-figure3c"]),
    ("onegrad fit d.csv --task cl", ["classification"]),
    ("onegrad completion z", ["zsh"]),
]
# zsh runs bash's function: these are the arrays that its bashcompinit prepares
ZSH_AS_BASH = """autoload() { :; }; bashcompinit() { :; }; complete() { :; }
emulate sh; setopt ksharrays
compgen() { local word; for word in ${=2}; do [[ $word == $4* ]] && echo $word; done; true; }
"""


@pytest.fixture(scope="module")
def scripts(tmp_path_factory):
    """The script of each shell, as a file."""
    folder = tmp_path_factory.mktemp("scripts")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("builtins.print", lambda text, end: texts.append(text))
        for shell in ("bash", "zsh", "fish"):
            texts: list[str] = []
            assert main(["completion", shell]) == 0
            (folder / shell).write_text(texts[0])
    return folder


def offers(shell, script, line, folder):
    """Return the words that a shell's own completion would offer at the end of a line."""
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    words = line.split(" ")
    command = {"bash": ["bash", "--norc"], "zsh": ["zsh", "-f"], "fish": ["fish", "--no-config"]}
    question = f"""{ZSH_AS_BASH if shell == "zsh" else ""}
source {script}
COMP_WORDS=({" ".join(f"'{word}'" for word in words)}); COMP_CWORD={len(words) - 1}
_onegrad; printf '%s\\n' "${{COMPREPLY[@]}}"
"""
    if shell == "fish":
        question = f"source {script}; complete -C {line!r}"
    done = subprocess.run(
        [*command[shell], "-c", question], capture_output=True, text=True, check=True, cwd=folder
    )
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
@pytest.mark.parametrize(("line", "offered"), QUESTIONS)
def test_a_shell_offers(shell, line, offered, scripts, tmp_path):
    assert offers(shell, scripts / shell, line, tmp_path) == offered


@pytest.mark.parametrize("shell", ["bash", "fish"])
def test_every_command_and_every_option_is_offered(shell, scripts, tmp_path):
    assert set(offers(shell, scripts / shell, "onegrad ", tmp_path)) == set(COMMANDS)
    for name, parser in subcommands(build_parser()).items():
        expected = {option for action in options_of(parser) for option in action.option_strings}
        assert set(offers(shell, scripts / shell, f"onegrad {name} -", tmp_path)) == expected


@pytest.mark.parametrize("line", ["apply pr", "fit d.csv --out pr", "sweep run pr"])
def test_files_are_offered_where_no_word_is_known(line, scripts, tmp_path):
    (tmp_path / "price.model").touch()
    assert offers("bash", scripts / "bash", f"onegrad {line}", tmp_path) == []
    assert "complete -o default -F _onegrad onegrad" in (scripts / "bash").read_text()
    assert offers("fish", scripts / "fish", f"onegrad {line}", tmp_path) == ["price.model"]
