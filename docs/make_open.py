"""Write docs/open/: a page for every open question, from a finished run.

    onegrad reproduce open --out out/open && python docs/make_open.py out/open

Nothing is computed here: findings.json and figures/ of the run are what a page says.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

PAGES = Path(__file__).parent / "open"


def page(name: str, said: dict) -> str:
    """The finding first, then the picture, then how it was made."""
    parts = [f"# {said['title']}", f"**Finding.** {said['finding']}"]
    if said.get("question"):
        parts.insert(1, f"*{said['question']}*")
    parts += [f"![{said['title']}]({name}.svg)", said["caption"]]
    if said.get("explained"):
        parts += ["## What explains it", said["explained"]]
    if said["notes"]:
        parts += ["## Numbers", "\n".join(f"* {note}" for note in said["notes"])]
    parts += ["## How it was made", said["parameters"]]
    if said["verdict"]:
        parts.append(f"Against theory or print: {said['verdict']}.")
    parts.append("\n".join(f"* {grid}" for grid in said["grids"]))
    parts.append(
        f"```console\n$ onegrad reproduce {name}\n```\n\nNumbers: [{name}.csv]({name}.csv)."
    )
    return "\n\n".join(parts) + "\n"


def index(found: dict[str, dict]) -> str:
    """All questions on one page, each with its finding."""
    lines = [
        "# Open questions, answered with data",
        "What the papers could not treat. Each page starts with its finding; every number comes "
        "from `onegrad reproduce open`, which anyone can run again (`--quick` for a first look).",
    ]
    for name, said in found.items():
        lines += [f"## [{said['title']}]({name}.md)", said["finding"]]
    return "\n\n".join(lines) + "\n"


def main(out: Path) -> None:
    found = json.loads((out / "findings.json").read_text(encoding="utf-8"))
    PAGES.mkdir(exist_ok=True)
    for name, said in found.items():
        (PAGES / f"{name}.md").write_text(page(name, said), encoding="utf-8")
        for kind in ("svg", "csv"):
            shutil.copyfile(out / "figures" / f"{name}.{kind}", PAGES / f"{name}.{kind}")
    (PAGES / "index.md").write_text(index(found), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
