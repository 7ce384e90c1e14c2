"""to_dict is JSON and comes back the same, a DataFrame has the rows, HTML escapes its words."""

from __future__ import annotations

import json
import sys
from html.parser import HTMLParser

import numpy as np
import pytest

import onegrad as og
from onegrad.networks import spectrum as measure

TAGS = {"p", "b", "br", "table", "thead", "tbody", "tr", "th", "td"}
PROBLEM = og.Problem(n=120, d=60, N=80, alpha=0.4)


def cube(x):
    return x**3


def slope(x):
    return 3 * x**2


def results():
    few = np.array([0.1, 0.3])
    yield og.predict(PROBLEM)
    yield og.predict(PROBLEM, "small-step", alpha=few, n=np.array([100, 200]))
    yield og.predict(PROBLEM, "random-features", activation=["tanh", (cube, slope)])
    yield og.simulate(PROBLEM, seeds=1)  # one seed has no standard error: null
    yield og.simulate(PROBLEM, seeds=2, alpha=few, activation=["tanh", "erf"])
    yield og.spectrum(PROBLEM)
    yield measure(PROBLEM, seeds=2)


@pytest.fixture(scope="module")
def every():
    return list(results())


def test_to_dict_survives_json(every):
    for result in every:
        found = result.to_dict()
        assert json.loads(json.dumps(found, allow_nan=False)) == found


def test_a_dataframe_has_a_row_a_point(every):
    for result, rows in zip(every, (1, 4, 2, 1, 4, 1, 16), strict=True):
        assert len(result.to_dataframe()) == rows
    frame, p = every[1].to_dataframe(), every[1]
    assert frame["test"].to_numpy() == pytest.approx(p.test.ravel())
    assert frame["n"].tolist() == [100, 200, 100, 200]
    assert every[2].to_dataframe()["activation"].tolist() == ["tanh", "cube"]
    spikes = every[5].to_dataframe()
    assert spikes["s/sqrt(n)"].to_numpy() ** 2 == pytest.approx(spikes["eigenvalue"])
    one = every[6]
    assert one.to_dataframe()["eigenvalue"][:8].to_numpy() == pytest.approx(one.eigenvalues[0])


class Cells(HTMLParser):
    """Tags that are open, and the texts of the table's cells."""

    def __init__(self):
        super().__init__()
        self.open, self.cells, self.tags = [], [], set()

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open[-1] == "td":
            self.cells.append(data)


def test_html_shows_the_numbers_and_escapes_the_words(every):
    for result in every:
        page = Cells()
        page.feed(result._repr_html_())
        assert page.open == [] and page.tags <= TAGS
        assert page.cells
    page = Cells()
    page.feed(every[0]._repr_html_())
    assert f"{every[0].test:.5g}" in page.cells

    def bold(x):
        return np.tanh(x)

    bold.__name__ = "<b>&"
    text = og.predict(PROBLEM.replace(teacher=bold), "random-features")._repr_html_()
    assert "teacher = &lt;b&gt;&amp;" in text and "<b>&" not in text


def test_a_long_table_says_what_it_leaves_out():
    p = og.predict(PROBLEM, "random-features", ridge=np.geomspace(0.1, 1, 30).tolist())
    assert "… and 18 more rows" in p._repr_html_()
    assert p._repr_html_().count("<tr>") == 13


def test_a_missing_library_is_one_line(monkeypatch):
    p = og.predict(PROBLEM, "random-features", ridge=[0.1, 1.0])
    for library, call in (("matplotlib", p.plot), ("pandas", p.to_dataframe)):
        monkeypatch.setitem(sys.modules, library, None)
        message = f"^{call.__name__} needs {library}: pip install {library}$"
        with pytest.raises(ImportError, match=message):
            call()
