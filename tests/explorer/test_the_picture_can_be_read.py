"""Thresholds are named, the whole bulk is in view, and spikes say what they are."""

import numpy as np
import pytest
from browsing import finished, wait
from scipy.integrate import cumulative_trapezoid

import onegrad as og
from exploring import visit
from onegrad.explorer.controls import PRESETS, read_problem

pytestmark = pytest.mark.filterwarnings("ignore::onegrad.exceptions.AssumptionWarning")
SETTING_2 = (
    "n=1000&phi=0.125&psi=0.5&activation=softplus&teacher=H1+%2B+H2%2Fsqrt(2)&noise=0&alpha="
)


def test_thresholds_are_named(page, url) -> None:
    visit(page, url, SETTING_2 + "0.4")
    finished(page)
    names = [label.text_content() for label in page.locator("#plot-errors .label").all()]
    assert names == ["linear 0", "quadratic ¼", "⅓", "⅜", "⅖"]


def test_the_whole_bulk_is_in_view(page, url) -> None:
    for preset in PRESETS[:2] + PRESETS[3:]:
        visit(page, url, "&".join(f"{k}={v.replace('+', '%2B')}" for k, v in preset.query.items()))
        wait(page, "onegrad.figure('spectrum')")
        low, high = page.evaluate("onegrad.figure('spectrum').layout.xaxis.range.map(x => 10 ** x)")
        found = og.spectrum(read_problem(preset.query))
        mass = cumulative_trapezoid(found.rho, found.x, initial=0)
        assert np.interp(low**2, found.x, mass) / mass[-1] < 0.01, preset.name
        assert high**2 > max([found.edge, *(spike.eigenvalue for spike in found.spikes)])


def test_a_spike_says_what_it_is(page, url) -> None:
    visit(page, url, SETTING_2 + "0.45")
    finished(page)
    problem = og.Problem(
        n=1000, d=125, N=250, activation="softplus", teacher="H1 + H2/sqrt(2)", alpha=0.45
    )
    spikes = og.spectrum(problem).spikes
    assert len(spikes) == 2
    for i, (spike, name) in enumerate(zip(spikes, ("linear", "quadratic"), strict=True)):
        circle = page.locator("#plot-spectrum circle[r='6']").nth(i).bounding_box()
        page.mouse.move(circle["x"] + 6, circle["y"] + 6)
        bubble = page.locator("#plot-spectrum .bubble")
        assert bubble.is_visible()
        text = bubble.inner_text()
        assert f"{name} spike at s/√n = {spike.eigenvalue**0.5:.3f}" in text
        assert f"aligned with the {name} part" in text
    page.mouse.move(2, 2)
    assert page.locator("#plot-spectrum .bubble").is_hidden()
