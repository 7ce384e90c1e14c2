"""Labels off the curves, thresholds named, the whole bulk in view, hover on spikes, signs set."""

import numpy as np
import pytest
from browsing import finished, wait
from scipy.integrate import cumulative_trapezoid

import onegrad as og
from exploring import enter, visit
from onegrad.explorer.controls import PRESETS, read_problem

pytestmark = pytest.mark.filterwarnings("ignore::onegrad.exceptions.AssumptionWarning")
SETTING_2 = (
    "n=1000&phi=0.125&psi=0.5&activation=softplus&teacher=H1+%2B+H2%2Fsqrt(2)&noise=0&alpha="
)


def test_names_stand_above_the_plots_and_not_on_curves(page, url) -> None:
    visit(page, url, SETTING_2 + "0.4")
    finished(page)
    for view in ("spectrum", "errors"):
        top = page.evaluate(
            "id => document.getElementById(id).getBoundingClientRect().top"
            " + onegrad.figure(id.slice(5)).layout.margin.t",
            f"plot-{view}",
        )
        labels = page.locator(f"#plot-{view} .label")
        assert labels.count() >= 1
        for label in labels.all():
            box = label.bounding_box()
            assert box["y"] + box["height"] <= top + 2, label.inner_html()
    names = [label.text_content() for label in page.locator("#plot-errors .label").all()]
    assert names == ["linear 0", "quadratic ¼", "⅓", "⅜", "⅖"]
    ticks = page.locator("#ticks span").all_inner_texts()
    assert [tick.split()[0] for tick in ticks] == ["0", "¼", "⅓", "⅜", "⅖"]
    # softplus has no cubic part: its threshold is there, and said to be without a spike
    assert "has none" in page.locator("#ticks span").nth(2).get_attribute("title")
    legend = page.locator("#view-errors .legend span:has-text('kernel bound')")
    assert "rotation-invariant" in legend.get_attribute("title")


def test_the_whole_bulk_is_in_view_and_presets_say_what_to_look_at(page, url) -> None:
    for preset in PRESETS[:2] + PRESETS[3:]:
        visit(page, url, "&".join(f"{k}={v.replace('+', '%2B')}" for k, v in preset.query.items()))
        wait(page, "onegrad.figure('spectrum')")
        low, high = page.evaluate("onegrad.figure('spectrum').layout.xaxis.range.map(x => 10 ** x)")
        found = og.spectrum(read_problem(preset.query))
        mass = cumulative_trapezoid(found.rho, found.x, initial=0)
        assert np.interp(low**2, found.x, mass) / mass[-1] < 0.01, preset.name
        assert high**2 > max([found.edge, *(spike.eigenvalue for spike in found.spikes)])
        assert page.locator(f"#presets span:text-is('{preset.title}')").is_visible()
    papers = [link.get_attribute("href") for link in page.locator("#links a").all()]
    assert len(papers) == 3 and all(p.startswith("https://arxiv.org/abs/") for p in papers)


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


def test_minus_signs_and_subscripts_are_typeset(page, url) -> None:
    visit(page, url, SETTING_2 + "-0.1")
    finished(page)
    assert page.get_attribute("#alpha-slider", "aria-valuetext") == "−0.1"
    assert page.locator("#row-noise label sub").inner_text() == "ε"
    assert page.locator("#notes sub").first.inner_text() == "1"
    ticks = page.locator("#plot-errors .xtick").all_text_contents()
    assert "−0.2" in ticks
    enter(page, "alpha", "0.4")
    page.wait_for_selector("#caption-spectrum sup:has-text('0.10')")  # n to the power 0.10
    words = page.inner_text("body").lower()
    for talk in ("newton", "iteration", "quadrature", "nodes", "residual of", "converge"):
        assert talk not in words, talk
