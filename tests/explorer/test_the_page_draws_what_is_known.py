"""Every view of the page draws what theory and networks give, whatever sets the state."""

import pytest
from browsing import finished, wait

import onegrad as og
from exploring import QUADRATURE, enter, figure, query_of, series, visit

PROBLEM = og.Problem(n=300, d=100, N=150, teacher="tanh", noise=0.1, ridge=0.05)  # as SMALL


def test_a_slider_moves_the_picture(page, url) -> None:
    visit(page, url)
    finished(page)

    def look() -> tuple[float, float, float]:
        cursor = page.locator("#plot-errors .cursor").bounding_box()["x"]
        spike = max(s["x"][0] for s in figure(page, "spectrum") if "spike" in s["name"])
        fitted = series(page, "learned", "fitted, mean given u")["y"][-1]
        return cursor, spike, fitted

    before = look()
    expected = og.spectrum(PROBLEM.replace(alpha=0.3)).spikes[0].eigenvalue
    assert before[1] ** 2 == pytest.approx(expected)
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


def test_steps_off_the_curve_are_computed_and_a_click_sets_one(page, url) -> None:
    visit(page, url)
    for field, value in (("eta", "0"), ("alpha", "0.7")):
        enter(page, field, value)
        wait(page, f"onegrad.model().state.{field} === '{value}' && onegrad.model().here")
        expected = og.predict(PROBLEM.replace(**{field: float(value)})).test
        assert page.evaluate("onegrad.model().here.test") == pytest.approx(expected, rel=QUADRATURE)
    finished(page)  # a click on the curve sets the step, too
    box = page.locator("#plot-errors .chart").bounding_box()
    inside = box["width"] - 52 - 14  # the margins
    page.mouse.click(box["x"] + 52 + 0.8 * inside, box["y"] + 0.5 * box["height"])
    wait(page, "Math.abs(onegrad.model().alpha - 0.43) < 0.02")


def test_simulation_drops_markers_with_bars_and_can_be_cancelled(page, url) -> None:
    visit(page, url)
    page.fill("#seeds", "1")
    page.click("#simulate")
    page.wait_for_selector("#simulation-status:has-text('Simulated in')", timeout=600_000)
    finished(page)
    for view in ("errors", "learned"):
        found = series(page, view, "simulated")
        assert len(found["x"]) > 5 and set(found["bars"]) == {None}
        assert page.locator(f"#plot-{view} .errorbar").count() == 0
        assert "NaN" not in page.inner_text(f"#view-{view}")
    marker = page.locator("#plot-errors .trace .point").first.bounding_box()
    page.mouse.move(marker["x"] + marker["width"] / 2, marker["y"] + marker["height"] / 2)
    said = page.locator("#plot-errors .bubble").inner_text()
    assert "simulated" in said and "±" not in said

    page.fill("#seeds", "2")
    page.click("#simulate")
    wait(
        page, "Math.max(...onegrad.figure('errors').data.flatMap(t => t.error_y?.array ?? [])) > 0"
    )
    page.wait_for_selector("#simulation-status:has-text('Simulated in')", timeout=600_000)
    for view in ("errors", "learned"):
        found = series(page, view, "simulated")
        assert len(found["x"]) > 5 and max(found["bars"]) > 0
    assert any("networks" in s["name"] for s in figure(page, "spectrum"))
    shown = series(page, "errors", "simulated")
    direct = og.simulate(PROBLEM, 2, alpha=shown["x"]).test
    assert shown["y"] == pytest.approx(direct.mean, rel=1e-9)
    assert shown["bars"] == pytest.approx(2 * direct.se, rel=1e-9)

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
