"""All commands: --json alone on standard output, and without it words.

A command that is added without a line in the table here fails; bad input has a table of its own.
"""

import json
import subprocess

import pytest
from soak.outputs import make_inputs

import onegrad as og
from onegrad.cli import COMMANDS, main
from programs import ONEGRAD

SIZES = "--n 60 --d 30 --N 40"
QUICK = "--n 600 --d 300 --N 400 --activation tanh --teacher H1"  # in theory
GOOD = {
    "predict": f"{SIZES} --theory random-features",
    "simulate": f"{SIZES} --seeds 2",
    "compare": f"{QUICK} --eta 0 --seeds 2",
    "optimum": f"{QUICK} --eta 0 --over ridge",
    "spectrum": f"{QUICK} --eta 0 --simulate --seeds 2",
    "reproduce": "--list",
    "sweep": "run grid.toml",
    "fit": "rows.npz --target y --estimator one-step --width 10 --no-card --force --out y.model",
    "apply": "y.model rows.npz --out p.csv --force",
    "show": "y.model",
    "explore": None,  # serves until it is stopped: test_ctrl_c_is_one_line_at_every_moment.py
    "exponents": "H3 relu",
    "cite": "",
    "doctor": "",
    "completion": "bash",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where the commands' files are."""
    here = tmp_path_factory.mktemp("manners")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(here)
        patch.setenv("LOKY_MAX_CPU_COUNT", "1")  # in this process
        make_inputs(here)
        yield here


def test_no_command_is_missing_here():
    assert set(GOOD) == set(COMMANDS)


@pytest.mark.parametrize("command", [name for name, words in GOOD.items() if words is not None])
def test_json_is_one_object_and_nothing_else_and_without_it_are_words(command, folder, capsys):
    capsys.readouterr()
    assert main([command, *GOOD[command].split(), "--json"]) == 0
    out, err = capsys.readouterr()
    assert out.count("\n") == 1 and isinstance(json.loads(out), dict)
    assert "{" not in err
    assert main([command, *GOOD[command].split()]) == 0
    out = capsys.readouterr().out
    assert out.strip() and not out.startswith("{")


@pytest.mark.full
def test_the_module_is_the_program():
    run = subprocess.run([*ONEGRAD, "--version"], capture_output=True, text=True, check=True)
    assert run.stdout == f"onegrad {og.__version__}\n"
