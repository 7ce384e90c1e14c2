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

from onegrad.experiments.grid import problems_of
from onegrad.experiments.spec import Grid, Spec, read_spec
from onegrad.studies import gallery
from onegrad.studies.measures import MEASURES

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
    specs = {name: spec_of(name) for name in records}
    reasons = {name: spec.method.get("out_of_reach") for name, spec in specs.items()}
    return TEMPLATES.get_template("method.md.jinja").render(
        rows=[method_row(name, specs[name], record) for name, record in records.items()],
        out_of_reach=[(name, reason) for name, reason in reasons.items() if reason],
        independent=independent_rows(records),
    )


def spec_of(name: str) -> Spec:
    """Return what a study computes, with the grids whose images cannot be read here."""
    return read_spec(gallery.files()[name], MEASURES)


def method_row(name: str, spec: Spec, record: dict[str, Any]) -> list[str]:
    """Return the cells of a page in the table of methods."""
    optima = optima_in(record["facts"])
    ends = sorted({axis for optimum in optima for axis in axes_at_end(optimum)})
    inside = "all inside" if optima else "no optimum"
    budgets = tuning(spec)
    tuned = "; ".join(f"{tried} tried, {rows:,} rows" for tried, rows in sorted(set(budgets)))
    seeds = [grid.seeds for grid in spec.grids if grid.seeded]
    rows = [n for grid in spec.grids if (n := test_rows(grid)) is not None]
    declared = spec.method.get("sizes")
    return [
        f"[{name}]({name}.md)",
        f"some at an end of {', '.join(ends)}" if ends else inside,
        f"{len(budgets)} × ({tuned})" if tuned else "–",
        f"{declared['along']} = {', '.join(f'{size:,}' for size in sizes(spec))}"
        if declared
        else "named in the title",
        "–".join(dict.fromkeys((str(min(seeds)), str(max(seeds))))),
        f"{min(rows):,}{' (fewer of real data)' if 'real_data' in spec.method else ''}"
        if rows
        else "–",
        record["computed"],
    ]


def sizes(spec: Spec) -> list[int]:
    """Return the sizes of the grids that a study declares for its trend."""
    declared = spec.method.get("sizes", {"grid": [], "along": "n"})
    names = [declared["grid"]] if isinstance(declared["grid"], str) else declared["grid"]
    problems = [v.problem for g in spec.grids if g.name in names for v in problems_of(g)]
    return sorted({getattr(problem, declared["along"]) for problem in problems})


def tuning(spec: Spec) -> list[tuple[int, int]]:
    """Return how many settings each competitor tries, and on how many rows it chooses."""
    budgets = []
    for entry in spec.method["competitors"]:
        settings, rows = entry.get("settings"), entry.get("rows")
        if "grid" in entry:
            (grid,) = (grid for grid in spec.grids if grid.name == entry["grid"])
            first = problems_of(grid)[0]
            settings, rows = len(first.etas) * len(first.ridges), test_rows(grid) or 0
        budgets.append((settings, rows))
    return budgets


def test_rows(grid: Grid) -> int | None:
    """Return the test rows per network that a grid sets; None if its measure tests nothing."""
    tests = "n_test" in MEASURES[grid.measure].options
    return int(grid.options.get("n_test", 0)) if tests else None


def optima_in(facts: Any) -> list[dict[str, Any]]:
    """Return the best points among the facts of a page."""
    if not isinstance(facts, dict | list):
        return []
    if "ends" in facts:
        return [facts]
    items = facts.values() if isinstance(facts, dict) else facts
    return [optimum for item in items for optimum in optima_in(item)]


def axes_at_end(optimum: dict[str, Any]) -> list[str]:
    """Return the axes along which a best point is the first or the last of its grid."""
    return [axis for axis, x in optimum["at"].items() if x in optimum["ends"][axis]]


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
