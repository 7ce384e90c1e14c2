"""Follow six numbers through the house: which functions run, in which order, how often.

    python docs/ways.py WAY           # every function that a way enters, with its count
    python docs/ways.py --update      # write the counts into docs/architecture.md

The ways run in this process, on one core, so that a trace sees all of them. The page lists the
functions that make the number, decide something about it or hand it on; the trace checks them.
"""

from __future__ import annotations

import contextlib
import csv
import inspect
import io
import os
import re
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any
from unittest import mock

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "onegrad"
PAGE = ROOT / "docs" / "architecture.md"
STEP = re.compile(r"^(\d+)\. `([\w/.]+):([\w.<>]+)`(?: ×(\d+))?(.*)$", re.MULTILINE)

RESUMED = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR

Place = tuple[str, str]  # file below src/onegrad, qualified name


def trace(work: Callable[[], object]) -> Counter[Place]:
    """Return how often each function of the package was called, in the order of first calls."""
    counts: Counter[Place] = Counter()
    prefix = str(SOURCE) + os.sep
    resumed = set[FrameType]()  # generators and coroutines are "called" each time they go on

    def look(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(prefix) or "<" in code.co_qualname:
            return
        if code.co_flags & RESUMED:
            if frame in resumed:
                return
            resumed.add(frame)
        counts[code.co_filename.removeprefix(prefix), code.co_qualname] += 1

    threading.setprofile(look)
    sys.setprofile(look)
    try:
        work()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return counts


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
        with table.open("w", newline="") as file:
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


WAYS: dict[str, Callable[[], object]] = {
    "predict": predict,
    "simulate": simulate,
    "fit": fit,
    "reproduce": lambda: reproduce("cui-maximal-step"),
    "open": lambda: reproduce("other-steps"),
    "slider": slider,
}


def follow(way: str) -> Counter[Place]:
    """Return the trace of a way on one core, its cells in the order of the grid."""
    with (
        mock.patch("random.shuffle"),
        mock.patch("onegrad.parallel.cores.core_count", return_value=1),
        mock.patch("onegrad.experiments.executors.core_count", return_value=1),
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(io.StringIO()),
    ):
        return trace(WAYS[way])


def in_fresh_process(way: str) -> Counter[Place]:
    """Return the trace of a way in a process of its own: caches are empty, as for a user."""
    run = [sys.executable, __file__, way]
    done = subprocess.run(run, capture_output=True, text=True, check=True)
    lines = (line.split() for line in done.stdout.splitlines())
    return Counter({tuple(place.split(":")): int(count) for count, place in lines})  # type: ignore[misc]


def listed(page: str) -> dict[str, list[tuple[Place, int | None, str]]]:
    """Return the ways of the page: place, count and remark of every step."""
    sections = page.split("\n### ")[1:]
    steps = {}
    for section in sections:
        name = re.match(r"(\w+)", section)
        assert name is not None
        steps[name[1].lower()] = [
            ((file, function), int(count) if count else None, remark)
            for _, file, function, count, remark in STEP.findall(section)
        ]
    return steps


def update() -> None:
    """Write the counts of fresh traces into the page."""
    sections = PAGE.read_text(encoding="utf-8").split("\n### ")
    for i, section in enumerate(sections[1:], 1):
        counts = in_fresh_process(section.split()[0].strip(":").lower())

        def counted(step: re.Match[str], counts: Counter[Place] = counts) -> str:
            number, file, function, _, remark = step.groups()
            count = counts.get((file, function))
            times = f" ×{count}" if count else ""
            return f"{number}. `{file}:{function}`{times}{remark}"

        sections[i] = STEP.sub(counted, section)
    PAGE.write_text("\n### ".join(sections), encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:] == ["--update"]:
        update()
    else:
        for (file, function), count in follow(sys.argv[1]).items():
            print(f"{count} {file}:{function}")
