"""Take the screenshots of the explorer and of a model's page that README and docs show.

    python docs/make_screenshots.py            # writes docs/images/explorer-*.png, card.png

Needs the test extra and a chromium (Debian's package will do). Starts its own server.
"""

import contextlib
import re
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))

import browsing

from onegrad.cli import main as main_program

IMAGES = Path(__file__).parent / "images"
PATIENCE = 600.0  # seconds, on a machine with other things to do
SETTING = (
    "n=4000&phi=0.125&psi=0.5&activation=softplus&teacher=H1+%2B+H2%2Fsqrt(2)&noise=0&ridge=0.01"
)


def main() -> int:
    IMAGES.mkdir(exist_ok=True)
    with browsing.served() as url, browsing.opened() as browser:
        card(browser)
        page = opened(browser, url, 900)
        for alpha in ("0.05", "0.25", "0.45"):
            page.fill("#alpha", alpha)
            page.press("#alpha", "Enter")
            ready(page)
            page.locator("#view-spectrum").screenshot(path=IMAGES / f"spectrum-{alpha}.png")
        page.click("#tour-start")
        for _ in range(4):
            page.click("#tour-next")
        time.sleep(1.0)  # it scrolls
        ready(page)
        save(page, "explorer-tour")
        page = opened(browser, url, 1300)
        page.locator("#view-neurons").screenshot(path=IMAGES / "explorer-neurons.png")
        for _ in range(4):  # the curves of larger sizes stay, thin
            page.locator("#stairs-slider").focus()
            page.keyboard.press("ArrowLeft")
            browsing.wait(page, "onegrad.model().stairs.curve?.finished", PATIENCE)
            ready(page)
        page.locator("#view-stairs").screenshot(path=IMAGES / "explorer-stairs.png")
        simulate(page, 6)
        save(page, "explorer")
    return 0


def card(browser: Any) -> None:
    """Fit README's table on the command line, and show the page of the model."""
    readme = (IMAGES.parents[1] / "README.md").read_text(encoding="utf-8")
    (table,) = re.findall(r"^```python\n(import numpy.*?)^```", readme, re.M | re.S)
    (fit,) = re.findall(r"^\$ onegrad (fit .*)$", readme, re.M)
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        exec(table, {})
        if main_program(fit.split()):
            sys.exit("make_screenshots: onegrad fit failed")
        page = browser.new_page(viewport={"width": 900, "height": 760}, color_scheme="light")
        page.goto(f"file://{folder}/price.model.html")
        save(page, "card")


def opened(browser: Any, url: str, height: int) -> Any:
    page = browser.new_page(viewport={"width": 1440, "height": height}, color_scheme="light")
    page.goto(f"{url}?{SETTING}&alpha=0.4")
    page.wait_for_selector("#plot-spectrum .xtick", timeout=1000 * PATIENCE)
    ready(page)
    return page


def ready(page: Any) -> None:
    """Wait until everything is computed and painted."""
    browsing.finished(page, PATIENCE)
    time.sleep(0.4)


def simulate(page: Any, networks: int) -> None:
    page.fill("#seeds", str(networks))
    page.click("#simulate")
    while "Simulated in" not in page.inner_text("#simulation-status"):
        if page.is_visible("#confirm-yes"):
            page.click("#confirm-yes")
        time.sleep(0.3)
    # the seconds would be those of this machine at this moment
    page.evaluate("document.querySelector('#simulation-status').textContent = ''")
    page.mouse.move(0, 0)
    page.evaluate("scrollTo(0, 0)")
    time.sleep(0.5)


def save(page: Any, name: str) -> None:
    path = IMAGES / f"{name}.png"
    page.screenshot(path=path)
    print(path)


if __name__ == "__main__":
    sys.exit(main())
