"""Write docs/open/: a page for every open question, from finished runs.

    onegrad reproduce open --out out/open && python docs/make_open.py out/open [MORE ...]

Nothing is computed here: pages and pictures are those of the runs. The table next to a page is the
run's, without columns that never change and without the tails of spectra; its facts are kept as
NAME.json, from which `index.md` and `method.md` are made for all pages, also those of earlier
runs. `method.md` quotes numbers of independent code from `independent_numbers.toml`.
"""

import csv
import json
import re
import shutil
import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jinja2

HERE = Path(__file__).parent
PAGES = HERE / "open"
MAX_INDEX = 4  # entries of an array that the table of a page keeps
ALWAYS_KEPT = ("quantity", "mean", "se", "seeds")
THUMBNAIL = (300, 160)  # pixels at most
TEMPLATES = jinja2.Environment(
    loader=jinja2.FileSystemLoader(HERE / "_templates" / "open"),
    undefined=jinja2.StrictUndefined,
    keep_trailing_newline=True,
    autoescape=False,  # the pages are Markdown
)
TEMPLATES.filters["escaped"] = lambda text: text.replace("*", r"\*")


def index(records: dict[str, dict[str, Any]]) -> str:
    """Return one line per question: a thumbnail, the title and the finding."""
    return TEMPLATES.get_template("index.md.jinja").render(records=records)


def method(records: dict[str, dict[str, Any]]) -> str:
    """Return the rules, what each page did, and the numbers of independent code."""
    methods = {name: record["method"] for name, record in records.items()}
    return TEMPLATES.get_template("method.md.jinja").render(
        rows=[method_row(name, record) for name, record in records.items()],
        out_of_reach=[(k, m["out_of_reach"]) for k, m in methods.items() if m["out_of_reach"]],
        violations=[(k, text) for k, m in methods.items() for text in m["violations"]],
        independent=independent_rows(records),
    )


def method_row(name: str, record: dict[str, Any]) -> list[str]:
    """Return the cells of a page in the table of methods."""
    method = record["method"]
    optima, at_end = method["optima"], [o for o in method["optima"] if o["at_end"]]
    inside = f"{len(optima) - len(at_end)} of {len(optima)}" if optima else "no optimum"
    axes = sorted({axis for o in at_end for axis in o["at_end"]})
    budgets = {(c["settings"], c["rows"]) for c in method["competitors"]}
    tuning = "; ".join(f"{tried} tried, {rows:,} rows" for tried, rows in sorted(budgets))
    sizes = ", ".join(f"{size:,}" for size in method["sizes"])
    networks = "–".join(dict.fromkeys(map(str, method["networks"])))
    rows = f"{method['test_rows']:,}" if method["test_rows"] else "–"
    return [
        f"[{name}]({name}.md)",
        inside + (f", at an end of {', '.join(axes)}" if axes else ""),
        f"{len(method['competitors'])} × ({tuning})" if tuning else "–",
        f"{method['along']} = {sizes}" if sizes else "named in the title",
        networks,
        rows + (f" (real data: {', '.join(method['real_data'])})" if method["real_data"] else ""),
        str(method["paired"] or "–"),
        "; ".join(method["selections"]) or "–",
        record["computed"],
    ]


def independent_rows(records: dict[str, dict[str, Any]]) -> list[list[str]]:
    """Return the cells of the numbers from independent code beside those of the pages."""
    entries = tomllib.loads((HERE / "independent_numbers.toml").read_text(encoding="utf-8"))
    rows = []
    for entry in entries["number"]:
        if entry["page"] in records:
            # `{best.value[0]:.3f}` of a template reads attributes
            facts = {k: by_attribute(v) for k, v in records[entry["page"]]["facts"].items()}
            here, remark = (
                text.format_map(facts) for text in (entry["here"], entry.get("remark", "agree"))
            )
            page = f"[{entry['page']}]({entry['page']}.md)"
            rows.append([page, entry["quantity"], entry["independent"], here, remark])
    return rows


def by_attribute(value: Any) -> Any:
    """Return JSON values with objects whose entries are attributes."""
    return json.loads(json.dumps(value), object_hook=lambda table: SimpleNamespace(**table))


def thumbnail(source: Path, target: Path) -> None:
    """Write a small copy of a picture."""
    from PIL import Image

    with Image.open(source) as image:
        small = image.convert("RGB")
        small.thumbnail(THUMBNAIL)
        small.quantize(64).save(target, optimize=True)


def short_table(source: Path, target: Path) -> None:
    """Copy a table without what never changes and without the tails of arrays."""
    with source.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if is_kept(row["quantity"])]
    columns = [c for c in rows[0] if c in ALWAYS_KEPT or len({row[c] for row in rows}) > 1]
    with target.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows([six_digits(row[c]) for c in columns] for row in rows)


def is_kept(quantity: str) -> bool:
    """Return whether all indices of an entry, as in `F[3]`, are among the first.

    The kernel bound is a quantity of theory that no page of a network needs.
    """
    indices = re.findall(r"\d+", quantity.partition("[")[2])
    return quantity != "kernel_bound" and all(int(i) < MAX_INDEX for i in indices)


def six_digits(text: str) -> str:
    """Return a number with six digits; other text as it is."""
    return f"{float(text):.6g}" if re.fullmatch(r"-?\d+\.\d+(e-?\d+)?", text) else text


def short_record(value: Any) -> Any:
    """Return a record with numbers of six digits and without the values of single seeds."""
    if isinstance(value, dict):
        seeds = "values" if "ends" in value else None  # of a best point
        return {key: short_record(item) for key, item in value.items() if key != seeds}
    if isinstance(value, list):
        return [short_record(item) for item in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value


def main(*outs: str) -> None:
    (PAGES / "thumbnails").mkdir(exist_ok=True)
    for figures in (Path(out, "figures") for out in outs):
        for page in sorted(figures.glob("*.md")):
            for file in (page, page.with_suffix(".svg")):
                shutil.copyfile(file, PAGES / file.name)
            thumbnail(page.with_suffix(".png"), PAGES / "thumbnails" / f"{page.stem}.png")
            short_table(page.with_suffix(".csv"), PAGES / f"{page.stem}.csv")
            record = json.loads(page.with_suffix(".json").read_text(encoding="utf-8"))
            text = json.dumps(short_record(record), indent=1, ensure_ascii=False)
            (PAGES / f"{page.stem}.json").write_text(f"{text}\n", encoding="utf-8")
    records = {
        file.stem: json.loads(file.read_text(encoding="utf-8")) for file in PAGES.glob("*.json")
    }
    ordered = dict(sorted(records.items(), key=lambda item: item[1]["order"]))
    (PAGES / "index.md").write_text(index(ordered), encoding="utf-8")
    (PAGES / "method.md").write_text(method(ordered), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
