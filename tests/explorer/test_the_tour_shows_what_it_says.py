"""The guided tour: the numbers of each step are those of theory; Play moves the step."""

import re

import pytest
from browsing import finished, wait

import onegrad as og
from exploring import enter, visit
from onegrad.explorer.controls import PRESETS, read_problem

PROBLEM = read_problem(next(p.query for p in PRESETS if p.name == "Two spikes, two stairs"))
STEPS = 7
SETTLED = "onegrad.model().here && !onegrad.model().stale.spectrum && !onegrad.painting"


def test_the_steps_have_the_numbers_of_what_is_shown(page, url) -> None:
    visit(page, url)
    page.click("#tour-start")
    for i, degrees in enumerate(([1, 2], [1], [1], [1, 2], [1, 2], [1, 2], [1, 2])):
        wait(page, SETTLED)
        assert page.inner_text("#tour-title").startswith(f"{i + 1} of {STEPS}")
        finished(page)
        text, alpha = page.inner_text("#tour-text"), page.evaluate("onegrad.model().alpha")
        problem = PROBLEM.replace(eta=0.0) if alpha is None else PROBLEM.replace(alpha=alpha)
        test = re.search(r"test error (?:is )?([\d.]+\d)", text)
        if test:
            assert float(test[1]) == pytest.approx(og.predict(problem).test, rel=6e-3)
        spikes = og.spectrum(problem).spikes
        assert [max(s.alignment, key=lambda k: s.alignment[k]) for s in spikes] == degrees
        if i == 4:
            crossing = float(re.search(r"from α ≈ ([\d.]+) on", text)[1])
            around = og.predict(PROBLEM, alpha=[crossing - 0.02, crossing + 0.02]).test
            assert around[0] > 1.0 > around[1]
        if i < STEPS - 1:
            page.click("#tour-next")
    assert page.is_disabled("#tour-next")
    page.click(".tour-choices button:has-text('x^3')")
    wait(page, "onegrad.model().state.teacher === 'x^3 - 3*x' && onegrad.idle")
    page.click("#tour-close")
    assert page.is_hidden("#tour")


def test_the_last_step_trains_networks(page, url) -> None:
    visit(page, url, "tour=6")
    page.click("#tour-play")
    page.wait_for_selector("#tour-text:has-text('1 of 4 networks so far')", timeout=600_000)
    assert "standard errors" not in page.inner_text("#tour-text")  # one network proves nothing
    page.wait_for_selector("#simulation-status:has-text('Simulated in')", timeout=240_000)
    wait(page, "!onegrad.model().simulating && !onegrad.painting")
    text = page.inner_text("#tour-text")
    assert "mean of 4 trained networks" in text
    within, places = (int(x) for x in re.search(r"at (\d+) of (\d+) step sizes", text).groups())
    assert text.startswith("Yes" if within >= 0.75 * places else "Not everywhere")
    assert within >= 0.6 * places >= 5  # bars of four networks are themselves uncertain
    assert int(re.search(r"difference is (\d+)\s%", text)[1]) <= 10


def test_play_moves_the_step_until_somebody_touches_it(page, url) -> None:
    visit(page, url)
    finished(page)
    page.click("#play")
    wait(page, "onegrad.model().alpha > 0.36")
    assert page.get_attribute("#play", "aria-pressed") == "true"
    page.click("#play")
    paused = page.evaluate("onegrad.model().alpha")
    page.wait_for_timeout(300)
    assert page.evaluate("onegrad.model().alpha") == paused
    page.click("#play")
    wait(page, f"onegrad.model().alpha > {paused}")
    page.focus("#noise")
    page.keyboard.press("Tab")
    assert page.get_attribute("#play", "aria-pressed") == "false"
    page.click("#play")
    wait(page, "document.getElementById('play').getAttribute('aria-pressed') === 'false'")
    assert page.evaluate("onegrad.model().alpha") == 0.6


def test_the_step_of_the_tour_is_in_the_address(page, url) -> None:
    visit(page, url, "tour=2")
    page.click("#tour-next")
    wait(page, "location.search.includes('tour=3')")
    enter(page, "alpha", "0.15")
    wait(page, "location.search.includes('alpha=0.15')")
    page.reload()
    wait(page, "window.onegrad?.model().here")
    assert page.inner_text("#tour-title").startswith("3 of 7")
    assert page.evaluate("onegrad.model().alpha") == 0.15
    page.go_back()
    page.go_back()
    wait(page, "document.getElementById('tour-title').textContent.startsWith('2 of 7')")
    page.click("#tour-close")
    wait(page, "!location.search.includes('tour')")
