"""to_dict is JSON and comes back the same, a DataFrame has the rows, HTML escapes its words."""

import json
import sys
from xml.etree import ElementTree

import numpy as np
import pytest

import onegrad as og
from onegrad.networks import spectrum as measure

TAGS = {"p", "b", "br", "table", "thead", "tbody", "tr", "th", "td"}
PROBLEM = og.Problem(n=120, d=60, N=80, alpha=0.4)


def cube(x):
    return x**3


@pytest.fixture(scope="module")
def every():
    few, with_slope = np.array([0.1, 0.3]), (cube, lambda x: 3 * x**2)
    return [
        og.predict(PROBLEM),
        og.predict(PROBLEM, "small-step", alpha=few, n=np.array([100, 200])),
        og.predict(PROBLEM, "random-features", activation=["tanh", with_slope]),
        og.simulate(PROBLEM, seeds=1),  # one seed has no standard error: null
        og.simulate(PROBLEM, seeds=2, alpha=few, activation=["tanh", "erf"]),
        og.spectrum(PROBLEM),
        measure(PROBLEM, seeds=2),
    ]


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


def tags_and_cells(page):
    """The tags of a page that is well formed but for its line breaks, and its table's cells."""
    elements = list(ElementTree.fromstring(f"<div>{page.replace('<br>', '<br/>')}</div>").iter())
    return {e.tag for e in elements[1:]}, [e.text for e in elements if e.tag == "td"]


def test_html_shows_the_numbers_and_escapes_the_words(every):
    for result in every:
        tags, cells = tags_and_cells(result._repr_html_())
        assert tags <= TAGS and cells
    _, cells = tags_and_cells(every[0]._repr_html_())
    assert any(cell.startswith(f"{every[0].test:.4f} ±") for cell in cells)
    noisy = og.predict(PROBLEM, "random-features", eta=0.0, noise=0.5)
    # without noise the risk is the test error
    assert ("risk" in noisy._repr_html_(), "risk" in every[0]._repr_html_()) == (True, False)

    def bold(x):
        return np.tanh(x)

    bold.__name__ = "<b>&"
    text = og.predict(PROBLEM.replace(teacher=bold), "random-features")._repr_html_()
    assert "teacher = &lt;b&gt;&amp;" in text and "<b>&" not in text


def test_values_stand_beside_their_errors(every):
    assert f"test={every[0].test:.4f} ± " in repr(every[0])
    assert repr(every[3].test) in every[3]._repr_html_()


def test_a_problem_and_a_function_show_what_they_are():
    assert repr(PROBLEM) == "Problem(n=120, d=60, N=80, alpha=0.4)"
    assert repr(og.Problem(n=4, d=3, N=2)) == "Problem(n=4, d=3, N=2, eta=0.0)"
    teacher = PROBLEM.replace(teacher="x^2 + x").teacher_function
    assert repr(teacher) == "Function('x^2 + x': 1 + H1 + H2)"


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
