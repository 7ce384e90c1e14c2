"""The page explains mistakes and papers' notations, fits a phone, and needs no mouse."""

import re

from browsing import finished, wait

from exploring import enter, look_at, series, visit


def test_a_phone_shows_everything_without_scrolling_sideways(page, url) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    visit(page, url)
    finished(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    look_at(page, "sizes")
    page.wait_for_selector("#plot-sizes svg.chart .xtick")
    assert page.locator("#alpha-slider").is_visible()  # the step stays in sight


def test_every_control_can_be_reached_by_keyboard(page, url) -> None:
    visit(page, url)
    reached = set()
    for _ in range(80):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.id"))
    controls = {"alpha-slider", "alpha", "eta", "activation", "teacher", "noise", "n", "d", "N"}
    assert controls | {"ridge", "weights", "readout", "residual", "seeds", "simulate"} <= reached


def test_help_comes_after_its_field_and_names_each_papers_notation(page, url) -> None:
    visit(page, url)
    page.focus("#row-ridge .help button")
    tip = page.locator("#tip-ridge")
    for paper in ("Moniri et al. 2024", "Ba et al. 2022", "Cui et al. 2024"):
        assert paper in tip.inner_text()
    page.keyboard.press("Escape")
    assert tip.is_hidden()
    page.focus("#activation")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.ariaLabel").startswith("About Activation")
    tip = page.locator("#tip-activation")
    assert tip.is_visible()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "teacher"


def test_every_chart_is_told_in_numbers(page, url) -> None:
    visit(page, url)
    for view in ("spectrum", "errors", "learned", "neurons", "stairs", "sizes"):
        look_at(page, view)
        told = page.get_attribute(f"#plot-{view}", "aria-label")
        assert len(re.findall(r"\d", told)) >= 4, (view, told)
        assert "NaN" not in told and "undefined" not in told
    errors = page.get_attribute("#plot-errors", "aria-label")
    curve = series(page, "errors", "test")
    assert f"{curve['y'][0]:#.4g} at −0.25" in errors and f"{curve['y'][-1]:#.4g} at 0.6" in errors


def test_fields_take_what_people_type(page, url) -> None:
    visit(page, url)

    def take(field: str, text: str, value: str) -> None:
        enter(page, field, text)
        wait(page, f"onegrad.model().state.{field} === '{value}' && !onegrad.complaint")

    for text, value in (("4,000", "4000"), ("1,250", "1250"), ("2 000", "2000")):
        take("n", text, value)
    take("noise", "0,3", "0.3")
    for formula, text in (
        ("x^3 - 3*x", "= H₃"),
        ("tanh(2*x)", "= 0.729 H₁ − 0.102 H₃ + 0.013 H₅ − 0.00133 H₇ + ..."),
        ("H1 + H3/2", "= H₁ + 0.5 H₃"),
    ):
        take("teacher", formula, formula)
        wait(page, "onegrad.model().here && onegrad.idle")
        assert page.inner_text("#expansion-teacher") == text
    page.focus("#noise-slider")  # a slider that has the focus follows a preset
    one_spike = "document.querySelectorAll('#presets button')[1]"
    page.evaluate(f"{one_spike}.dispatchEvent(new Event('click'))")
    wait(page, "onegrad.model().state.noise === '1'")
    assert page.evaluate("document.activeElement.id") == "noise-slider"
    assert page.input_value("#noise-slider") == "1"
