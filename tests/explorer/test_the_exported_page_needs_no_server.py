"""onegrad explore --export: one file that loads nothing and moves over numbers computed before."""

import json
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from browsing import wait

import onegrad as og
from exploring import look_at, slide, watched
from onegrad.explorer import api, export
from onegrad.explorer.api import network_answer
from onegrad.explorer.controls import PRESETS, read_problem
from onegrad.explorer.export import SPECTRUM_ALPHAS, Grids, page_numbers, resized_query

pytestmark = pytest.mark.filterwarnings("ignore::onegrad.exceptions.AssumptionWarning")
CHEAP = {"n": "240", "phi": "0.25", "psi": "0.5", "readout": "rademacher"}
SMALL = tuple(replace(preset, query=preset.query | CHEAP) for preset in PRESETS[:2])
GRIDS = Grids(SMALL, ("0.1",), (1000,), api.CURVE_ALPHAS[::2], networks=2)
PROBLEM = read_problem(SMALL[0].query)
ROUNDING = 1e-5  # the page has six digits


@pytest.fixture(scope="module")
def values() -> dict[str, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", og.AssumptionWarning)
        return page_numbers(GRIDS)


@pytest.fixture(scope="module")
def file(values, tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("export") / "page.html"
    path.write_text(export.bundled_page(json.dumps(values)), encoding="utf-8")
    return path


@pytest.mark.full
def test_the_numbers_are_those_of_the_theory(values, file) -> None:
    setting = values["settings"][0]
    own, other = setting["ridges"]
    assert (own["ridge"], other["ridge"]) == ("0.01", "0.1")
    for part in (own, other):
        problem = PROBLEM.replace(ridge=float(part["ridge"]))
        for point in part["points"][::6]:
            expected = og.predict(problem, alpha=point["x"]).test
            assert point["test"] == pytest.approx(expected, rel=1e-3)
    at = SPECTRUM_ALPHAS.index(0.4)
    spikes = og.spectrum(PROBLEM.replace(alpha=0.4)).spikes
    shown = [s["eigenvalue"] for s in setting["spectra"][at]["spikes"]]
    assert shown == pytest.approx([s.eigenvalue for s in spikes], rel=ROUNDING)
    assert len(setting["spectra"]) == len(SPECTRUM_ALPHAS) == 86
    network = next(p for p in setting["networks"] if p["x"] == 0.425)
    assert network["eigenvalues"] == network_answer(PROBLEM.replace(alpha=0.425))["eigenvalues"]
    simulated = setting["simulation"]["points"]
    direct = og.simulate(PROBLEM, 2, alpha=[p["x"] for p in simulated]).test.mean
    assert [p["test"] for p in simulated] == pytest.approx(list(direct), rel=ROUNDING)
    # the page itself, and its numbers packed
    assert file.stat().st_size < 150_000 + len(json.dumps(values)) / 2


def test_another_size_keeps_the_ratios() -> None:
    given = PRESETS[-1].query  # sizes as numbers, and rows of the step of their own
    here, there = (
        read_problem(given),
        read_problem(resized_query(given, 100_000) | {"alpha": "0.3"}),
    )
    assert (there.phi, there.psi) == pytest.approx((here.phi, here.psi))
    assert there.rows_of_step / there.n == here.rows_of_step / here.n


@pytest.fixture
def exported(browser: Any, file: Path) -> Iterator[Any]:
    """The page opened from its file; it asks nobody for anything."""
    with watched(browser, file.as_uri(), offline=True) as page:
        page.goto(file.as_uri())
        wait(page, "window.onegrad?.model().here && onegrad.model().network && !onegrad.painting")
        yield page


def test_it_moves_without_a_server(exported) -> None:
    page = exported
    for alpha in (0.1, 0.4, 0.45):
        slide(page, "alpha", alpha, end=True)
        wait(page, f"onegrad.model().alpha === {alpha} && !onegrad.painting")
        problem = PROBLEM.replace(alpha=alpha)
        assert page.evaluate("onegrad.model().here.test") == pytest.approx(
            og.predict(problem).test, rel=5e-3
        )
        spikes = page.evaluate("onegrad.model().spectrum.spikes.map((s) => s.eigenvalue)")
        expected = [s.eigenvalue for s in og.spectrum(problem).spikes]
        assert spikes == pytest.approx(expected, rel=ROUNDING)
        network = page.evaluate("onegrad.model().network.eigenvalues.slice(0, 3)")
        direct = network_answer(problem)["eigenvalues"][:3]
        assert network == pytest.approx(direct, rel=0.03)  # between networks 0.075 in alpha apart
        reading = float(page.inner_text("#readings .test b"))
        assert reading == pytest.approx(og.predict(problem).test, rel=5e-3)
    assert page.locator("#plot-errors .trace .point").count() >= 9  # trained beforehand


def test_ridge_presets_tour_and_stairs_move_too(exported) -> None:
    page = exported
    page.focus("#ridge-slider")
    page.keyboard.press("End")
    wait(page, "onegrad.model().state.ridge === '0.1' && onegrad.model().here")
    at = page.evaluate("onegrad.model().alpha")
    expected = og.predict(PROBLEM.replace(ridge=0.1, alpha=at)).test
    assert page.evaluate("onegrad.model().here.test") == pytest.approx(expected, rel=5e-3)
    assert page.is_disabled("#teacher") and page.is_hidden("#simulate")
    page.click("#presets button:has-text('Two spikes, two stairs')")
    wait(page, "onegrad.model().state.activation === 'softplus' && onegrad.model().here")
    page.click("#tour-start")
    for step in range(6):
        wait(page, "onegrad.model().here && onegrad.idle")
        text = page.inner_text("#tour-text")
        assert "undefined" not in text and "NaN" not in text, step
        page.click("#tour-next")
    page.click(".tour-choices button:has-text('One spike, with noise')")
    wait(page, "onegrad.model().state.activation === 'tanh' && onegrad.idle")
    page.click("#tour-close")
    look_at(page, "stairs")
    assert "At n = 1000" in page.inner_text("#caption-stairs")


def test_in_a_frame_it_shows_two_pictures_and_plays(browser, file) -> None:
    options = {"viewport": {"width": 900, "height": 560}, "offline": True}
    with watched(browser, file.as_uri(), **options) as page:
        page.goto(file.as_uri() + "?embed")
        wait(page, "window.onegrad?.model().here", 180)
        shown = [v for v in api.VIEWS if page.locator(f"#view-{v}").is_visible()]
        assert shown == ["spectrum", "errors"]
        assert page.is_hidden("header") and page.is_hidden("#controls-panel")
        assert page.evaluate("document.documentElement.scrollHeight") <= 560
        before = page.evaluate("onegrad.model().alpha")
        wait(page, f"onegrad.model().alpha !== {before}")  # it plays by itself
        page.click("#play")
        assert page.get_attribute("#play", "aria-pressed") == "false"
        assert not page.get_attribute("#whole-page", "href").endswith("embed")
