"""Trace six numbers through the code: which functions are called, in which order.

    python docs/call_paths.py NUMBER    # every function that is called, in the order of first calls

The work runs in this process, on one core, so that the trace is complete. docs/architecture.md
lists the functions that make the number, decide something about it or hand it on;
tests/test_the_architecture_page_is_true.py compares its lists with traces.
"""

import contextlib
import csv
import io
import os
import re
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any
from unittest import mock

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "onegrad"
PAGE = ROOT / "docs" / "architecture.md"
STEP = re.compile(r"^\d+\. `([\w/.]+):([\w.]+)`", re.MULTILINE)

Place = tuple[str, str]  # file below src/onegrad, qualified name


def trace(work: Callable[[], object]) -> list[Place]:
    """Return the functions of the package that are called, in the order of first calls."""
    places: dict[Place, None] = {}
    prefix = str(SOURCE) + os.sep

    def look(frame: FrameType, *_: Any) -> None:  # nothing returned: no events but calls
        code = frame.f_code
        if code.co_filename.startswith(prefix) and "<" not in code.co_qualname:
            places[code.co_filename.removeprefix(prefix), code.co_qualname] = None

    threading.settrace(look)
    sys.settrace(look)
    try:
        work()
    finally:
        sys.settrace(None)
        threading.settrace(None)
    return list(places)


def command(*words: str) -> None:
    """Run one command of the command line."""
    from onegrad.cli import main

    assert main(words) == 0


def predict() -> None:
    """An error from theory."""
    command("predict", "--n", "300", "--d", "150", "--N", "200", "--alpha", "0.3")


def simulate() -> None:
    """A mean over networks: two step sizes, four seeds."""
    sizes = ("--n", "120", "--d", "60", "--N", "90")
    command("simulate", *sizes, "--alpha", "0.1,0.3", "--seeds", "4")


def fit() -> None:
    """A coefficient from a file of 300 rows."""
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        table, model = Path(folder) / "t.csv", Path(folder) / "m.model"
        with table.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([["a", "b", "y"], *rng.standard_normal((300, 3)).tolist()])
        options = ("--estimator", "one-step", "--width", "20", "--no-card")
        command("fit", str(table), "--target", "y", "--out", str(model), *options)


def reproduce(study: str) -> None:
    """A study of the gallery, its quick version."""
    with tempfile.TemporaryDirectory() as folder:
        command("reproduce", study, "--quick", "--seeds", "2", "--out", folder)


def slider() -> None:
    """One move of a slider, on the server's side."""
    from starlette.testclient import TestClient

    from onegrad.explorer.server import create_app

    with TestClient(create_app(), base_url="http://127.0.0.1") as client:
        answer = client.get("/api/instant?n=300&d=100&N=150&alpha=0.3")
        assert answer.status_code == 200, answer.text


CALL_PATHS: dict[str, Callable[[], object]] = {
    "predict": predict,
    "simulate": simulate,
    "fit": fit,
    "reproduce": lambda: reproduce("cui-maximal-step"),
    "open": lambda: reproduce("other-steps"),
    "slider": slider,
}


def follow(number: str) -> list[Place]:
    """Return the trace of a number on one core, its cells in the order of the grid."""
    with (
        mock.patch("random.shuffle"),
        mock.patch("onegrad.parallel.cores.core_count", return_value=1),
        mock.patch("onegrad.experiments.runner.core_count", return_value=1),
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(io.StringIO()),
    ):
        return trace(CALL_PATHS[number])


def in_fresh_process(number: str) -> list[Place]:
    """Return the trace of a number in a process of its own: caches are empty, as for a user."""
    run = [sys.executable, __file__, number]
    done = subprocess.run(run, capture_output=True, text=True, check=True)
    places = (line.partition(":") for line in done.stdout.splitlines())
    return [(file, function) for file, _, function in places]


def listed(page: str) -> dict[str, list[Place]]:
    """Return the numbers that the page follows, with the functions that it lists."""
    sections = (section.partition(":") for section in page.split("\n### ")[1:])
    return {name.lower(): STEP.findall(steps) for name, _, steps in sections}


if __name__ == "__main__":
    for file, function in follow(sys.argv[1]):
        print(f"{file}:{function}")
