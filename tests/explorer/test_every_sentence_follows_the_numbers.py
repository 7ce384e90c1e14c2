"""The numbers in the sentences of the page are those that theory gives, after every move."""

import re
from typing import Any

import numpy as np
import pytest
from browsing import finished, wait
from scipy.integrate import cumulative_trapezoid

import onegrad as og
from exploring import enter, figure, hold_back, look_at, series, visit
from onegrad.explorer.api import reference_levels
from onegrad.networks import neurons
from onegrad.theory import learned_coefficients

QUERY = (
    "n=400&d=50&N=100&activation=softplus&teacher=H1+%2B+H2%2Fsqrt(2)&noise=0.1&ridge=0.02"
    "&stairs=1000&alpha="
)
PROBLEM = og.Problem(
    n=400, d=50, N=100, activation="softplus", teacher="H1 + H2/sqrt(2)", noise=0.1, ridge=0.02
)
DEGREES = ("linear", "quadratic", "cubic", "quartic")
STEPS = ("-0.2", "0.11", "0.25", "0.31", "0.4", "0.44", "0.58")
ROUNDING = 0.006  # three digits, and points between those of the curve
pytestmark = pytest.mark.filterwarnings("ignore::onegrad.exceptions.AssumptionWarning")


def move(page: Any, alpha: str) -> og.Problem:
    """Move the slider there, wait until all is known, and give the problem that is shown."""
    enter(page, "alpha", alpha)
    wait(page, f"onegrad.model().alpha === {alpha}")
    wait(page, "onegrad.idle && onegrad.model().curve.finished")
    return PROBLEM.replace(alpha=float(alpha))


def caption(page: Any, view: str) -> str:
    return page.get_attribute(f"#caption-{view}", "data-text")


def numbers(text: str) -> list[float]:
    return [float(x) for x in re.findall(r"−?\d+(?:\.\d+)?", text.replace("−", "-"))]


def test_sentences_after_every_move_of_the_step(page, url) -> None:
    visit(page, url, QUERY + "0.3")
    finished(page)
    untrained = og.predict(PROBLEM, eta=0.0).test
    bound = reference_levels(PROBLEM)["kernel"]
    for alpha in STEPS:
        problem = move(page, alpha)
        test = float(og.predict(problem).test)
        said = caption(page, "errors")
        value, drop, level = numbers(said)[:3]
        assert value == pytest.approx(test, rel=ROUNDING)
        assert drop == pytest.approx(100 * abs(1 - test / untrained), abs=1.1)
        assert level == pytest.approx(bound, rel=ROUNDING)
        if abs(1 - test / untrained) > 0.006:
            assert ("below the untrained" in said) == (test < untrained)
        assert ("and below the kernel bound" in said) == (test < bound)

        found = learned_coefficients(problem)
        fit, target = found.learned[1:3], found.target[1:3]
        shares = np.clip(fit * (2 * target - fit) / target**2, 0, None)
        assert numbers(caption(page, "learned")) == pytest.approx(100 * shares, abs=1.1)

        cloud = neurons(problem)
        before, _, chance, after, share = numbers(caption(page, "neurons"))
        rms = [np.sqrt(np.mean(x**2)) for x in (cloud.before, cloud.after)]
        assert (before, after) == pytest.approx(rms, rel=ROUNDING)
        assert chance == pytest.approx(50**-0.5, rel=ROUNDING)
        correlation = np.corrcoef(cloud.readout, cloud.after)[0, 1]
        assert share == pytest.approx(100 * correlation, abs=0.6)

        reading = page.inner_text("#readings")
        shown = re.search(r"test ([\d.]+)", reading)
        assert shown and float(shown[1]) == pytest.approx(test, rel=2e-3)
        check_spikes(page, problem)


def check_spikes(page: Any, problem: og.Problem) -> None:
    """The spikes of caption and reading are those of theory, with their degrees and shares."""
    said, reading = caption(page, "spectrum"), page.inner_text("#readings")
    spikes = og.spectrum(problem).spikes
    first = said.partition(".")[0]
    tops = [max(spike.alignment.items(), key=lambda kv: kv[1]) for spike in spikes]
    assert [DEGREES.index(w) + 1 for w in re.findall("|".join(DEGREES), first)] == [
        degree for degree, _ in tops
    ]
    shares = [int(x) for x in re.findall(r"(\d+)\s%", first)]
    assert shares == pytest.approx([100 * share for _, share in tops], abs=0.6)
    assert f"spikes {len(spikes)} at n = 400" in reading.replace("\n", " ")
    if problem.alpha < 0.5:  # beyond, the limit has no count
        # degrees 3, 5, ... of softplus have no spike: it is x/2 and an even function
        degrees = range(1, og.spike_count(problem.alpha) + 1)
        limit = [k for k in degrees if (k == 1 or k % 2 == 0) and k <= 8]
        more = " or more" if problem.alpha > og.thresholds(8)[-1] else ""
        assert f", {len(limit)}{more} as n → ∞" in reading


