"""docs/architecture.md: the picture is drawn from the imports, the ways are walked and counted.

A way lists functions as `file:function` with the number of calls. Each way is walked in a process
of its own under a trace (docs/ways.py); the functions of the page's scripts are looked up alone.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from programs import run_python

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "onegrad"
sys.path.insert(0, str(ROOT / "docs"))

import ways  # noqa: E402

PAGE = ways.PAGE.read_text(encoding="utf-8")
LISTED = ways.listed(PAGE)
REASON = re.compile(r"\bonce per\b")


@cache
def walked(way: str) -> Counter[ways.Place]:
    return ways.in_fresh_process(way)


def python_steps(way: str) -> list[tuple[ways.Place, int | None, str]]:
    return [step for step in LISTED[way] if step[0][0].endswith(".py")]


def test_there_are_six_ways():
    assert list(LISTED) == list(ways.WAYS)
    assert all(len(steps) > 8 for steps in LISTED.values())


@pytest.mark.parametrize("way", ways.WAYS)
def test_a_way_is_walked_in_its_order_and_as_often(way):
    order = list(walked(way))
    places = [place for place, _, _ in python_steps(way)]
    assert [place for place in places if place not in order] == []
    assert sorted(places, key=order.index) == places
    counts = {place: count for place, count, _ in python_steps(way)}
    assert counts == {place: walked(way)[place] for place in places}, "docs/ways.py --update"


@pytest.mark.parametrize("way", ways.WAYS)
def test_what_runs_more_than_once_says_why(way):
    repeated = [(place, remark) for place, count, remark in python_steps(way) if count != 1]
    assert [place for place, remark in repeated if not REASON.search(remark)] == []
    assert len({place for place, _, _ in LISTED[way]}) == len(LISTED[way])


def test_a_problem_is_checked_and_prepared_once():
    counts = walked("predict")
    for place in (
        ("problem/definition.py", "Problem.__post_init__"),
        ("theory/uniform/preparation.py", "prepare_problem"),
        ("theory/uniform/covariance.py", "step_covariance"),
        ("theory/uniform/accuracy.py", "stated_accuracy"),
        ("theory/uniform/spread.py", "spread"),
    ):
        assert counts[place] == 1, place


def test_the_first_random_number_is_drawn_seven_calls_below_simulate(monkeypatch):
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
    assert stacks[0][0] == "simulate" and len(stacks[0]) - 1 == 7, stacks[0]
    assert "drawn seven calls below `simulate`" in PAGE


def test_every_function_of_the_page_is_there():
    for (file, name), _, _ in LISTED["slider"]:
        if file.endswith(".js"):
            text = (SOURCE / file).read_text(encoding="utf-8")
            function = rf"^\s*(?:export )?(?:async )?(?:function )?{name.split('.')[-1]}\(.*\{{$"
            assert re.search(function, text, re.MULTILINE), f"{file}:{name}"
            if "." in name:
                assert f"class {name.split('.')[0]}" in text


def test_a_trace_counts_calls_and_not_resumptions():
    """A generator that goes on five times was called once."""
    from onegrad.parallel import thread_map

    counts = ways.trace(lambda: list(thread_map(abs, [1, -2, 3, -4, 5], threads=1)))
    assert counts["parallel/threads.py", "thread_map"] == 1


def test_the_picture_is_drawn_from_the_imports():
    script = "import make_architecture as m; print(m.draw(), end='')"
    drawn = run_python(script, cwd=ROOT / "docs")
    picture = (ROOT / "docs" / "images" / "architecture.svg").read_text(encoding="utf-8")
    assert drawn == picture, "run python docs/make_architecture.py"
