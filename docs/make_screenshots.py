"""Take the screenshots of the explorer that README and docs show.

    python docs/make_screenshots.py            # writes docs/images/explorer-*.png

Needs the test extra and a chromium (Debian's package will do). Starts its own server.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright

IMAGES = Path(__file__).parent / "images"
SETTING = (
    "n=4000&phi=0.125&psi=0.5&activation=softplus&teacher=H1+%2B+H2%2Fsqrt(2)&noise=0&ridge=0.01"
)
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
READY = """(() => { const m = onegrad?.model(); return m?.curve?.finished && m.sizes?.finished
           && !m.stale.spectrum && !m.stale.curve && !m.stale.sizes && !onegrad.painting; })()"""


def main() -> int:
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        print("no chromium found: apt-get install chromium", file=sys.stderr)
        return 1
    IMAGES.mkdir(exist_ok=True)
    command = [sys.executable, "-m", "onegrad.cli", "explore", "--no-open", "--port", "0", "--json"]
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server,
        sync_playwright() as playwright,
    ):
        assert server.stdout is not None
        url = json.loads(server.stdout.readline())["url"]
        browser = playwright.chromium.launch(executable_path=chromium, args=ARGUMENTS)
        try:
            page = opened(browser, url, 1440, 1210, "light", "0.4")
            simulate(page, 6)
            save(page, "explorer")
            for alpha in ("0.05", "0.25", "0.45"):
                page.fill("#alpha", alpha)
                page.press("#alpha", "Enter")
                ready(page)
                page.locator("#view-spectrum").screenshot(path=IMAGES / f"spectrum-{alpha}.png")
            save(opened(browser, url, 1440, 1210, "dark", "0.4"), "explorer-dark")
            save(opened(browser, url, 390, 844, "light", "0.4"), "explorer-phone")
        finally:
            browser.close()
            server.terminate()
    return 0


def opened(browser: Any, url: str, width: int, height: int, scheme: str, alpha: str) -> Page:
    context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
    page = context.new_page()
    page.goto(f"{url}?{SETTING}&alpha={alpha}")
    page.wait_for_selector("#plot-errors svg")
    ready(page)
    return page


def ready(page: Page) -> None:
    """Wait until everything is computed and painted."""
    while not page.evaluate(READY):
        time.sleep(0.1)
    time.sleep(0.4)


def simulate(page: Page, networks: int) -> None:
    page.fill("#seeds", str(networks))
    page.click("#simulate")
    while "Simulated in" not in page.inner_text("#simulation-status"):
        if page.is_visible("#confirm-yes"):
            page.click("#confirm-yes")
        time.sleep(0.3)
    page.mouse.move(0, 0)
    page.evaluate("scrollTo(0, 0)")
    time.sleep(0.5)


def save(page: Page, name: str) -> None:
    path = IMAGES / f"{name}.png"
    page.screenshot(path=path)
    print(path)


if __name__ == "__main__":
    sys.exit(main())
