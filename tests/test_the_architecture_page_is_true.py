"""docs/architecture.md: the picture is drawn from the imports, the ways are the ways.

A way lists functions as `file:function`; each must be there, none comes twice, and where a way can
be walked in this process the functions are first entered in the order of the list.
"""

import ast
import csv
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import onegrad
from onegrad.cli import main

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "onegrad"
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
WAYS = {
    title: re.findall(r"^\d+\. `([\w/.]+):([\w.]+)`", text, flags=re.MULTILINE)
    for title, _, text in (part.partition("\n") for part in PAGE.split("\n### ")[1:])
}


def defined(path: Path) -> set[str]:
    """Functions and methods of a file by their qualified names."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".js":
        function = r"^\s*(?:export )?(?:async )?(?:function )?(\w+)\(.*\{$"
        found = re.findall(function, text, re.MULTILINE)
        classes = re.findall(r"class (\w+)", text)
        return {*found, *(f"{c}.{f}" for c in classes for f in found)}

    def inside(node: ast.AST, prefix: str) -> set[str]:
        names: set[str] = set()
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                name = prefix + child.name
                names |= {name, *inside(child, f"{name}.")}
        return names

    return inside(ast.parse(text), "")


def test_there_are_four_ways():
    assert len(WAYS) == 4 and all(len(way) > 8 for way in WAYS.values())


@pytest.mark.parametrize("title", WAYS)
def test_every_function_of_a_way_is_there_and_comes_once(title):
    way = WAYS[title]
    gone = [f"{file}:{name}" for file, name in way if name not in defined(SOURCE / file)]
    assert not gone
    assert len(set(way)) == len(way)
    (count,) = re.findall(rf"### {re.escape(title)}\n(\d+) functions", PAGE)
    assert len(way) == int(count)


def test_a_function_that_is_gone_is_seen():
    assert "predict" in defined(SOURCE / "theory" / "dispatch.py")
    assert "foretell" not in defined(SOURCE / "theory" / "dispatch.py")


def entered(command: list[str]) -> list[tuple[str, str]]:
    """The package's functions in the order in which a command first enters them."""
    root, seen = Path(onegrad.__file__).parent, {}

    def look(frame, event, _):
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(str(root)):
            place = Path(code.co_filename).relative_to(root).as_posix(), code.co_qualname
            seen.setdefault(place)

    sys.setprofile(look)
    try:
        assert main(command) == 0
    finally:
        sys.setprofile(None)
    return list(seen)


def commands(folder: Path) -> dict[str, list[str]]:
    rng = np.random.default_rng(0)
    with (folder / "t.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["a", "b", "y"], *rng.standard_normal((300, 3)).tolist()])
    fit = ["fit", str(folder / "t.csv"), "--target", "y", "--out", str(folder / "m.model")]
    return {
        "predict": ["predict", "--n", "300", "--d", "150", "--N", "200", "--alpha", "0.3"],
        "fit": [*fit, "--estimator", "one-step", "--width", "20"],
    }


@pytest.mark.parametrize("title", ["predict", "fit"])
def test_a_way_is_walked_in_its_order(title, tmp_path, capsys):
    order = entered(commands(tmp_path)[title])
    (way,) = (way for name, way in WAYS.items() if name.startswith(f"`onegrad {title}`"))
    assert [place for place in way if place not in order] == []
    assert sorted(way, key=order.index) == way


def test_the_picture_is_drawn_from_the_imports():
    command = [sys.executable, "-c", "import make_architecture as m; print(m.draw(), end='')"]
    drawn = subprocess.run(command, cwd=ROOT / "docs", capture_output=True, text=True, check=True)
    picture = (ROOT / "docs" / "images" / "architecture.svg").read_text(encoding="utf-8")
    assert drawn.stdout == picture, "run python docs/make_architecture.py"
