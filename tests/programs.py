"""Python and the command line in processes of their own."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from onegrad.cli import main

ONEGRAD = [sys.executable, "-m", "onegrad"]
PACKAGE = Path(__file__).parents[1] / "src" / "onegrad"
LAST_FIELD = "    # fmt: on\n"  # after which a field of Problem is added


def run_python(script: str, *arguments: object, **options: Any) -> str:
    """Return what a script prints; a script that fails is an error."""
    command = [sys.executable, "-c", script, *map(str, arguments)]
    run = subprocess.run(command, capture_output=True, text=True, **options)
    assert run.returncode == 0, run.stderr
    return run.stdout


def json_of(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> Any:
    """Return what a command of ours, run in this process, prints as JSON."""
    assert main([*arguments, "--json"]) == code
    return json.loads(capsys.readouterr().out)


def complaint(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """Return the one line with which a command, run in this process, refuses its arguments."""
    try:
        code: Any = main(list(arguments))
    except SystemExit as exit_:  # of the parser
        code = exit_.code
    out, err = capsys.readouterr()
    assert (code, out, err.count("\n")) == (2, "", 1), (arguments, code, out, err)
    return err


def run_with_field(folder: Path, lines: str, script: str) -> str:
    """Return what a script prints with a copy of the package whose Problem has one more field."""
    shutil.copytree(PACKAGE, folder / "onegrad")
    source = folder / "onegrad" / "problem" / "definition.py"
    text = source.read_text(encoding="utf-8")
    assert text.count(LAST_FIELD) == 1
    source.write_text(text.replace(LAST_FIELD, lines), encoding="utf-8")
    return run_python(script, env={**os.environ, "PYTHONPATH": str(folder)})
