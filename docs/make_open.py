"""Write docs/open/: a page for every open question, from finished runs.

    onegrad reproduce open --out out/open && python docs/make_open.py out/open [MORE ...]

Nothing is computed here: pages and pictures are those of the runs. The table next to a page is the
run's, without columns that never change and without the tails of spectra.
"""

from __future__ import annotations

import csv
import json
import re
import shutil
import sys
from pathlib import Path

PAGES = Path(__file__).parent / "open"
MAX_INDEX = 12  # entries of an array that the table of a page keeps
ALWAYS_KEPT = ("quantity", "mean", "se", "seeds")
INTRODUCTION = (
    "# Open questions, answered with data\n\n"
    "What the papers could not treat. Each page starts with its finding; every number comes from "
    "`onegrad reproduce open`, which anyone can run again and which continues where it was "
    "stopped.\n\n"
    "A first look, `onegrad reproduce open --quick`, takes 8 to 16 seconds of processor time per "
    "figure and 133 for all, start and drawing included: well under a minute each and under two "
    "minutes together on two free cores. All full sizes need about 40 minutes of one core (from a "
    "measured cell of each grid). `--seeds K` stops every point at K networks, rounded up to whole "
    "cells; a later run with more continues from them. Each page says how many it has.\n\n"
    "**Read six of these with care; they will be computed again.** *Full training* compares "
    "one step with a baseline that was not tuned as carefully. In *three layers* the best "
    "penalty is the largest one tried. In *more steps* a ReLU network without biases is asked "
    "for a cubic, which it cannot represent at all, and three of six exponents are quoted. "
    "*Alternating rounds* have no spectral baseline beside them. In *same rows* and *other "
    "steps* the best step lies at the end of the grid.\n"
)


def index(records: list[tuple[str, dict]]) -> str:
    """Return one page with all questions, each with its finding."""
    sections = [INTRODUCTION]
    for name, record in sorted(records, key=lambda item: item[1]["order"]):
        text = {key: value.replace("*", r"\*") for key, value in record["text"].items()}
        sections.append(f"## [{text['title']}]({name}.md)\n\n*{text['question']}*\n")
        sections.append(f"{text['finding']}\n")
    return "\n".join(sections)


def short_table(source: Path, target: Path) -> None:
    """Copy a table without what never changes and without the tails of arrays."""
    with source.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if is_early(row["quantity"])]
    columns = [c for c in rows[0] if c in ALWAYS_KEPT or len({row[c] for row in rows}) > 1]
    with target.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows([six_digits(row[c]) for c in columns] for row in rows)


def is_early(quantity: str) -> bool:
    """Return whether all indices of an entry, as in `F[3]`, are among the first."""
    return all(int(i) < MAX_INDEX for i in re.findall(r"\d+", quantity.partition("[")[2]))


def six_digits(text: str) -> str:
    """Return a number with six digits; other text as it is."""
    return f"{float(text):.6g}" if re.fullmatch(r"-?\d+\.\d+(e-?\d+)?", text) else text


def main(*outs: str) -> None:
    records = []
    for figures in (Path(out, "figures") for out in outs):
        for page in sorted(figures.glob("*.md")):
            for file in (page, page.with_suffix(".svg")):
                shutil.copyfile(file, PAGES / file.name)
            short_table(page.with_suffix(".csv"), PAGES / f"{page.stem}.csv")
            record = json.loads(page.with_suffix(".json").read_text(encoding="utf-8"))
            records.append((page.stem, record))
    (PAGES / "index.md").write_text(index(records), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
