"""While a slider moves only single points are asked for; what is out of sight is not asked for."""

import math
from collections import Counter
from typing import Any
from urllib.parse import urlsplit

from browsing import finished, wait

from exploring import look_at, slide, visit, watched

MOVES = 12


def drag(page: Any, name: str) -> list[bool]:
    """Move a slider over its whole range."""
    ends = "id => ['min', 'max'].map((end) => Number(document.getElementById(id)[end]))"
    low, high = page.evaluate(ends, f"{name}-slider")
    steps = (low + (high - low) * i / (MOVES + 1) for i in range(1, MOVES + 1))
    return slide(page, name, *steps, pause=60)


def counted(page: Any) -> Counter[str]:
    """A count of the requests from now on, by path."""
    count: Counter[str] = Counter()
    page.on("request", lambda request: count.update([urlsplit(request.url).path]))
    return count


def test_a_drag_asks_for_points_and_then_one_curve(page, url) -> None:
    page.set_viewport_size({"width": 1400, "height": 900})
    visit(page, url)
    finished(page)
    for name in ("ridge", "noise", "n"):
        count = counted(page)
        waits = drag(page, name)
        assert not any(waits), name  # numbers of a moment ago stay until the next ones come
        assert count["/api/curve"] == 0, name
        # one at a time, the newest wins: never more questions than moves, and some answers
        for path in ("/api/here", "/api/instant"):
            assert 1 <= count[path] <= MOVES, (name, path)
        assert count["/api/spectrum"] <= (0 if name == "ridge" else MOVES) + 1
        page.dispatch_event(f"#{name}-slider", "change")
        finished(page)
        assert count["/api/curve"] == 1, name  # of the one card in sight that shows a curve
        assert page.evaluate("onegrad.model().here.test") > 0


def test_the_step_is_read_off_its_curve_and_every_move_is_answered(page, url) -> None:
    visit(page, url)
    finished(page)
    count = counted(page)
    drag(page, "alpha")
    assert count["/api/here"] == count["/api/instant"] == count["/api/curve"] == 0
    assert 1 <= count["/api/spectrum"] <= MOVES
    # slow enough for an answer each, the number that is painted is that of the slider
    for ridge in (0.02, 0.3, 0.004):
        slide(page, "ridge", math.log10(ridge))
        wait(page, "onegrad.model().here && !onegrad.painting")
        shown = page.evaluate("onegrad.model().here.test")
        reading = float(page.inner_text("#readings .test b"))
        assert abs(reading / shown - 1) < 1e-3
    wait(page, "onegrad.latencies.number.length >= 3")


def test_a_phone_asks_only_for_what_is_in_sight(browser, url) -> None:
    phone = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
    with watched(browser, url, **phone) as page:
        count = counted(page)
        visit(page, url)
        finished(page)
        assert count["/api/curve"] == count["/api/code"] == 0
        look_at(page, "errors")
        assert page.evaluate("onegrad.model().curve.finished")
        assert count["/api/curve"] == 1
        look_at(page, "sizes")
        assert page.evaluate("onegrad.model().sizes.finished")
