"""The guided tour: each step is true of what is shown and in sight; Play moves the step."""

import re

import pytest
from browsing import finished, wait

import onegrad as og
from exploring import enter, hold_back, visit
from onegrad.explorer.controls import PRESETS, read_problem

PROBLEM = read_problem(next(p.query for p in PRESETS if p.name == "Two spikes, two stairs"))
TITLES = (
    "What does one step do?", "The linear spike", "Nothing more before ¼", "The quadratic spike",
    "Below the kernel bound", "Do real networks agree?", "Your turn: change the teacher",
)  # fmt: skip
SETTLED = "onegrad.model().here && !onegrad.model().stale.spectrum && !onegrad.painting"
SIZES = [(1440, 900), (1024, 700), (390, 844)]


def test_the_steps_say_what_is_shown_and_end_in_an_exercise(page, url) -> None:
    visit(page, url)
    page.click("#tour-start")
    for i, title in enumerate(TITLES):
        wait(page, SETTLED)
        assert page.inner_text("#tour-title") == f"{i + 1} of 7: {title}"
        text = page.inner_text("#tour-text")
        alpha = page.evaluate("onegrad.model().alpha")
        problem = PROBLEM.replace(eta=0.0) if alpha is None else PROBLEM.replace(alpha=alpha)
        test = re.search(r"test error (?:is )?([\d.]+\d)", text)
        if test:
            assert float(test[1]) == pytest.approx(og.predict(problem).test, rel=6e-3)
        degrees = [
            max(s.alignment, key=lambda k: s.alignment[k]) for s in og.spectrum(problem).spikes
        ]
        told = {
            0: "2 of them stand outside the bulk",
            1: "a spike has left the bulk",
            3: "stands outside",
            6: "has a linear and quadratic part",
        }
        expected = {0: [1, 2], 1: [1], 2: [1], 3: [1, 2], 4: [1, 2], 5: [1, 2], 6: [1, 2]}
        assert degrees == expected[i]
        assert told.get(i, "") in text
        if i == 2:
            assert "no quadratic spike yet" in text and 0 < alpha < 0.25
        if i == 3:  # the real network's spikes are tall marks
            finished(page)
            marks, bulk = page.evaluate(
                """() => { const traces = onegrad.figure("spectrum").data;
                  const find = (word) => traces.find((trace) => trace.name.includes(word));
                  return [find("beyond the edge"), find("bulk")]; }"""
            )
            values = page.evaluate("onegrad.model().network.eigenvalues.slice(0, 2).map(Math.sqrt)")
            assert [x for x in marks["x"] if x is not None][::2][:2] == pytest.approx(values)
            assert max(y for y in marks["y"] if y is not None) > 1  # beyond every alignment
            assert marks["line"]["color"] != bulk["line"]["color"]
        if i == 4:
            finished(page)
            text = page.inner_text("#tour-text")
            crossing = float(re.search(r"from α ≈ ([\d.]+) on", text)[1])
            around = og.predict(PROBLEM, alpha=[crossing - 0.02, crossing + 0.02]).test
            assert around[0] > 1.0 > around[1] and "is below it" in text
        if i == 5:
            assert page.inner_text("#tour-play") == "Train networks"
            assert page.evaluate("document.querySelector('.view.pointed').id") == "view-errors"
        if i < 6:
            page.click("#tour-next")
    assert page.is_disabled("#tour-next")
    page.click(".tour-choices button:has-text('x^3')")
    wait(page, "onegrad.model().state.teacher === 'x^3 - 3*x' && onegrad.idle")
    text = page.inner_text("#tour-text")
    assert "has a cubic part only; softplus has no cubic part" in text
    assert page.inner_text("#expansion-teacher") == "= H₃"
    enter(page, "activation", "tanh")
    wait(page, "onegrad.model().state.activation === 'tanh' && onegrad.idle")
    assert "tanh has them too" in page.inner_text("#tour-text")
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


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
def test_the_card_that_a_step_speaks_of_is_in_sight(page, url, size) -> None:
    """Its whole plot lies between the bar of the step and the words of the tour."""
    page.set_viewport_size(dict(zip(("width", "height"), size, strict=True)))
    page.emulate_media(reduced_motion="reduce")
    visit(page, url, "tour=1")
    for i in range(len(TITLES)):
        wait(page, f"location.search.includes('tour={i + 1}') && {SETTLED}")
        page.wait_for_timeout(100)
        bar, plot, words = (
            page.locator(selector).bounding_box()
            for selector in ("#step", ".view.pointed .plot", "#tour")
        )
        assert bar["y"] + bar["height"] <= plot["y"], i
        assert plot["y"] + plot["height"] <= words["y"], i
        assert words["y"] + words["height"] <= size[1], i
        assert page.is_hidden("#presets")
        if i < len(TITLES) - 1:
            page.click("#tour-next")


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


def test_words_of_another_step_fade_while_it_plays(page, url) -> None:
    """Spectra held back: the sentence speaks of a spectrum that is no longer the present one."""
    visit(page, url, "tour=2")
    finished(page)
    assert not page.evaluate("document.getElementById('tour-text').classList.contains('old')")
    release = hold_back(page, "**/api/spectrum*")
    page.click("#tour-play")
    wait(page, "document.getElementById('tour-text').classList.contains('old')")
    assert release()
    wait(page, "onegrad.model().alpha === 0.2 && onegrad.idle")
    assert not page.evaluate("document.getElementById('tour-text').classList.contains('old')")
    assert "At α = 0.2, " in page.inner_text("#tour-text")
