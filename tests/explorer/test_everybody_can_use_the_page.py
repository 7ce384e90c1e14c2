"""The page explains mistakes and papers' notations, fits a phone, and needs no mouse."""

from __future__ import annotations

import re

from browsing import finished, wait

from exploring import series, visit


def test_bad_input_is_shown_at_its_field_and_the_picture_stays(page, url) -> None:
    visit(page, url)
    finished(page)
    before = series(page, "errors", "test")
    for field, bad, word in (
        ("teacher", "H1 + ", "a term is missing"),
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
