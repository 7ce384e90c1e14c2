"""Write docs/open/: a page for every open question, from finished runs.

    onegrad reproduce open --out out/open && python docs/make_open.py out/open [MORE ...]

Nothing is computed here: pages and pictures are those of the runs. The table next to a page is the
run's, without columns that never change and without the tails of spectra; its facts are kept as
NAME.json, from which `index.md` and `method.md` are made for all pages, also those of earlier
runs. `method.md` quotes numbers of independent code from `independent_numbers.toml`.
"""

from __future__ import annotations

import csv
import json
import re
import shutil
import sys
import tomllib
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PAGES = HERE / "open"
MAX_INDEX = 4  # entries of an array that the table of a page keeps
ALWAYS_KEPT = ("quantity", "mean", "se", "seeds")
LEFT_OUT = ("linear", "kernel_bound")  # quantities of theory that no page of a network needs
THUMBNAIL = (300, 160)  # pixels at most
INTRODUCTION = """# Open questions: {count} findings

Each line of the table answers a question that the papers leave open: by simulated networks, and by
theory where there is one. A page starts with its figure and the finding with its standard errors.
Then come the numbers, an explanation, the limits and the literature. [How findings are
made](method.md) lists the rules that every page follows.

`onegrad reproduce open --quick` computes a small version of all pages in about one minute of
processor time. At full size, the cells of `onegrad reproduce open` took about two and a quarter
hours, summed over the processes of one machine with 16 cores and a GPU that also did other work.

| | finding |
| --- | --- |
"""
METHOD = """# How findings are made

Every page about an open question follows seven rules. The software checks them
(`studies/rules.py`): `onegrad reproduce` ends with an error when a finding breaks a rule, and the
page says which. `tests/studies/test_findings_obey_the_rules.py` breaks each rule with a small
study.

1. **Interior optimum.** A best, lowest or largest value lies inside its grid. Where the end of a
   grid is best, the sentence says "at least" or "at most".
2. **Same tuning.** All competitors try the same number of settings and choose among them on the
   same number of rows.
3. **Paired differences.** Networks that are compared share seeds, and their differences are taken
   seed by seed.
4. **Test rows.** Every network is tested on at least 20,000 fresh rows, unless the data are real.
5. **Several sizes.** The study has at least three sizes and states the trend, or the sentence
   names its size.
6. **Representable teacher.** The network can represent the teacher; studies whose teacher has
   degrees that the network cannot represent are listed below.
7. **Stated selections.** Where only some of several numbers are quoted, the text says how many of
   how many.

± is one standard error over networks. Where a step size or a penalty is chosen by the test error,
it is chosen for the mean over all networks. So the choice fits one number to thousands of test
rows, and it favours no competitor.

## Page by page

*Optima* counts the best values that the page quotes. Those at the end of a grid are named, and
are quoted as "at least" or "at most". *Tuning* is the number of settings tried per competitor, and
the rows on which they are chosen. *Networks* is the number of networks per point.

| page | optima inside | tuning | sizes | networks | test rows | paired | selections |
| --- | --- | --- | --- | --- | --- | --- | --- |
"""
INDEPENDENT = """
## An independent recomputation

These numbers were computed with independent code, or with seeds that the pages do not use, for an
earlier version of these pages. The table compares them with what the pages say now.

| page | quantity | independent code | this page | remark |
| --- | --- | --- | --- | --- |
"""

TOCTREE = """
```{toctree}
:hidden:
:glob:

*
```
"""


def index(records: dict[str, dict[str, Any]]) -> str:
    """Return one line per question: a thumbnail and the finding."""
    lines = [
        f"| [![{_escaped(record['text'].get('topic', name))}](thumbnails/{name}.png)]({name}.md) "
        f"| [{_escaped(record['text']['title'])}]({name}.md) |"
        for name, record in records.items()
    ]
    return INTRODUCTION.format(count=len(records)) + "\n".join(lines) + "\n" + TOCTREE


