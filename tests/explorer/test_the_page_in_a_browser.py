"""The page in a real browser: every view, every gesture, and no word to any other host."""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

import onegrad as og

CHROMIUM = next(
    (p for p in map(shutil.which, ("chromium", "chromium-browser", "google-chrome")) if p), None
)
ARGUMENTS = [
    "--no-sandbox", "--disable-gpu", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--no-first-run",
]  # fmt: skip
SMALL = "n=300&d=100&N=150&activation=tanh&teacher=tanh&noise=0.1&ridge=0.05&alpha=0.3"
QUADRATURE = 1e-3  # predict's own tolerance: its nodes depend on the points before

if CHROMIUM is None:
    pytest.skip("no chromium found; install Debian's package chromium", allow_module_level=True)


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    command = [sys.executable, "-m", "onegrad.cli", "explore", "--no-open", "--port", "0", "--json"]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as server:
        assert server.stdout is not None
        yield json.loads(server.stdout.readline())["url"]
        server.terminate()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def page(browser, url) -> Iterator[Any]:
    """A page whose every request and complaint is checked at the end."""
    context = browser.new_context(viewport={"width": 1400, "height": 1300})
    page = context.new_page()
    page.set_default_timeout(60_000)
    requests: list[str] = []
    trouble: list[str] = []
    context.on("request", lambda request: requests.append(request.url))
    page.on("pageerror", lambda error: trouble.append(str(error)))
    page.on("console", lambda m: trouble.append(m.text) if is_trouble(m) else None)
    yield page
    context.close()
    foreign = [r for r in requests if not r.startswith((url, "blob:", "data:"))]
    assert not foreign and requests
    assert not trouble


def is_trouble(message: Any) -> bool:
    refused = "422 (Unprocessable" in message.text  # the browser's own line for a bad field
    return message.type in ("error", "warning") and not refused


def visit(page: Any, url: str, query: str = SMALL) -> None:
    page.goto(f"{url}?{query}")
    wait(page, "window.onegrad?.model().here")


def wait(page: Any, expression: str, seconds: float = 60.0) -> None:
    """Until the expression is true; asked from outside, as the page's policy forbids eval."""
    deadline = time.monotonic() + seconds
    while not page.evaluate(expression):
        assert time.monotonic() < deadline, expression
        page.wait_for_timeout(25)


def finished(page: Any) -> None:
    """Wait until both curves are complete."""
    wait(
        page,
        "(() => { const m = onegrad.model(); return m.curve?.finished && m.sizes?.finished"
        " && !m.stale.spectrum && !m.stale.curve && !m.stale.sizes && !onegrad.painting; })()",
    )


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


def test_every_view_is_drawn_with_what_theory_gives(page, url) -> None:
    visit(page, url)
    finished(page)
    problem = og.Problem(
        n=300, d=100, N=150, activation="tanh", teacher="tanh", noise=0.1, ridge=0.05, alpha=0.3
    )
    test = series(page, "errors", "test")
    assert len(test["x"]) == 35
    at = test["x"].index(0.3)
    assert test["y"][at] == pytest.approx(og.predict(problem).test, rel=QUADRATURE)
    spikes = [s for s in figure(page, "spectrum") if "spike" in s["name"]]
    expected = og.spectrum(problem).spikes
    assert [s["x"][0] ** 2 for s in spikes] == pytest.approx([s.eigenvalue for s in expected])
    assert len(series(page, "learned", "fitted, mean given u")["y"]) == 61
    assert len(series(page, "sizes", "train")["x"]) == 33
    for view in ("spectrum", "errors", "learned", "sizes"):
        assert page.inner_text(f"#caption-{view}")
        assert page.locator(f"#plot-{view} svg.main-svg").first.is_visible()


def test_a_slider_moves_the_picture(page, url) -> None:
    visit(page, url)
    finished(page)

    def look() -> tuple[float, float, float]:
        cursor = page.evaluate(
            "parseFloat(document.querySelector('#plot-errors .cursor').style.left)"
        )
        spike = max(s["x"][0] for s in figure(page, "spectrum") if "spike" in s["name"])
        fitted = series(page, "learned", "fitted, mean given u")["y"][-1]
        return cursor, spike, fitted

    before = look()
    page.focus("#alpha-slider")
    for _ in range(12):
        page.keyboard.press("ArrowRight")
    wait(page, "onegrad.model().alpha > 0.355")
    finished(page)
    after = look()
    assert after[0] > before[0] + 5  # the cursor, in pixels
    assert after[1] > 1.1 * before[1]  # the spike
    assert after[2] != before[2]
    assert page.input_value("#alpha") == query_of(page)["alpha"] == "0.36"

    curve = series(page, "errors", "test")["y"]
    page.focus("#noise-slider")
    page.keyboard.press("End")
    wait(page, "onegrad.model().state.noise === '2'")
    finished(page)
    noisier = series(page, "errors", "test")["y"]
    assert min(noisier) > max(curve)  # noise 2 instead of 0.1


