"""Write docs/report/report.html and the table of docs/experiments.md from a finished run.

    onegrad reproduce --out out/reproduce && python docs/make_report.py out/reproduce

Nothing is computed here: report, titles and checks are those of the run.
"""

import csv
import json
import shutil
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PAGE, REPORT = HERE / "experiments.md", HERE / "report" / "report.html"
START, END = "<!-- checks: written by make_report.py -->\n\n", "\n<!-- end of checks -->\n"
HEADS = ("figure", "what", "points", "\\|z\\| ≤ 3", "beyond the stated accuracy", "largest \\|z\\|")
MAX_SCORE = 3.0


def table(run: Path) -> str:
    """Return one row per figure: its checks, those that hold, and the largest score."""
    records = {
        path.stem: json.loads(path.read_text("utf-8")) for path in run.glob("figures/*.json")
    }
    rows, total = [], [0, 0, 0]
    for name, record in sorted(records.items(), key=lambda item: item[1]["order"]):
        if "question" in record["text"]:
            continue
        checks = _checks(run / "figures" / f"{name}.checks.csv")
        scores = [abs(float(c["z"])) for c in checks]
        counts = [len(checks), sum(z <= MAX_SCORE for z in scores)]
        counts.append(sum(c["holds"] == "True" for c in checks))
        total = [a + b for a, b in zip(total, counts, strict=True)]
        rows.append([f"`{name}`", record["text"]["title"], *counts, f"{max(scores):.1f}"])
    rows.append(["all", "", *total, ""])
    lines = [HEADS, ("---", "---", "--:", "--:", "--:", "--:"), *rows]
    return "".join(f"| {' | '.join(map(str, line))} |\n" for line in lines)


def _checks(path: Path) -> list[dict[str, Any]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def page(text: str, run: Path) -> str:
    """Return the page with the table of a run."""
    before, rest = text.split(START)
    return before + START + table(run) + END + rest.split(END)[1]


if __name__ == "__main__":
    out = Path(sys.argv[1])
    shutil.copyfile(out / "report.html", REPORT)
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8"), out), encoding="utf-8")
