"""`onegrad reproduce` writes figures, numbers and one page that needs nothing else."""

import csv
import json
import re
import textwrap
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import onegrad.studies
from onegrad import Problem
from onegrad.cli import main
from onegrad.experiments import Point
from onegrad.experiments.report.page import typeset
from onegrad.experiments.tables import point_rows
from onegrad.studies import gallery

FIGURES = ["first-figure", "second-figure"]
SPEC = """
order = {order}
convention = "ba"

[text]
title = "A figure with <b>markup</b> & more"
caption = "What it shows."
parameters = "Ours."
finding = "The lowest risk is {{{{ lowest|number('.3f') }}}}, at {{{{ sizes }}}} sizes."

[[headline]]
says = "It is small"
quantity = "lowest risk of {{{{ sizes }}}} sizes"
value = "lowest"
below = 10

[[headline]]
says = "It is large"
quantity = "lowest risk of {{{{ sizes }}}} sizes"
value = "lowest"
above = 10

[problem]
d = 24
psi2 = 2
lam = 1e-2
activation = "erf"
teacher = "erf"
eta = [0, 5]
psi1 = [1, 2, 4]

[[grid]]
name = "simulation"
measure = "errors"
seeds = 6
seeds_per_cell = 3

[[grid]]
name = "uniform"
measure = "theory"
options.theory = "uniform"
"""


def _example() -> str:
    """The module that docs/add_a_figure.md explains."""
    page = Path(__file__).parents[2] / "docs" / "add_a_figure.md"
    code, _ = re.findall(r"```python[^\n]*\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    return textwrap.dedent(code)


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A report of two figures, added as the documentation says: a TOML and a module each."""
    here = tmp_path_factory.mktemp("figures")
    (here / "mine").mkdir()
    for order, name in enumerate(FIGURES, start=1):
        stem = name.replace("-", "_")
        (here / "mine" / f"{stem}.toml").write_text(SPEC.format(order=order), encoding="utf-8")
        (here / "mine" / f"{stem}.py").write_text(_example(), encoding="utf-8")
    directory = tmp_path_factory.mktemp("reproduce")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LOKY_MAX_CPU_COUNT", "1")  # in this process
        patch.setattr(gallery, "HERE", here)
        patch.setattr(onegrad.studies, "__path__", [*onegrad.studies.__path__, str(here)])
        assert main(["reproduce", "mine", "--out", str(directory)]) == 1, "a sentence is wrong"
        yield directory


class _References(HTMLParser):
    """Everything a page would load, and its unbalanced tags."""

    def __init__(self) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.links: list[str] = []
        self.ids: set[str] = set()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.loaded += [str(values[k]) for k in ("src", "srcset", "data") if k in values]
        if tag == "link" or tag == "script":
            self.loaded.append(tag)
        if tag == "a":
            self.links.append(str(values["href"]))
        if values.get("id"):
            self.ids.add(str(values["id"]))
        if tag not in ("meta", "img", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_loads_nothing(out: Path) -> None:
    text = (out / "report.html").read_text(encoding="utf-8")
    page = _References()
    page.feed(text)
    assert page.open == []
    assert page.loaded and all(source.startswith("data:image/") for source in page.loaded)
    assert "url(" not in text
    assert {link.removeprefix("#") for link in page.links} <= page.ids
    assert page.ids == {*FIGURES, "theory-against-networks", "what-was-run"}
    assert page.links[: len(page.ids)] == [
        *(f"#{name}" for name in FIGURES),
        "#theory-against-networks",
        "#what-was-run",
    ], "contents first, in reading order"


def test_a_sentence_is_shown_with_what_decides_it(out: Path) -> None:
    text = (out / "report.html").read_text(encoding="utf-8")
    verdict = re.search(r'<p class="verdict miss">(.*?)</p>', text, re.DOTALL)
    assert verdict and "2 of 4 claims of the figures hold" in verdict[1]
    assert text.index("verdict miss") < text.index("<nav>") < text.index("<figure>")
    shown = re.findall(r"<tr><td>(.*?)</td><td>(.*?)</td><td>(.*?)</td><td>(.*?)</td>", text)
    lowest = "lowest risk of 3 sizes"
    first, second, *others = (row for row in shown if row[1] == lowest)
    record = json.loads((out / "figures" / "first-figure.json").read_text(encoding="utf-8"))
    value = f"{record['facts']['lowest']:.3g}"
    assert first == ("It is small", lowest, value, "&lt; 10") and second[3] == "&gt; 10"
    assert len(others) == 2
    assert [h["holds"] for h in record["headlines"]] == [True, False]
    assert text.count(">does not hold</span>") == 2


def _light(colour: str) -> float:
    """Relative luminance of #rgb or #rrggbb."""
    digits = colour[1:] if len(colour) == 7 else "".join(2 * digit for digit in colour[1:])
    parts = np.array([int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4)])
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def test_words_can_be_read_by_day_and_by_night(out: Path) -> None:
    text = (out / "report.html").read_text(encoding="utf-8")
    day, night = re.findall(r":root \{(.*?)\}", text)
    assert text.index("prefers-color-scheme: dark") < text.index(night)
    assert "invert(" in text[text.index(night) : text.index("@media print")]  # figures follow
    pages = []
    for colours in (dict(re.findall(r"--(\w+): (#\w+)", rule)) for rule in (day, night)):
        pages.append(_light(colours["page"]))
        for name in ("ink", "soft", "faint", "good", "bad", "link"):
            high, low = sorted((pages[-1], _light(colours[name])), reverse=True)
            assert (high + 0.05) / (low + 0.05) >= 4.5, name  # WCAG AA
    assert pages[0] > 0.9 and pages[1] < 0.02