def test_steps_off_the_curve_are_computed_too(page, url) -> None:
    visit(page, url)
    for field, value in (("eta", "0"), ("alpha", "0.7")):
        page.fill(f"#{field}", value)
        page.press(f"#{field}", "Enter")
        wait(page, f"onegrad.model().state.{field} === '{value}' && onegrad.model().here")
        problem = og.Problem(
            n=300, d=100, N=150, activation="tanh", teacher="tanh", noise=0.1, ridge=0.05,
            **{field: float(value)},
        )  # fmt: skip
        expected = og.predict(problem).test
        assert page.evaluate("onegrad.model().here.test") == pytest.approx(expected, rel=QUADRATURE)


def test_a_click_on_the_curve_sets_the_step(page, url) -> None:
    visit(page, url)
    finished(page)
    box = page.locator("#plot-errors .nsewdrag").first.bounding_box()
    page.mouse.click(box["x"] + 0.8 * box["width"], box["y"] + 0.5 * box["height"])
    wait(page, "Math.abs(onegrad.model().alpha - 0.43) < 0.02")


def test_simulation_drops_markers_and_can_be_cancelled(page, url) -> None:
    visit(page, url)
    page.fill("#seeds", "2")
    page.click("#simulate")
    page.wait_for_selector("#simulation-status:has-text('Simulated in')", timeout=60_000)
    for view in ("errors", "learned"):
        found = series(page, view, "simulated")
        assert len(found["x"]) > 5 and max(found["bars"]) > 0
    assert any("networks" in s["name"] for s in figure(page, "spectrum"))
    finished(page)
    theory = dict(zip(*(series(page, "errors", "test")[k] for k in "xy"), strict=True))
    for x, y in zip(*(series(page, "errors", "simulated")[k] for k in "xy"), strict=True):
        assert y == pytest.approx(theory[min(theory, key=lambda t: abs(t - x))], rel=0.5)

    page.fill("#seeds", "1000")
    page.click("#simulate")
    confirm = page.locator("#confirm-yes")
    wait(
        page,
        "!document.getElementById('confirm').hidden ||"
        " document.getElementById('simulation-status').textContent.includes('%')",
    )
    if confirm.is_visible():
        assert "about" in page.inner_text("#confirm-text")
        confirm.click()
        wait(page, "document.getElementById('simulation-status').textContent.includes('%')")
    page.focus("#alpha-slider")  # the controls still answer
    page.keyboard.press("ArrowRight")
    wait(page, "onegrad.model().alpha > 0.301")
    page.click("#cancel")
    page.wait_for_selector("#simulation-status:has-text('Cancelled')")
    assert page.is_enabled("#simulate") and page.is_hidden("#cancel")
    assert len(series(page, "errors", "simulated")["x"]) > 5  # what was found stays


def test_the_state_lives_in_the_url(page, url) -> None:
    visit(page, url)
    page.click("#presets button:has-text('Setting 1')")
    wait(page, "onegrad.model().state.noise === '1'")
    page.fill("#teacher", "H1 + H3/6")
    page.press("#teacher", "Enter")
    wait(page, "onegrad.model().state.teacher.includes('H3')")
    shared = page.url
    assert query_of(page)["teacher"] == "H1 + H3/6"
    page.go_back()
    wait(page, "onegrad.model().state.teacher === 'H1'")
    assert page.input_value("#teacher") == "H1"
    page.go_back()
    wait(page, "onegrad.model().state.teacher === 'tanh'")
    page.go_forward()
    wait(page, "onegrad.model().state.noise === '1'")

    page.goto(shared)
    wait(page, "window.onegrad?.model().instant")
    assert page.input_value("#teacher") == "H1 + H3/6"
    assert page.input_value("#noise") == "1"
    assert page.evaluate("onegrad.model().state.phi") == "0.5"


def test_a_drag_is_one_entry_of_the_history(page, url) -> None:
    visit(page, url)
    start = page.evaluate("history.length")
    page.evaluate(
        """async () => {
          const slider = document.getElementById("alpha-slider");
          for (const value of [0.31, 0.33, 0.35, 0.4]) {
            slider.value = value;
            slider.dispatchEvent(new Event("input", { bubbles: true }));
            await new Promise((wake) => setTimeout(wake, 30));
          }
          slider.dispatchEvent(new Event("change", { bubbles: true }));
        }"""
    )
    wait(page, "location.search.includes('alpha=0.4')")
    assert page.evaluate("history.length") == start + 1
    page.go_back()
    wait(page, "onegrad.model().alpha === 0.3")


