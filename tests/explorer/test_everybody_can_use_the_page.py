"""The page explains mistakes and papers' notations, fits a phone, and needs no mouse."""

import re

from browsing import finished, wait

from exploring import enter, look_at, series, visit, watched


def test_a_phone_shows_everything_without_scrolling_sideways(page, url) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.emulate_media(color_scheme="dark")
    visit(page, url)
    finished(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    look_at(page, "sizes")
    page.wait_for_selector("#plot-sizes svg.chart .xtick")
    assert page.locator("#alpha-slider").is_visible()  # the step stays in sight
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert sum(map(int, re.findall(r"\d+", background)[:3])) < 120


def test_every_control_can_be_reached_by_keyboard(page, url) -> None:
    visit(page, url)
    reached = set()
    for _ in range(80):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.id"))
    controls = {"alpha-slider", "alpha", "eta", "activation", "teacher", "noise", "n", "d", "N"}
    assert controls | {"ridge", "weights", "readout", "residual", "seeds", "simulate"} <= reached


CONTRAST = """() => {
  const rgb = (text) => text.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((v) => v / 255)
    .map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (node) => {
    for (let at = node; at; at = at.parentElement) {
      const color = rgb(getComputedStyle(at).backgroundColor);
      if (color.length === 3 || color[3] === 1) return color;
    }
    return rgb(getComputedStyle(document.body).backgroundColor);
  };
  const bad = [];
  for (const node of document.querySelectorAll("body *, svg text")) {
    const own = [...node.childNodes].some((child) => child.nodeType === 3 && child.data.trim());
    const box = node.getBoundingClientRect();
    if (!own || !box.width || node.closest("[hidden], :disabled, script, .tip")) continue;
    const svg = node instanceof SVGElement;
    const ink = light(rgb(getComputedStyle(node)[svg ? "fill" : "color"]));
    const paper = light(behind(svg ? node.closest(".plot") : node));
    const ratio = (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05);
    const faded = getComputedStyle(node).opacity < 1;
    if (ratio < 4.5 || faded) bad.push([node.textContent.slice(0, 30), ratio]);
  }
  return bad;
}"""


def test_every_word_stands_out_from_its_ground(page, url) -> None:
    visit(page, url)
    finished(page)
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        page.wait_for_timeout(800)
        assert page.evaluate(CONTRAST) == [], scheme


TARGETS = """least => [...document.querySelectorAll("button, select, input, summary, a")]
  .filter((node) => node.offsetParent && !node.closest("p, nav[aria-label=Papers], .skip"))
  .map((node) => [node.id || node.textContent, (node.closest("label") ?? node)])
  .map(([name, node]) => [name, node.getBoundingClientRect()])
  .filter(([, box]) => box.width && (box.height < least - 0.5 || box.width < least - 0.5))
  .map(([name, box]) => `${name}: ${box.width} x ${box.height}`)"""


def test_targets_are_large_enough_for_a_mouse_and_for_a_finger(browser, url) -> None:
    for touch, size, least in ((False, (1400, 1300), 24), (True, (390, 844), 44)):
        viewport = dict(zip(("width", "height"), size, strict=True))
        hand = {"viewport": viewport, "has_touch": touch, "is_mobile": touch}
        with watched(browser, url, **hand) as page:
            visit(page, url, "tour=2")
            page.evaluate("document.querySelectorAll('details').forEach((d) => (d.open = true))")
            small = [t for t in page.evaluate(TARGETS, least) if not re.match(r"[\w-]*slider:", t)]
            assert small == [], touch


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
    box = tip.bounding_box()
    for field in page.locator("#controls input:visible, #controls select:visible").all():
        other = field.bounding_box()
        apart = (
            other["x"] + other["width"] <= box["x"] or box["x"] + box["width"] <= other["x"]
            or other["y"] + other["height"] <= box["y"] or box["y"] + box["height"] <= other["y"]
        )  # fmt: skip
        assert apart, field.get_attribute("id")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "teacher"
    assert tip.evaluate("node => getComputedStyle(node).pointerEvents") == "none"


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
