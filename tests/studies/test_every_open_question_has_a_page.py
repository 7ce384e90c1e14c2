"""One page per open question: the finding first, a picture, numbers, and existing tests."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest

from onegrad.studies import gallery

ROOT = Path(__file__).parents[2]
PAGES = ROOT / "docs" / "open"
OPEN = gallery.select(["open"])


@pytest.mark.parametrize("name", OPEN)
def test_a_page_has_finding_picture_numbers_and_command(name: str) -> None:
    text = (PAGES / f"{name}.md").read_text(encoding="utf-8")
    places = [
        text.index(part)
        for part in ("**Finding.**", f"({name}.svg)", "## What explains it", f"reproduce {name}")
    ]
    assert places == sorted(places)
    assert text.index("**Finding.**") < 300, "the finding is first"
    assert re.search(r"± \d|\d+ of \d+", text[: places[1]]), "with its error or its count"
    assert re.search(r"[\d,]+ networks", text)
    assert (PAGES / f"{name}.svg").read_text(encoding="utf-8").lstrip().startswith("<?xml")
    with (PAGES / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) > 10 and {"quantity", "mean", "se", "seeds"} <= set(rows[0])


def test_the_index_names_all_and_all_is_light() -> None:
    text = (PAGES / "index.md").read_text(encoding="utf-8")
    assert [name for name in OPEN if f"({name}.md)" not in text] == []
    assert sum(file.stat().st_size for file in PAGES.iterdir()) < 2e6


def test_what_explains_a_finding_is_tested() -> None:
    explained = " ".join(study.spec.text["explained"] for study in OPEN.values())
    named = set(re.findall(r"test_\w+\.py", explained))
    assert len(named) >= 4
    assert [name for name in named if not list((ROOT / "tests").rglob(name))] == []
