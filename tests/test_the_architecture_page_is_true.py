"""docs/architecture.md: the picture is drawn from the imports, the call paths are traced.

A call path lists functions as `file:function`. Each is traced in a process of its own
(docs/call_paths.py); the functions of the page's scripts are looked up alone.
"""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "onegrad"
sys.path.insert(0, str(ROOT / "docs"))

import call_paths  # noqa: E402
import make_architecture  # noqa: E402

PAGE = call_paths.PAGE.read_text(encoding="utf-8")
LISTED = call_paths.listed(PAGE)
DEFINITIONS = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def test_there_are_six_call_paths():
    assert list(LISTED) == list(call_paths.CALL_PATHS)
    for number, places in LISTED.items():
        assert len(places) == len(set(places)) > 8, number


def qualified_names(tree: ast.AST, prefix: str = "") -> Iterator[str]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, DEFINITIONS):
            yield prefix + node.name
            yield from qualified_names(node, f"{prefix}{node.name}.")


def is_defined(file: str, name: str) -> bool:
    text = (SOURCE / file).read_text(encoding="utf-8")
    if file.endswith(".py"):
        return name in qualified_names(ast.parse(text))
    *classes, function = name.split(".")
    declared = rf"^\s*(?:export )?(?:async )?(?:function )?{function}\(.*\{{$"
    return all(f"class {c}" in text for c in classes) and bool(re.search(declared, text, re.M))


def test_every_function_of_the_page_is_there():
    assert not is_defined("theory/dispatch.py", "forecast")
    places = {place for places in LISTED.values() for place in places}
    missing = [f"{file}:{name}" for file, name in sorted(places) if not is_defined(file, name)]
    assert not missing, missing


@pytest.mark.full
@pytest.mark.parametrize("number", call_paths.CALL_PATHS)
def test_functions_are_called_in_the_order_of_the_page(number):
    order = call_paths.in_fresh_process(number)
    places = [place for place in LISTED[number] if place[0].endswith(".py")]
    assert [place for place in places if place not in order] == []
    assert sorted(places, key=order.index) == places


def test_the_first_random_number_is_drawn_few_calls_below_simulate(monkeypatch):
    import onegrad as og
    from onegrad.networks.streams import Streams

    stacks: list[list[str]] = []
    entries = Streams.entries

    def look(*args, **options):
        frame, stack = sys._getframe(1), ["Streams.entries"]
        while frame is not None:
            if frame.f_code.co_filename.startswith(str(SOURCE)):
                stack.append(frame.f_code.co_qualname)
            frame = frame.f_back
        stacks.append(stack[::-1])
        return entries(*args, **options)

    monkeypatch.setattr(Streams, "entries", look)
    og.simulate(og.Problem(n=60, d=30, N=40), seeds=2, threads=1)
    assert stacks[0][0] == "simulate" and len(stacks[0]) - 1 <= 7, stacks[0]
    assert "drawn at most seven calls below `simulate`" in PAGE


@pytest.mark.full
def test_the_picture_is_drawn_from_the_imports():
    picture = make_architecture.PICTURE.read_text(encoding="utf-8")
    assert make_architecture.draw() == picture, "run python docs/make_architecture.py"
