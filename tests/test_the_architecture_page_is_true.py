"""docs/architecture.md: the picture is drawn from the imports, the call paths are traced.

A call path lists functions as `file:function`. Each path is traced in a process of its own
(docs/call_paths.py).
"""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "docs"))

import call_paths
import make_architecture

pytestmark = pytest.mark.full
LISTED = call_paths.listed(call_paths.PAGE.read_text(encoding="utf-8"))


@pytest.mark.parametrize("number", call_paths.CALL_PATHS)
def test_functions_are_called_in_the_order_of_the_page(number):
    order = call_paths.in_fresh_process(number)
    places = [place for place in LISTED[number] if place[0].endswith(".py")]
    assert len(places) > 8
    assert [place for place in places if place not in order] == []
    assert sorted(places, key=order.index) == places


def test_the_picture_is_drawn_from_the_imports():
    picture = make_architecture.PICTURE.read_text(encoding="utf-8")
    assert make_architecture.draw() == picture, "run python docs/make_architecture.py"