def method(records: dict[str, dict[str, Any]]) -> str:
    """Return the rules, what each page did, and the numbers of independent code."""
    rows = [_method_row(name, record["method"]) for name, record in records.items()]
    reasons = [
        f"* [{name}]({name}.md): {record['method']['out_of_reach']}"
        for name, record in records.items()
        if record["method"]["out_of_reach"]
    ]
    broken = [
        f"* [{name}]({name}.md): {violation}"
        for name, record in records.items()
        for violation in record["method"]["violations"]
    ]
    parts = [METHOD + "\n".join(rows) + "\n"]
    if reasons:
        parts.append("\nTeachers with degrees that the network cannot represent:\n\n")
        parts.append("\n".join(reasons) + "\n")
    if broken:
        parts.append("\n**Rules that a page still breaks:**\n\n" + "\n".join(broken) + "\n")
    return "".join([*parts, INDEPENDENT, *independent_rows(records)])


def _method_row(name: str, method: dict[str, Any]) -> str:
    optima, at_end = method["optima"], [o for o in method["optima"] if o["at_end"]]
    inside = f"{len(optima) - len(at_end)} of {len(optima)}" if optima else "no optimum"
    axes = sorted({axis for o in at_end for axis in o["at_end"]})
    budgets = {(c["settings"], c["rows"]) for c in method["competitors"]}
    tuning = "; ".join(f"{tried} tried, {rows:,} rows" for tried, rows in sorted(budgets))
    sizes = ", ".join(f"{size:,}" for size in method["sizes"])
    networks = "–".join(dict.fromkeys(map(str, method["networks"])))
    rows = f"{method['test_rows']:,}" if method["test_rows"] else "–"
    cells = [
        f"[{name}]({name}.md)",
        inside + (f", at an end of {', '.join(axes)}" if axes else ""),
        f"{len(method['competitors'])} × ({tuning})" if tuning else "–",
        f"{method['along']} = {sizes}" if sizes else "named in the sentence",
        networks,
        rows + (f" (real data: {', '.join(method['real_data'])})" if method["real_data"] else ""),
        str(method["paired"] or "–"),
        "; ".join(method["selections"]) or "–",
    ]
    return "| " + " | ".join(cells) + " |"


def independent_rows(records: dict[str, dict[str, Any]]) -> list[str]:
    """Return the rows of numbers from independent code beside those of the pages."""
    entries = tomllib.loads((HERE / "independent_numbers.toml").read_text(encoding="utf-8"))
    lines = []
    for entry in entries["number"]:
        if entry["page"] not in records:
            continue
        facts = _Facts(records[entry["page"]]["facts"])
        here, remark = (
            text.format_map(facts) for text in (entry["here"], entry.get("remark", "agree"))
        )
        page = f"[{entry['page']}]({entry['page']}.md)"
        cells = [page, entry["quantity"], entry["independent"], here, remark]
        lines.append("| " + " | ".join(map(_escaped, cells)) + " |\n")
    return lines


class _Facts(dict):
    """Facts by name for templates, in which `{best.value[0]:.3f}` reads tables and lists."""

    def __missing__(self, name: str) -> Any:
        raise KeyError(f"no fact {name}; there are {', '.join(self)}")

    def __getitem__(self, name: str) -> Any:
        return _attributes(super().__getitem__(name))


class _Table:
    """A table of JSON, read by attribute."""

    def __init__(self, values: dict[str, Any]) -> None:
        self._values = values

    def __getattr__(self, name: str) -> Any:
        return _attributes(self._values[name])

    __getitem__ = __getattr__


def _attributes(value: Any) -> Any:
    if isinstance(value, dict):
        return _Table(value)
    return [_attributes(item) for item in value] if isinstance(value, list) else value


def _escaped(text: str) -> str:
    return text.replace("*", r"\*")


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
    """Return whether all indices of an entry, as in `F[3]`, are among the first."""
    indices = re.findall(r"\d+", quantity.partition("[")[2])
    return quantity not in LEFT_OUT and all(int(i) < MAX_INDEX for i in indices)


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