def test_the_sentence_of_the_stairs_and_its_slider(page, url) -> None:
    visit(page, url, QUERY + "0.3")
    look_at(page, "stairs")
    widths = []
    for n, text in ((1000, "1000"), (10_000, "10000"), (100_000, "10⁵")):
        wait(page, f"onegrad.model().stairs.n === {n} && onegrad.model().stairs.curve?.finished")
        look_at(page, "stairs")
        said = caption(page, "stairs")
        curve = series(page, "stairs", f"n = {text}")
        there = PROBLEM.replace(n=n, d=n // 8, N=n // 4)
        at = curve["x"].index(0.25)
        assert curve["y"][at] == pytest.approx(og.predict(there, alpha=0.25).test, rel=2e-3)
        high, low = (og.predict(PROBLEM, theory="staircase", alpha=a).test for a in (0.2, 0.3))
        # the curve falls around the stair, so that levels can be read off backwards
        levels = [low + 0.25 * (high - low), high - 0.25 * (high - low)]
        passed = np.interp(levels, curve["y"][::-1], curve["x"][::-1])
        width = numbers(said.split("stair is ")[1])[0]
        assert width == pytest.approx(passed[0] - passed[1], abs=0.002)
        widths.append(width)
        page.focus("#stairs-slider")
        page.keyboard.press("ArrowRight")
        page.keyboard.press("ArrowRight")
    assert widths[0] > 1.2 * widths[1] > 1.2**2 * widths[2]


def test_the_best_size_is_the_least_of_its_curve(page, url) -> None:
    visit(page, url, QUERY + "0.3")
    look_at(page, "sizes")
    assert page.evaluate("onegrad.model().sizes.finished")
    said, curve = caption(page, "sizes"), series(page, "sizes", "test")
    best = curve["x"][int(np.argmin(curve["y"]))]
    assert numbers(said)[0] == 2.0  # N/d
    assert numbers(said)[-1] == pytest.approx(best, rel=ROUNDING)


def test_the_network_of_another_setting_is_not_shown(page, url) -> None:
    """While the new one is trained: no numbers of the old one, no histogram over the new bulk."""
    visit(page, url, QUERY + "0.3")
    finished(page)
    release = hold_back(page, "**/api/network*")
    enter(page, "n", "600")
    wait(page, "onegrad.model().sizesNow.n === 600 && onegrad.model().here && !onegrad.painting")
    wait(page, "!onegrad.model().stale.spectrum && !onegrad.painting")
    assert page.evaluate("onegrad.model().network") is None
    assert page.locator("#caption-neurons.old").count() == 1
    assert not [s for s in figure(page, "spectrum") if "network" in s["name"]]
    assert release()
    finished(page)
    assert [s for s in figure(page, "spectrum") if "network" in s["name"]]
    assert page.locator("#caption-neurons.old").count() == 0


def test_the_bulk_of_a_network_is_the_one_that_is_drawn(page, url) -> None:
    """Also after a long step: the bulk without one has 22 % of its mass elsewhere."""
    setting = "n=2000&d=250&N=500&activation=softplus&teacher=H1+%2B+H2%2Fsqrt(2)&noise=0&alpha="
    visit(page, url, setting + "0.55")
    finished(page)
    law = page.evaluate("onegrad.model().spectrum")
    mass = cumulative_trapezoid(law["rho"], law["x"], initial=0)
    eigenvalues = np.array(page.evaluate("onegrad.model().network.eigenvalues"))
    bulk = np.sort(eigenvalues[len(law["spikes"]) :])
    shares = (np.arange(len(bulk)) + 0.5) / len(bulk)
    displaced = np.abs(np.interp(bulk, law["x"], mass / mass[-1]) - shares).max()
    assert displaced < 0.03


@pytest.mark.parametrize("noise", [0.1, 1.5])
def test_the_best_step_is_that_of_the_library(page, url, noise) -> None:
    visit(page, url, QUERY.replace("noise=0.1", f"noise={noise}") + "0.3")
    finished(page)
    best = og.optimum(PROBLEM.replace(noise=noise), "alpha")
    said = caption(page, "errors")
    stars = [s for s in figure(page, "errors") if s["name"] == "best step"]
    if best.values["alpha"] > 0.6:  # beyond the axis
        assert "smallest at the end of the axis, α = 0.6" in said and not stars
        return
    assert stars[0]["x"][0] == pytest.approx(best.values["alpha"], abs=0.02)
    assert stars[0]["y"][0] == pytest.approx(best.test, rel=2e-3)
    assert f"The best step is α = {stars[0]['x'][0]:.2f} (★)" in said
