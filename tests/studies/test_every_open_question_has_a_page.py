"""One page per open question: the finding first, a picture, numbers, and existing tests."""

import csv
import json
import re
from pathlib import Path

from onegrad.studies import gallery, rules

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
        assert text.startswith(f"# {record['text']['title']}".replace("*", r"\*"))
        assert f"[{name}]({name}.md)" in method


def test_the_index_names_all_and_all_is_light() -> None:
    text = (PAGES / "index.md").read_text(encoding="utf-8")
    assert [name for name in OPEN if f"({name}.md)" not in text] == []
    assert sum(file.stat().st_size for file in PAGES.rglob("*")) < 4e6


def test_what_explains_a_finding_is_tested() -> None:
    explained = " ".join(study.spec.text["explained"] for study in OPEN.values())
    named = set(re.findall(r"test_\w+\.py", explained))
    assert len(named) >= 4
    assert [name for name in named if not list((ROOT / "tests").rglob(name))] == []
