"""Write docs/report/report.html and the tables of docs/experiments.md from a finished run.

    onegrad reproduce --out out/reproduce && python docs/make_report.py out/reproduce

Nothing is computed here: report, sentences and checks are those of the run.
"""

import csv
import json
import shutil
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PAGE, REPORT = HERE / "experiments.md", HERE / "report" / "report.html"
START, END = "<!-- tables: written by make_report.py -->\n\n", "\n<!-- end of tables -->\n"
SENTENCES = ("figure", "sentence", "decided by", "networks", "holds if", "")
CHECKS = ("figure", "points", "\\|z\\| ≤ 3", "beyond the stated accuracy", "largest \\|z\\|")
MAX_SCORE = 3.0


def tables(run: Path) -> str:
    """Return the sentences with what decides them, and how theory does at the figures' points."""
    records = {
        path.stem: json.loads(path.read_text("utf-8")) for path in run.glob("figures/*.json")
    }
    sentences, rows, total = [], [], [0, 0, 0]
    for name, record in sorted(records.items(), key=lambda item: item[1]["order"]):
        if "question" in record["text"]:
            continue
        for h in record["headlines"]:
            cells = (h[key] for key in ("sentence", "quantity", "value", "holds_where"))
            sentences.append([f"`{name}`", *cells, "holds" if h["holds"] else "does not hold"])
        checks = _checks(run / "figures" / f"{name}.checks.csv")
        scores = [abs(float(c["z"])) for c in checks]
        counts = [len(checks), sum(z <= MAX_SCORE for z in scores)]
        counts.append(sum(c["holds"] == "True" for c in checks))
        total = [a + b for a, b in zip(total, counts, strict=True)]
        rows.append([f"`{name}`", *counts, f"{max(scores):.1f}"])
    rows.append(["all", *total, ""])
    about = "Theory against networks, at the points of each figure; this decides no sentence:"
    return f"{_table(SENTENCES, sentences)}\n{about}\n\n{_table(CHECKS, rows)}"


def _table(heads: tuple[str, ...], rows: list[list[Any]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "".join(f"| {' | '.join(map(str, line))} |\n" for line in lines)


def _checks(path: Path) -> list[dict[str, Any]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def page(text: str, run: Path) -> str:
    """Return the page with the tables of a run."""
    before, rest = text.split(START)
    return before + START + tables(run) + END + rest.split(END)[1]


if __name__ == "__main__":
    out = Path(sys.argv[1])
    shutil.copyfile(out / "report.html", REPORT)
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8"), out), encoding="utf-8")
