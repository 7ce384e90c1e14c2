"""One page per open question: the finding first, a picture, numbers, and existing tests."""

import csv
import json
import re
from pathlib import Path

from onegrad.studies import gallery, rules
from onegrad.studies.reproduce import grid_lines

ROOT = Path(__file__).parents[2]
PAGES = ROOT / "docs" / "open"
OPEN = gallery.select(["open"])


def test_a_page_has_finding_picture_numbers_and_command() -> None:
    folded = ("What the figure shows", "Numbers", "Limits", "Literature", "Networks and sizes")
    for name in OPEN:
        text = (PAGES / f"{name}.md").read_text(encoding="utf-8")
        title, finding, picture, explained = text.split("\n\n")[:4]
        assert title.startswith("# ") and picture.endswith(f"({name}.svg)")
        assert re.search(r"\d", finding) and len(explained) > 100
        places = [text.index(f"<summary>{part}</summary>") for part in folded]
        assert places == sorted(places) and text.index(picture) < places[0], name
        assert text.count("<details>") == text.count("\n</details>\n") >= len(folded)
        assert f"reproduce {name}\n" in text
        assert re.search(r"[\d,]+ networks", text)
        assert (PAGES / f"{name}.svg").read_text(encoding="utf-8").lstrip().startswith("<?xml")
        with (PAGES / f"{name}.csv").open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        assert len(rows) > 10 and {"quantity", "mean", "se", "seeds"} <= set(rows[0]), name


def test_a_page_is_of_full_sizes_and_breaks_no_rule() -> None:
    method = (PAGES / "method.md").read_text(encoding="utf-8")
    for name in OPEN:
        record = json.loads((PAGES / f"{name}.json").read_text(encoding="utf-8"))
        assert record["method"]["violations"] == []
        text = (PAGES / f"{name}.md").read_text(encoding="utf-8")
        assert "Sizes: full;" in text and "breaks rules" not in text, name
        sentences = (record["text"][key] for key in ("title", "finding", "explained"))
        assert list(rules.short_sentences(*sentences)) == [], name
        assert f"[{name}]({name}.md)" in method


def test_a_page_is_of_the_present_study() -> None:
    """Its text, grids, sentences and table are those that the TOML file and one run give."""
    versions = set()
    for name, study in OPEN.items():
        text = (PAGES / f"{name}.md").read_text(encoding="utf-8")
        record = json.loads((PAGES / f"{name}.json").read_text(encoding="utf-8"))
        assert record["text"]["title"] == study.title and record["text"]["finding"] in text
        lines = (line.replace("*", r"\*") for line in grid_lines(study.spec))
        assert [line for line in lines if f"* {line}\n" not in text] == [], name
        assert len(record["headlines"]) == len(study.spec.headlines)
        for headline in record["headlines"]:
            cells = (headline[key] for key in ("quantity", "value", "holds_where"))
            row = f"| {headline['sentence']} | {' | '.join(cells)} | holds |"
            assert headline["holds"] and row.replace("*", r"\*") in text, name
        with (PAGES / f"{name}.csv").open(encoding="utf-8", newline="") as file:
            grids = {row.get("grid") for row in csv.DictReader(file)} - {None}
        assert [grid for grid in grids if f"\n* {grid} (" not in text] == [], name
        assert record["computed"] in text
        versions.add(record["computed"].split(",")[0])
    assert len(versions) == 1, "all pages are of one run"


def test_the_index_names_all_and_all_is_light() -> None:
    text = (PAGES / "index.md").read_text(encoding="utf-8")
    assert [name for name in OPEN if f"({name}.md)" not in text] == []
    assert sum(file.stat().st_size for file in PAGES.rglob("*")) < 4e6


def test_what_explains_a_finding_is_tested() -> None:
    explained = " ".join(study.spec.text["explained"] for study in OPEN.values())
    named = set(re.findall(r"test_\w+\.py", explained))
    assert len(named) >= 4
    assert [name for name in named if not list((ROOT / "tests").rglob(name))] == []
