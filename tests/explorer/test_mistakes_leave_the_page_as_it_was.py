"""A bad field keeps the last good picture, and a bad link opens the defaults and says so."""

from typing import Any

from browsing import finished, wait

from exploring import SMALL, enter, hold_back, look_at, query_of, visit

BAD = (
    ("n", "ten", "n must be a whole number"),
    ("n", "5e12", "from 2 to 1,000,000,000"),
    ("n", "", "n must be"),
    ("d", "0", "d must be"),
    ("ridge", "-3", "ridge must be"),
    ("ridge", "0", "from 0.00"),
    ("eta", "-1", "eta must be"),
    ("alpha", "nan", "alpha must be"),
    ("alpha", "", "alpha must be a number"),
    ("teacher", "H1 + ", "a term is missing"),
)
LINKS = (
    ("n=ten", "n must be a whole number"),
    ("teacher=import+os", "teacher"),
    ("alpha=0.1&eta=2", "given twice"),
    ("nonsense=1", "no control nonsense"),
    ("axis=q", "axis must be"),
    ("n=10&phi=0.01", "it makes d"),
)
WORDS = ("#readings", "#caption-errors", "#caption-spectrum", "#caption-learned", "#derived")


def words(page: Any) -> list[str]:
    return [page.inner_text(selector) for selector in WORDS]


def test_words_and_pictures_stay_while_a_field_is_wrong(page, url) -> None:
    visit(page, url)
    look_at(page, "stairs")
    wait(page, "onegrad.model().stairs.curve?.finished && !onegrad.model().stale.network")
    page.wait_for_timeout(200)
    before = words(page)
    assert "test" in before[0]
    for field, text, message in BAD:
        page.wait_for_timeout(300)  # the address follows a gesture a little later
        good, address = page.input_value(f"#{field}"), query_of(page)
        page.fill(f"#{field}", text)
        page.wait_for_selector(f"#error-{field}:has-text('{message}')")
        assert page.get_attribute(f"#{field}", "aria-invalid") == "true"
        wait(page, "!onegrad.painting && !document.querySelector('.plot.stale')")
        assert words(page) == before, field
        body = page.inner_text("body")
        assert "NaN" not in body and "computing" not in body.lower() and "undefined" not in body
        values = page.eval_on_selector_all("input", "nodes => nodes.map(node => node.value)")
        assert "NaN" not in values
        assert query_of(page) == address  # a link to the page is a link to what it shows
        page.fill(f"#{field}", good)
        wait(page, f"!document.getElementById('error-{field}').textContent")
        assert page.get_attribute(f"#{field}", "aria-invalid") == "false"


def test_a_bad_link_opens_the_defaults_and_says_so(page, url) -> None:
    for query, word in LINKS:
        visit(page, url, query)
        notice = page.inner_text("#notice-text")
        assert "could not be read" in notice and "default setting" in notice and word in notice
        assert query_of(page)["n"] == "4000" and query_of(page)["alpha"] == "0.3"
        assert page.input_value("#teacher") == "H1 + H2/sqrt(2)"
        page.click("#notice-close")
        assert page.is_hidden("#notice")
    for query in (SMALL, "alpha="):  # good links say nothing
        visit(page, url, query)
        assert page.is_hidden("#notice") and query_of(page)["alpha"] == "0.3"


def test_an_activation_that_is_refused_leaves_nothing_behind(page, url) -> None:
    """Its limits are answered and its spectrum is not, in whichever order the answers come."""
    refusal = {"field": "activation", "message": "this activation has no spectrum"}
    page.route(
        "**/api/spectrum?*activation=cos*", lambda route: route.fulfill(status=422, json=refusal)
    )
    visit(page, url, "n=300&d=100&N=150&activation=relu&teacher=H2&alpha=0.3")
    finished(page)
    before = words(page)
    teacher, neurons = (page.evaluate(f"JSON.stringify(onegrad.model().{x})") for x in (
        "instant", "network.eigenvalues.length"))  # fmt: skip
    release = hold_back(page, "**/api/instant?*activation=cos*")
    enter(page, "activation", "cos")
    page.wait_for_selector("#error-activation:not(:empty)")
    wait(page, "onegrad.complaint !== null")
    assert release()  # the answer about cos comes after the page has gone back
    page.wait_for_timeout(300)
    wait(page, "!onegrad.painting")
    assert page.evaluate("JSON.stringify(onegrad.model().instant)") == teacher
    assert page.evaluate("JSON.stringify(onegrad.model().network.eigenvalues.length)") == neurons
    assert words(page) == before
    assert page.locator(".plot.stale").count() == 0
