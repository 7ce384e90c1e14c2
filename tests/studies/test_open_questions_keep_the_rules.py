"""Findings of open questions keep the rules of docs/open/method.md, and their pages are theirs."""

import csv
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from onegrad.experiments.grid import problems_of
from onegrad.experiments.spec import Spec, parse_spec
from onegrad.problem import representation_warnings
from onegrad.studies import gallery
from onegrad.studies.measures import MEASURES
from onegrad.studies.reproduce import grid_lines

ROOT = Path(__file__).parents[2]
PAGES = ROOT / "docs" / "open"
OPEN = gallery.select(["open"])
RECORDS = {name: json.loads((PAGES / f"{name}.json").read_text("utf-8")) for name in OPEN}
MIN_TEST_ROWS = 20_000  # the error of a mean of squared Gaussian residuals is then sqrt(2/n) = 1 %
MIN_SIZES = 3  # through two points there is always a line

sys.path.insert(0, str(ROOT / "docs"))

import make_open  # noqa: E402


def broken(spec: Spec) -> list[str]:
    """The rules that the declared sizes, rows, settings and teachers of a study break."""
    found, method = [], spec.method
    rows = {g.name: n for g in spec.grids if (n := make_open.test_rows(g)) is not None}
    if any(n < MIN_TEST_ROWS and g not in method.get("real_data", ()) for g, n in rows.items()):
        found.append("test rows")
    budgets = make_open.tuning(spec)
    if len(set(budgets)) > 1 or ("untuned" not in method and any(n < 2 for n, _ in budgets)):
        found.append("same tuning")
    named = re.search(r"\b[ndN] = \d", spec.text["title"])
    if not named and len(make_open.sizes(spec)) < MIN_SIZES:
        found.append("several sizes")
    problems = [v.problem for grid in spec.grids for v in problems_of(grid)]
    if "out_of_reach" not in method and representation_warnings(problems):
        found.append("representable teacher")
    return found


def at_an_end_without_saying_so(record: dict[str, Any]) -> list[str]:
    """Axes at whose end a best value lies, where the sentence does not call it a bound."""
    sentences = f"{record['text']['title']} {record['text']['finding']}"
    bound = "at least" in sentences or "at most" in sentences
    optima = make_open.optima_in(record["facts"])
    return [] if bound else [axis for o in optima for axis in make_open.axes_at_end(o)]


@pytest.mark.parametrize("name", OPEN)
def test_a_study_keeps_the_rules(name: str) -> None:
    assert broken(make_open.spec_of(name)) == []
    assert at_an_end_without_saying_so(RECORDS[name]) == []
    assert RECORDS[name]["headlines"] and all(h["holds"] for h in RECORDS[name]["headlines"])


FIELDS = {"n": [200, 400, 800], "d": 100, "N": 100, "teacher": "H1", "activation": "tanh"}
CUBIC = {"teacher": "H1 + H3/6", "activation": "relu"}
SMALLER: dict[str, tuple[dict[str, Any], dict[str, Any], list[str]]] = {
    "no change": ({}, {}, []),
    "few test rows": ({"options": {"n_test": 1000}}, {}, ["test rows", "same tuning"]),
    "fewer settings": ({"problem": FIELDS | {"ridge": 0.1}}, {}, ["same tuning"]),
    "one size": ({}, {"sizes": {"grid": "b", "along": "N"}}, ["several sizes"]),
    "a teacher out of reach": ({"problem": FIELDS | CUBIC}, {}, ["representable teacher"]),
}


@pytest.mark.parametrize(("first", "method", "rules"), SMALLER.values(), ids=SMALLER)
def test_a_smaller_study_breaks_a_rule(
    first: dict[str, Any], method: dict[str, Any], rules: list[str]
) -> None:
    fields = FIELDS | first.pop("problem", {})
    grid = {"measure": "errors", "options": {"n_test": 20_000}}
    of_both = {"problem": FIELDS | {"ridge": [0.1, 1.0]}}
    own = {"problem": {"ridge": [0.1, 1.0]} | fields}
    budgets = [{"name": name, "grid": name} for name in "ab"]
    table = {
        "grid": [grid | own | {"name": "a"} | first, grid | of_both | {"name": "b"}],
        "text": {"title": "A is better"},
        "method": {"sizes": {"grid": "a", "along": "n"}, "competitors": budgets} | method,
    }
    assert broken(parse_spec(table, "made-up", MEASURES)) == rules


def test_an_optimum_at_the_end_of_its_grid_is_called_a_bound() -> None:
    best = {"value": [1.0, 0.1], "at": {"ridge": 10.0}, "ends": {"ridge": [0.1, 10.0]}}
    record = {"text": {"title": "A", "finding": "It is 1."}, "facts": {"rows": [{"best": best}]}}
    assert at_an_end_without_saying_so(record) == ["ridge"]
    record["text"]["finding"] = "It is at most 1."
    assert at_an_end_without_saying_so(record) == []


@pytest.mark.parametrize("name", OPEN)
def test_a_page_is_of_the_present_study(name: str) -> None:
    """Its text, grids and sentences are those of the TOML file and of one full run."""
    study, record = OPEN[name], RECORDS[name]
    text = (PAGES / f"{name}.md").read_text("utf-8")
    assert "Sizes: full;" in text and f"![{study.title}".replace("*", r"\*") in text
    assert record["text"]["title"] == study.title
    for part in ("finding", "explained", "caption", "parameters"):
        assert record["text"][part].replace("*", r"\*") in text, part
    assert record["computed"] in text and f"reproduce {name}\n" in text
    lines = (line.replace("*", r"\*") for line in grid_lines(study.spec))
    assert [line for line in lines if f"* {line}\n" not in text] == []
    assert len(record["headlines"]) == len(study.spec.headlines)
    for headline in record["headlines"]:
        cells = (headline[key] for key in ("quantity", "value", "holds_where"))
        row = f"| {headline['sentence']} | {' | '.join(cells)} | holds |"
        assert row.replace("*", r"\*") in text
    with (PAGES / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) > 10 and {"quantity", "mean", "se", "seeds"} <= set(rows[0])
    grids = {row.get("grid") for row in rows} - {None}
    assert [grid for grid in grids if f"\n* {grid} (" not in text] == []


def test_all_pages_are_of_one_run_light_and_named() -> None:
    assert len({record["computed"].split(",")[0] for record in RECORDS.values()}) == 1
    assert sum(file.stat().st_size for file in PAGES.rglob("*")) < 4e6
    for page in ("index", "method"):
        text = (PAGES / f"{page}.md").read_text("utf-8")
        assert [name for name in OPEN if f"({name}.md)" not in text] == []
    explained = " ".join(study.spec.text["explained"] for study in OPEN.values())
    named = set(re.findall(r"test_\w+\.py", explained))
    assert len(named) >= 4
    assert [name for name in named if not list((ROOT / "tests").rglob(name))] == []
