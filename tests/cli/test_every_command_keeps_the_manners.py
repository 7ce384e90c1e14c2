"""All commands: --help with an example, --json alone on standard output, bad input in one line.

A command that is added without a line in the tables here fails.
"""

import json
import re
import subprocess

import numpy as np
import pytest

import onegrad as og
from onegrad.cli import COMMANDS, main
from programs import ONEGRAD

SIZES = ["--n", "60", "--d", "30", "--N", "40"]
SPEC = """
[problem]
n = 60
d = 30
N = 40

[[grid]]
measure = "theory"
options.theory = "random-features"
"""

GOOD = {
    "predict": [*SIZES, "--theory", "random-features"],
    "simulate": [*SIZES, "--seeds", "2"],
    "compare": [*SIZES, "--alpha", "0.3", "--seeds", "2"],
    "optimum": [*SIZES, "--over", "ridge"],
    "spectrum": [*SIZES, "--eta", "3", "--simulate", "--seeds", "2"],
    "reproduce": ["--list"],
    "sweep": ["run", "grid.toml"],
    "fit": ["rows.npz", "--target", "y", "--width", "10", "--out", "made.model", "--no-card"],
    "apply": ["y.model", "rows.npz", "--out", "p.csv"],
    "show": ["y.model"],
    "explore": None,  # serves until it is stopped: test_explore_serves_the_page.py
    "exponents": ["H3", "relu"],
    "cite": [],
    "doctor": [],
    "completion": ["bash"],
}
BAD = {
    "predict": (["--n", "-5", "--d", "30", "--N", "40"], "--n must be"),
    "simulate": ([*SIZES, "--dtype", "float16"], "--dtype must be"),
    "compare": ([*SIZES, "--seeds", "few"], "--seeds must be"),
    "optimum": ([*SIZES, "--over", "beta"], "--over must be one of"),
    "spectrum": ([*SIZES, "--alpha", "0.1,0.2"], "--alpha must be one number"),
    "reproduce": (["figure9"], "figure9"),
    "sweep": (["run", "nowhere.toml"], "nowhere.toml"),
    "fit": (["nowhere.csv", "--target", "y", "--out", "m"], "no such file"),
    "apply": (["y.model", "rows.npz", "--out", "p.doc"], "--out must be a file that ends in"),
    "show": (["nowhere.model"], "no such file"),
    "explore": (["--port", "eighty"], "--port must be"),
    "exponents": (["H3 +"], "teacher 'H3 +': a term is missing"),
    "cite": (["--bibtex"], "--bibtex"),
    "doctor": (["me"], "me"),
    "completion": (["ksh"], "bash, zsh, fish"),
}


@pytest.fixture
def folder(tmp_path, monkeypatch, request):
    """Where the commands' files are; the model is made only for those that read one."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LOKY_MAX_CPU_COUNT", "1")  # in this process
    (tmp_path / "grid.toml").write_text(SPEC)
    X = np.random.default_rng(0).standard_normal((50, 3))
    np.savez(tmp_path / "rows.npz", X=X, y=X[:, 0])
    if {"apply", "show"} & set(re.split(r"\W", request.node.name)):
        command = "fit rows.npz --target y --width 10 --estimator one-step --out y.model --json"
        assert main([*command.split(), "--no-card"]) == 0
        request.getfixturevalue("capsys").readouterr()
    return tmp_path


def code_of(*arguments):
    """The exit code, whether it is returned or raised by the parser."""
    try:
        return main(list(arguments))
    except SystemExit as exit_:
        return exit_.code


def test_no_command_is_missing_here():
    assert set(GOOD) == set(BAD) == set(COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_an_example(command, capsys):
    assert code_of(command, "--help") == 0
    assert f"onegrad {command}" in capsys.readouterr().out.split("example", 1)[1]


@pytest.mark.parametrize("command", [name for name, options in GOOD.items() if options is not None])
def test_json_is_one_object_and_nothing_else(command, folder, capsys):
    assert code_of(command, *GOOD[command], "--json") == 0
    out, err = capsys.readouterr()
    assert out.count("\n") == 1 and isinstance(json.loads(out), dict)
    assert "{" not in err


@pytest.mark.parametrize("command", [name for name, options in GOOD.items() if options is not None])
def test_without_json_it_speaks_in_words(command, folder, capsys):
    assert code_of(command, *GOOD[command]) == 0
    out = capsys.readouterr().out
    assert out.strip() and not out.startswith("{")


@pytest.mark.parametrize("command", COMMANDS)
def test_bad_input_is_one_line_and_exit_2(command, folder, capsys):
    options, words = BAD[command]
    assert code_of(command, *options) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1
    assert err.startswith(f"onegrad {command}: error: ") or err.startswith("onegrad: error: ")
    assert words in err


def test_the_module_is_the_program():
    said = subprocess.run(
        [*ONEGRAD, "--version"], capture_output=True, text=True, check=True
    ).stdout
    assert said == f"onegrad {og.__version__}\n"