def test_the_finding_quotes_the_facts(out: Path) -> None:
    record = json.loads((out / "figures" / "first-figure.json").read_text(encoding="utf-8"))
    facts = record["facts"]
    sentence = f"The lowest risk is {facts['lowest']:.3f}, at {facts['sizes']} sizes."
    assert record["text"]["finding"] == sentence and facts["sizes"] == 3
    assert sentence in (out / "report.html").read_text(encoding="utf-8")


def test_every_check_is_in_the_page_and_in_the_csv(out: Path) -> None:
    text = (out / "report.html").read_text(encoding="utf-8")
    with (out / "figures" / "first-figure.checks.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 6
    for row in rows:
        assert f"{float(row['theory']):.5g} (uniform)" in text
        assert f"{float(row['simulated']):.5g} ± {float(row['se']):.2g}" in text
    misses = sum(row["holds"] == "False" for row in rows)
    assert text.count(">misses</span>") == 2 * misses  # both figures show the same cells
    assert re.search(rf"{len(rows) - misses} of {len(rows)} points", text)
    assert "A figure with &lt;b&gt;markup&lt;/b&gt; &amp; more" in text


def test_an_array_gives_a_row_per_entry() -> None:
    problem = Problem(n=9, d=9, N=9)
    values = {"x": np.arange(12.0).reshape(2, 3, 2), "paths": np.zeros((2, 1001))}
    rows = list(point_rows({"grid": [Point(problem, values, True)]}))  # type: ignore[arg-type]
    found = {row["quantity"]: (row["mean"], round(row["se"], 9)) for row in rows}
    assert found == {f"x[{i},{j}]": (2 * i + j + 3.0, 3.0) for i in range(3) for j in range(2)}


def test_the_numbers_behind_the_figure_are_there(out: Path) -> None:
    with (out / "figures" / "first-figure.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert {row["grid"] for row in rows} == {"simulation", "uniform"}
    assert all(float(row["se"]) > 0 for row in rows if row["grid"] == "simulation"
               and row["quantity"] in ("train", "test"))  # fmt: skip
    for form in ("svg", "png"):
        assert (out / "figures" / f"first-figure.{form}").stat().st_size > 5000


def test_a_second_run_computes_nothing_and_draws_the_same(
    out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = (out / "figures" / "first-figure.svg").read_bytes()
    code = main(["reproduce", "mine", "--out", str(out), "--json"])
    said = json.loads(capsys.readouterr().out)
    assert code == 1 and said["computed"] == 0 and said["missing"] == 0
    assert (said["sentences"], said["sentences_holding"]) == (4, 2)
    assert said["passed"] is True and said["points"] == 12
    assert (out / "figures" / "first-figure.svg").read_bytes() == before


def test_shards_compute_and_the_whole_run_draws(
    out: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for i in (1, 2):
        arguments = ["reproduce", "first-figure", "--out", str(tmp_path)]
        assert main([*arguments, "--shard", f"{i}/2"]) == 0
    assert not (tmp_path / "report.html").exists()
    capsys.readouterr()
    assert main([*arguments, "--json"]) == 1, "a sentence is wrong"
    assert json.loads(capsys.readouterr().out)["computed"] == 0
    drawn = (tmp_path / "figures" / "first-figure.svg").read_bytes()
    assert drawn == (out / "figures" / "first-figure.svg").read_bytes()


def test_formulas_in_texts_are_typeset() -> None:
    assert typeset("η = n^0.29, F_ℓ") == "η = n<sup>0.29</sup>, F<sub>ℓ</sub>"
    assert typeset("n^((α − ½)k + ½) > 1") == "n<sup>(α − ½)k + ½</sup> &gt; 1"
    assert typeset("P_{>1} and n_test, d^−2") == "P<sub>&gt;1</sub> and n_test, d<sup>−2</sup>"
