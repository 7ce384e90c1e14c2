"""The guided tour: six steps, each true of what is shown, and Play on the step exponent."""

from __future__ import annotations

import re

import pytest
from browsing import finished, wait

import onegrad as og
from exploring import visit
from onegrad.explorer.controls import PRESETS
from onegrad.explorer.request import read_problem

PROBLEM = read_problem(next(p.query for p in PRESETS if p.name == "Setting 2"))
TITLES = (
    "An untrained network", "The linear spike", "Nothing more before ¼", "The quadratic spike",
    "Below the kernel bound", "Real networks agree",
)  # fmt: skip
SETTLED = "onegrad.model().here && !onegrad.model().stale.spectrum && !onegrad.painting"


def test_six_steps_and_what_they_say(page, url) -> None:
    visit(page, url)
    page.click("#tour-start")
    for i, title in enumerate(TITLES):
        wait(page, SETTLED)
        assert page.inner_text("#tour-title") == f"{i + 1} of 6: {title}"
        text = page.inner_text("#tour-text")
        alpha = page.evaluate("onegrad.model().alpha")
        problem = PROBLEM.replace(eta=0.0) if alpha is None else PROBLEM.replace(alpha=alpha)
        test = re.search(r"test error (?:is )?([\d.]+\d)", text)
        if test:
            assert float(test[1]) == pytest.approx(og.predict(problem).test, rel=6e-3)
        degrees = [
            max(s.alignment, key=lambda k: s.alignment[k]) for s in og.spectrum(problem).spikes
        ]
        told = {0: "no spike stands outside", 1: "a spike has left the bulk", 3: "stands outside"}
        expected = {0: [], 1: [1], 2: [1], 3: [1, 2], 4: [1, 2], 5: [1, 2]}
        assert degrees == expected[i]
        assert told.get(i, "") in text
        if i == 2:
            assert "no quadratic spike yet" in text and 0 < alpha < 0.25
        if i == 4:
            finished(page)
            text = page.inner_text("#tour-text")
            crossing = float(re.search(r"from α ≈ ([\d.]+) on", text)[1])
            around = og.predict(PROBLEM, alpha=[crossing - 0.02, crossing + 0.02]).test
            assert around[0] > 1.0 > around[1] and "is below it" in text
        if i < 5:
            page.click("#tour-next")
    assert page.is_disabled("#tour-next") and page.inner_text("#tour-play") == "Train networks"
    assert page.evaluate("document.querySelector('.view.pointed').id") == "view-errors"
    page.click("#tour-close")
    assert page.is_hidden("#tour")


def test_the_last_step_trains_networks(page, url) -> None:
    visit(page, url, "tour=6")
    page.click("#tour-play")
    page.wait_for_selector("#simulation-status:has-text('Simulated in')", timeout=240_000)
    text = page.inner_text("#tour-text")
    assert "mean of 4 trained networks" in text
    places, within = (int(x) for x in re.search(r"Of (\d+) steps, (\d+) lie", text).groups())
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
