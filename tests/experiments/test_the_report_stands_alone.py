"""`onegrad reproduce` writes figures, numbers and one page that needs nothing else."""

from __future__ import annotations

import csv
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from onegrad.cli import main

FIGURES = ["double-descent", "ba-figure2"]


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("reproduce")
    assert main(["reproduce", *FIGURES, "--quick", "--out", str(directory)]) == 0
    return directory


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
    assert page.ids == set(FIGURES)


def test_every_check_is_in_the_page_and_in_the_csv(out: Path) -> None:
    text = (out / "report.html").read_text(encoding="utf-8")
    with (out / "figures" / "double-descent.checks.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) > 40
    for row in rows:
        assert f"{float(row['theory']):.5g} (random features)" in text
        assert f"{float(row['simulated']):.5g} ± {float(row['se']):.2g}" in text
    misses = sum(row["holds"] == "False" for row in rows)
    assert text.count(">misses</span>") == misses
    assert re.search(rf"{len(rows) - misses} of {len(rows)} points", text)


def test_the_numbers_behind_the_figure_are_there(out: Path) -> None:
    with (out / "figures" / "double-descent.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert {row["grid"] for row in rows} == {"simulation", "theory"}
    assert all(float(row["se"]) > 0 for row in rows if row["grid"] == "simulation"
               and row["quantity"] in ("train", "test"))  # fmt: skip
    for form in ("svg", "png"):
        assert (out / "figures" / f"double-descent.{form}").stat().st_size > 5000


def test_a_second_run_computes_nothing_and_draws_the_same(
    out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = (out / "figures" / "double-descent.svg").read_bytes()
    code = main(["reproduce", *FIGURES, "--quick", "--out", str(out), "--json"])
    said = json.loads(capsys.readouterr().out)
    assert code == 0 and said["computed"] == 0 and said["missing"] == 0
    assert said["passed"] is True and said["points"] > 40
    assert (out / "figures" / "double-descent.svg").read_bytes() == before


def test_shards_compute_and_the_whole_run_draws(
    out: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for i in (1, 2):
        arguments = ["reproduce", "double-descent", "--quick", "--out", str(tmp_path)]
        assert main([*arguments, "--shard", f"{i}/2"]) == 0
    assert not (tmp_path / "report.html").exists()
    capsys.readouterr()
    assert main([*arguments, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["computed"] == 0
    drawn = (tmp_path / "figures" / "double-descent.svg").read_bytes()
    assert drawn == (out / "figures" / "double-descent.svg").read_bytes()


def test_list_and_bad_names(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "--list"]) == 0
    assert "ba-figure3a" in capsys.readouterr().out
    assert main(["reproduce", "figure9"]) == 2
    assert "FIGURE 'figure9' is not known" in capsys.readouterr().err
