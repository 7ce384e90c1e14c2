"""A server of the explorer and a Chromium that looks at it: for tests, timings and screenshots.

Needs the test extra and a chromium (Debian's package will do).
"""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
ARGUMENTS = [
    "--no-sandbox", "--disable-gpu", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--no-first-run",
]  # fmt: skip
FINISHED = "window.onegrad?.idle"


@contextmanager
def served() -> Iterator[str]:
    """The address of an explorer in a process of its own."""
    command = [sys.executable, "-m", "onegrad", "explore", "--no-open", "--port", "0", "--json"]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as server:
        assert server.stdout is not None
        try:
            yield json.loads(server.stdout.readline())["url"]
        finally:
            server.terminate()


@contextmanager
def opened() -> Iterator[Any]:
    """A headless browser (playwright's)."""
    from playwright.sync_api import sync_playwright

    if CHROMIUM is None:
        sys.exit("no chromium found: apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        try:
            yield browser
        finally:
            browser.close()


def wait(page: Any, expression: str, seconds: float = 600.0) -> None:
    """Until the expression is true; asked from outside, as the page's policy forbids eval."""
    deadline = time.monotonic() + seconds
    while not page.evaluate(expression):
        assert time.monotonic() < deadline, expression
        page.wait_for_timeout(25)


def finished(page: Any, seconds: float = 600.0) -> None:
    """Wait until all that the cards in sight show is computed and painted."""
    wait(page, FINISHED, seconds)
