"""What the page shows can be sent, gone back to, saved and recomputed."""

import csv
import re
import subprocess
import sys

import pytest
from browsing import finished, wait

from exploring import QUADRATURE, enter, query_of, series, slide, visit


def test_the_state_lives_in_the_url_and_a_drag_is_one_entry(page, url) -> None:
    visit(page, url)
    start = page.evaluate("history.length")
    slide(page, "alpha", 0.31, 0.33, 0.35, 0.4, pause=30, end=True)
    wait(page, "location.search.includes('alpha=0.4')")
    assert page.evaluate("history.length") == start + 1
    page.go_back()
    wait(page, "onegrad.model().alpha === 0.3")

    page.click("#presets button:has-text('One spike, with noise')")
    wait(page, "onegrad.model().state.noise === '1'")
    enter(page, "teacher", "H1 + H3/6")
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
    svg = (tmp_path / "onegrad-errors.svg").read_text("utf-8")
    assert svg.startswith("<svg") and "kernel bound" in svg
    lines = (tmp_path / "onegrad-errors.csv").read_text("utf-8").splitlines()
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