def test_views_can_be_saved(page, url, tmp_path) -> None:
    visit(page, url)
    finished(page)
    for format in ("PNG", "SVG", "CSV"):
        page.click("#view-errors .menu > summary")
        with page.expect_download() as download:
            page.click(f"#view-errors .menu button:has-text('{format}')")
        path = tmp_path / download.value.suggested_filename
        download.value.save_as(path)
        assert path.name == f"onegrad-errors.{format.lower()}"
        page.keyboard.press("Tab")
        page.evaluate("document.querySelectorAll('.menu').forEach((menu) => (menu.open = false))")
    assert (tmp_path / "onegrad-errors.png").read_bytes().startswith(b"\x89PNG")
    svg = (tmp_path / "onegrad-errors.svg").read_text()
    assert svg.startswith("<svg") and "best linear predictor" in svg
    lines = (tmp_path / "onegrad-errors.csv").read_text().splitlines()
    assert lines[0].startswith("# http") and "alpha=0.3" in lines[0]
    rows = [r for r in csv.DictReader(lines[1:]) if r["series"] == "test, uniform theory"]
    drawn = series(page, "errors", "test")
    assert [float(r["y"]) for r in rows] == pytest.approx(drawn["y"])


def test_the_code_shown_recomputes_the_view(page, url) -> None:
    visit(page, url)
    finished(page)
    page.click("#code-views button:has-text('errors')")
    wait(page, "document.getElementById('code-python').textContent.includes('np.linspace')")
    script = page.inner_text("#code-python")
    printed = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script], capture_output=True, text=True, check=True
    ).stdout
    numbers = [float(x) for x in re.findall(r"\d+\.\d+", printed)]
    drawn = [*series(page, "errors", "train")["y"], *series(page, "errors", "test")["y"]]
    assert numbers == pytest.approx(drawn, rel=QUADRATURE)
    assert page.inner_text("#code-command").startswith("onegrad predict --n=300")


def test_bad_input_is_shown_at_its_field_and_the_picture_stays(page, url) -> None:
    visit(page, url)
    finished(page)
    before = series(page, "errors", "test")
    for field, bad, word in (
        ("teacher", "H1 + ", "formula"),
        ("ridge", "-3", "ridge must be"),
        ("n", "ten", "n must be a whole number"),
        ("alpha", "7", "alpha must be"),
    ):
        good = page.input_value(f"#{field}")
        page.fill(f"#{field}", bad)
        page.wait_for_selector(f"#error-{field}:has-text('{word}')")
        assert page.get_attribute(f"#{field}", "aria-invalid") == "true"
        page.wait_for_timeout(200)
        assert series(page, "errors", "test") == before
        page.fill(f"#{field}", good)
        wait(page, f"!document.getElementById('error-{field}').textContent")
        assert page.get_attribute(f"#{field}", "aria-invalid") == "false"


def test_a_tip_names_each_papers_notation(page, url) -> None:
    visit(page, url)
    page.focus("#row-ridge .help button")
    tip = page.locator("#tip-ridge")
    assert tip.is_visible()
    for paper in ("Moniri et al. 2024", "Ba et al. 2022", "Cui et al. 2024"):
        assert paper in tip.inner_text()
    page.keyboard.press("Escape")
    assert tip.is_hidden()


def test_a_phone_shows_everything_without_scrolling_sideways(browser, url) -> None:
    context = browser.new_context(viewport={"width": 390, "height": 844}, color_scheme="dark")
    page = context.new_page()
    visit(page, url)
    finished(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.locator("#view-sizes").scroll_into_view_if_needed()
    page.wait_for_selector("#plot-sizes svg.main-svg")
    assert page.locator("#alpha-slider").is_visible()  # the step stays in sight
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert sum(map(int, re.findall(r"\d+", background)[:3])) < 120
    context.close()


def test_every_control_can_be_reached_by_keyboard(page, url) -> None:
    visit(page, url)
    reached = set()
    for _ in range(80):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.id"))
    controls = {"alpha-slider", "alpha", "eta", "activation", "teacher", "noise", "n", "d", "N"}
    assert controls | {"ridge", "weights", "readout", "residual", "seeds", "simulate"} <= reached


@pytest.fixture
def quiet_machine() -> None:
    """Skip where other work would be timed too; comes before the page, which must be visited."""
    if os.getloadavg()[0] > 1.5:
        pytest.skip(f"other work uses the cores: load {os.getloadavg()[0]:.1f}")


@pytest.mark.slow
@pytest.mark.parametrize("slider", ["alpha-slider", "noise-slider", "ridge-slider"])
def test_slider_to_repaint_takes_less_than_a_tenth_of_a_second(
    quiet_machine, page, url, slider
) -> None:
    visit(page, url, "")
    finished(page)
    page.evaluate(
        """async (id) => {
          const slider = document.getElementById(id);
          const [low, high] = [Number(slider.min), Number(slider.max)];
          for (let i = 0; i < 40; i += 1) {
            slider.value = low + ((high - low) * (i + 1)) / 41;
            slider.dispatchEvent(new Event("input", { bubbles: true }));
            await new Promise((wake) => setTimeout(wake, 150));
          }
        }""",
        slider,
    )
    page.wait_for_timeout(500)
    for view, times in page.evaluate("onegrad.latencies").items():
        assert len(times) >= 20
        assert sorted(times)[len(times) // 2] < 100, (view, sorted(times))
