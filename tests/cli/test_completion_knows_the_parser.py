"""`onegrad completion`: what the shells offer is what the parser takes."""

import shutil
import subprocess

import pytest

from onegrad.cli import COMMANDS, main, whole_parser
from onegrad.cli.parser import commands, options

QUESTIONS = [
    ("onegrad pre", ["predict"]),
    ("onegrad co", ["completion"]),
    ("onegrad predict --activation so", ["softplus"]),
    ("onegrad predict --n 60 --theory sta", ["staircase"]),
    ("onegrad sweep ex", ["export"]),
    ("onegrad sweep run --wo", ["--workers"]),
    ("onegrad reproduce ba-figure3", ["ba-figure3a", "ba-figure3b", "ba-figure3c"]),
    ("onegrad fit d.csv --task cl", ["classification"]),
    ("onegrad completion z", ["zsh"]),
    ("onegrad simulate --seeds ", []),
]


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


def bash_offers(script, line, folder):
    """What bash's own completion would offer at the end of a line."""
    words = line.split(" ")
    asked = f"""source {script}
COMP_WORDS=({" ".join(f"'{word}'" for word in words)}); COMP_CWORD={len(words) - 1}
compopt() {{ :; }}
_onegrad; printf '%s\\n' "${{COMPREPLY[@]}}"
"""
    done = subprocess.run(
        ["bash", "--norc", "-c", asked], capture_output=True, text=True, check=True, cwd=folder
    )
    assert done.stderr == ""
    return done.stdout.split()


def fish_offers(script, line, folder):
    asked = f"source {script}; complete -C {line!r}"
    done = subprocess.run(
        ["fish", "--no-config", "-c", asked],
        capture_output=True, text=True, check=True, cwd=folder,
    )  # fmt: skip
    return [said.split("\t")[0] for said in done.stdout.splitlines()]


def needs(shell):
    return pytest.mark.skipif(shutil.which(shell) is None, reason=f"{shell} is not installed")


@needs("bash")
@pytest.mark.parametrize(("line", "offered"), QUESTIONS)
def test_bash_offers(line, offered, scripts, tmp_path):
    assert bash_offers(scripts / "bash", line, tmp_path) == offered


@needs("bash")
def test_bash_offers_every_command_and_every_option(scripts, tmp_path):
    assert set(bash_offers(scripts / "bash", "onegrad ", tmp_path)) == set(COMMANDS)
    for name, parser in commands(whole_parser()).items():
        expected = {spelt for action in options(parser) for spelt in action.option_strings}
        assert set(bash_offers(scripts / "bash", f"onegrad {name} -", tmp_path)) == expected


@needs("bash")
def test_bash_offers_files_where_a_path_is_due(scripts, tmp_path):
    (tmp_path / "price.model").touch()
    for line in ("onegrad apply pr", "onegrad fit d.csv --out pr", "onegrad sweep run pr"):
        assert bash_offers(scripts / "bash", line, tmp_path) == ["price.model"]


@needs("fish")
@pytest.mark.parametrize(("line", "offered"), QUESTIONS)
def test_fish_offers(line, offered, scripts, tmp_path):
    assert fish_offers(scripts / "fish", line, tmp_path) == offered


@needs("zsh")
def test_zsh_reads_its_script(scripts):
    subprocess.run(["zsh", "-f", "-n", scripts / "zsh"], check=True)


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_the_other_shells_know_the_same_words(shell, scripts):
    text = (scripts / shell).read_text()
    for name, parser in commands(whole_parser()).items():
        assert name in text
        for action in options(parser):
            long = action.option_strings[-1]
            assert (long if shell == "zsh" else f"-l {long[2:]}") in text
