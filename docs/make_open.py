"""Write docs/open/: a page for every open question, from finished runs.

    onegrad reproduce open --out out/open && python docs/make_open.py out/open [MORE ...]

Nothing is computed here: findings.json and figures/ of the runs are what a page says. The table
beside a page is the run's, without columns that never change and without the tails of spectra.
"""

from __future__ import annotations

import csv
import json
import re
import shutil
import sys
from pathlib import Path

PAGES = Path(__file__).parent / "open"
ENTRIES = 12  # of an array that a page's table keeps
COST = (
    "A first look, `onegrad reproduce open --quick`, takes 8 to 16 seconds of processor time a "
    "figure and 133 for all, start and drawing included: well under a minute each and under two "
    "minutes together on two free cores. All full sizes need about 40 minutes of one core (from a "
    "measured cell of each grid). `--seeds K` stops every point at K networks, rounded up to whole "
    "cells; a later run with more takes them up. Each page says how many it has."
)
ALWAYS = ("quantity", "mean", "se", "seeds")


def escaped(said: dict) -> dict:
    """The same words with stars as stars: teachers such as H1@1*H1@2 are not emphasis."""
    text = json.dumps(said, ensure_ascii=False).replace("*", r"\\*")
    return dict(json.loads(text))


def page(name: str, said: dict) -> str:
    """The finding first, then the picture, then how it was made."""
    parts = [f"# {said['title']}", f"*{said['question']}*", f"**Finding.** {said['finding']}"]
    parts += [f"![{said['title']}]({name}.svg)", said["caption"]]
    parts += ["## What explains it", said["explained"]]
    if said["notes"]:
        parts += ["## Numbers", "\n".join(f"* {note}" for note in said["notes"])]
    parts += ["## How it was made", said["parameters"]]
    if said["verdict"]:
        parts.append(f"Against theory or print: {said['verdict']}.")
    parts.append(
        f"Sizes: {said['sizes']}; {said['networks']:,} networks, each at all its steps and "
        "penalties. ± is one standard error over networks, bars in the picture are two."
    )
    parts.append("\n".join(f"* {grid}" for grid in said["grids"]))
    parts.append(f"```console no-run\n$ onegrad reproduce {name}{options(said['sizes'])}\n```")
    parts.append(f"Numbers: [{name}.csv]({name}.csv).")
    return "\n\n".join(parts) + "\n"


def options(sizes: str) -> str:
    """The options of the command that makes these sizes."""
    seeds = re.search(r"about (\d+) seeds", sizes)
    return " --quick" * sizes.startswith("quick") + (f" --seeds {seeds[1]}" if seeds else "")


def index(found: dict[str, dict]) -> str:
    """All questions on one page, each with its finding."""
    lines = [
        "# Open questions, answered with data",
        "What the papers could not treat. Each page starts with its finding; every number comes "
        "from `onegrad reproduce open`, which anyone can run again and which goes on where it was "
        "stopped.",
        COST,
    ]
    for name, said in found.items():
        lines += [f"## [{said['title']}]({name}.md)", f"*{said['question']}*", said["finding"]]
    return "\n\n".join(lines) + "\n"


def light(source: Path, target: Path) -> None:
    """Write the table without what never changes and without the tails of arrays."""
    with source.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if short(row["quantity"])]
    kept = [c for c in rows[0] if c in ALWAYS or len({row[c] for row in rows}) > 1]
    with target.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(kept)
        writer.writerows([plain(row[c]) for c in kept] for row in rows)


def short(quantity: str) -> bool:
    """Whether all indices of an entry, as in `F[3]`, are among the first."""
    return all(int(i) < ENTRIES for i in re.findall(r"\d+", quantity.partition("[")[2]))


def plain(text: str) -> str:
    """A number with six digits; other text as it is."""
    return f"{float(text):.6g}" if re.fullmatch(r"-?\d+\.\d+(e-?\d+)?", text) else text


def main(*outs: str) -> None:
    found = {}
    for out in map(Path, outs):
        read = json.loads((out / "findings.json").read_text(encoding="utf-8"))
        for name, said in escaped(read).items():
            found[name] = said
            (PAGES / f"{name}.md").write_text(page(name, said), encoding="utf-8")
            shutil.copyfile(out / "figures" / f"{name}.svg", PAGES / f"{name}.svg")
            light(out / "figures" / f"{name}.csv", PAGES / f"{name}.csv")
    found = dict(sorted(found.items(), key=lambda item: int(item[1]["order"])))
    (PAGES / "index.md").write_text(index(found), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
