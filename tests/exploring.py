"""What the explorer's page shows, read from outside."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qs, urlsplit

from browsing import wait

SMALL = "n=300&d=100&N=150&activation=tanh&teacher=tanh&noise=0.1&ridge=0.05&alpha=0.3"
QUADRATURE = 1e-3  # predict's own tolerance: its nodes depend on the points before


@contextmanager
def watched(browser: Any, own: str, **options: Any) -> Iterator[Any]:
    """A page whose every request and complaint is checked at the end."""
    context = browser.new_context(**{"viewport": {"width": 1400, "height": 1300}} | options)
    page = context.new_page()
    page.set_default_timeout(300_000)
    requests: list[str] = []
    trouble: list[str] = []

    def listen(message: Any) -> None:
        refused = "422 (Unprocessable" in message.text  # the browser's own line for a bad field
        if message.type in ("error", "warning") and not refused:
            trouble.append(message.text)

    context.on("request", lambda request: requests.append(request.url))
    page.on("pageerror", lambda error: trouble.append(str(error)))
    page.on("console", listen)
    yield page
    context.close()
    foreign = [r for r in requests if not r.startswith((own, "blob:", "data:"))]
    assert not foreign and requests
    assert not trouble


def visit(page: Any, url: str, query: str = SMALL) -> None:
    page.goto(f"{url}?{query}")
    wait(page, "window.onegrad?.model().here", 180)


def enter(page: Any, field: str, text: str) -> None:
    """Type into a field and press Enter."""
    page.fill(f"#{field}", text)
    page.press(f"#{field}", "Enter")


def slide(page: Any, name: str, *values: float, pause: int = 0, end: bool = False) -> list[bool]:
    """Move a slider through these values, and say when the page was waiting for errors."""
    return page.evaluate(
        """async ([id, values, pause, end]) => {
          const slider = document.getElementById(id), waiting = [];
          for (const value of values) {
            slider.value = value;
            slider.dispatchEvent(new Event("input", { bubbles: true }));
            await new Promise((wake) => setTimeout(wake, pause));
            waiting.push(document.body.innerText.toLowerCase().includes("computing the errors"));
          }
          if (end) slider.dispatchEvent(new Event("change", { bubbles: true }));
          return waiting;
        }""",
        [f"{name}-slider", values, pause, end],
    )


def look_at(page: Any, view: str) -> None:
    """Scroll to a card until it is painted with all that was asked for.

    Cards above it may still grow and push it out of sight, where nothing is painted.
    """
    deadline = time.monotonic() + 60.0
    card = page.locator(f"#plot-{view}")
    card.scroll_into_view_if_needed()
    while not page.evaluate("view => onegrad.idle && onegrad.inSight(view)", view):
        assert time.monotonic() < deadline, view
        page.wait_for_timeout(25)
        card.scroll_into_view_if_needed()


def hold_back(page: Any, pattern: str) -> Callable[[], int]:
    """Hold these requests until the function that is returned lets them go and counts them."""
    held: list[Any] = []

    def keep(route: Any) -> None:
        held.append(route)

    def release() -> int:
        for route in held:
            route.continue_()
        page.unroute(pattern)
        return len(held)

    page.route(pattern, keep)
    return release


def figure(page: Any, view: str) -> list[dict[str, Any]]:
    """What is drawn: name, x and y of every series."""
    return page.evaluate(
        "view => onegrad.figure(view).data.map(t => "
        "({name: t.name ?? '', x: [...t.x], y: [...t.y],"
        " bars: t.error_y ? [...t.error_y.array] : []}))",
        view,
    )


def series(page: Any, view: str, name: str) -> dict[str, Any]:
    return next(s for s in figure(page, view) if s["name"] == name)


def query_of(page: Any) -> dict[str, str]:
    return {k: v[0] for k, v in parse_qs(urlsplit(page.url).query).items()}
