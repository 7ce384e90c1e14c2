"""Reproduce studies: run what is missing, draw, verify, write the report."""

import functools
import json
import math
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from numbers import Real
from pathlib import Path
from typing import Any

from onegrad.exceptions import InvalidInput
from onegrad.experiments.checks import Headline
from onegrad.experiments.grid import shard, store_part
from onegrad.experiments.report.page import REPORT, Page, Section, Sizes, study_page, write_report
from onegrad.experiments.results import Results
from onegrad.experiments.runner import RunOptions, Summary, commit, executor, run_cells
from onegrad.experiments.spec import Spec
from onegrad.experiments.store import Provenance, Store
from onegrad.experiments.tables import check_rows, headline_record, point_rows, write_csv
from onegrad.io.files import atomic_write, output_file
from onegrad.io.json_values import json_values
from onegrad.io.progress import TerminalProgress
from onegrad.pictures.style import RC
from onegrad.studies.findings import Facts, Selection
from onegrad.studies.gallery import Study, select
from onegrad.studies.measures import MEASURES

MAX_LISTED_VALUES = 6  # of a field, in the parameters of a grid
_NOTHING_DRAWN = Page((), Sizes(), {})


@dataclass(frozen=True)
class Reproduction:
    """The report, None if nothing was drawn, and the number of cells of a reproduction."""

    figures: tuple[str, ...]
    summary: Summary
    missing: int = 0
    report: Path | None = None
    page: Page = _NOTHING_DRAWN


def reproduce(
    names: Sequence[str],
    out: Path,
    options: RunOptions,
    *,
    quick: bool = False,
    seeds: int | None = None,
    draw: bool = True,
    progress: TerminalProgress | None = None,
) -> Reproduction:
    """Compute the missing cells of the named studies, draw them, write one report."""
    start = time.monotonic()
    studies = select(names, quick=quick, seeds=seeds)
    with Store(out / "store", part=store_part(options.shard)) as store:
        if draw:  # what could not be written is said before the work
            output_file(out / REPORT, "out")
            (out / "figures").mkdir(exist_ok=True)
        results = {name: Results(study.spec, store) for name, study in studies.items()}
        grids = [grid for of_study in results.values() for grid in of_study.cells.values()]
        cells = {cell.key: cell for grid in grids for cell in grid}
        with executor(options) as execute:
            part = shard(cells.values(), options.shard)
            summary = run_cells(
                part, store, MEASURES, execute, device=options.device, progress=progress
            )
        if not draw:
            return Reproduction(tuple(studies), summary)
        sizes = Sizes(quick, seeds)
        provenances = store.provenances()
        sections = []
        for name, study in studies.items():
            keys = {cell.key for of_grid in results[name].cells.values() for cell in of_grid}
            computed = _computed([provenances[key] for key in sorted(keys & provenances.keys())])
            sections.append(_section(study, results[name], out / "figures", sizes, computed))
        about = _about([by for key, by in provenances.items() if key in cells], summary, sizes)
    missing = sum(of_study.missing for of_study in results.values())
    about["wall clock"] = f"{time.monotonic() - start:.0f} s"
    page = Page(tuple(sections), sizes, about)
    return Reproduction(tuple(studies), summary, missing, write_report(page, out), page)


def _section(study: Study, results: Results, folder: Path, sizes: Sizes, computed: str) -> Section:
    """Draw a study, write its files, and return what the report shows of it."""
    grids = grid_lines(study.spec)
    networks = sum(cell.seeds for cells in results.cells.values() for cell in cells)
    if results.missing:
        note = f"{results.missing} cells of this figure are missing: it was not drawn."
        text = {"title": study.title, "parameters": str(study.spec.text.get("parameters", ""))}
        return Section(study.name, text, None, (), (), (note,), grids, networks, sizes, computed)
    checks, facts = study.checks(results), study.facts(results)
    text, notes = texts(study, facts)
    sentences = headlines(study, facts)
    heads, rows = number_table(study, facts)
    section = Section(
        name=study.name,
        text=text,
        svg=_draw(study, results, folder),
        headlines=sentences,
        checks=checks,
        notes=notes,
        grids=grids,
        networks=networks,
        sizes=sizes,
        computed=computed,
        heads=heads,
        rows=rows,
    )
    write_csv(folder / f"{study.name}.csv", point_rows(results))
    write_csv(folder / f"{study.name}.checks.csv", check_rows(checks))
    record = {"order": study.spec.order, "text": text, "facts": json_values(facts)}
    record["computed"] = computed
    record["headlines"] = [headline_record(h) for h in sentences]
    _write(folder / f"{study.name}.json", json.dumps(record, indent=1, ensure_ascii=False))
    if "question" in text:
        _write(folder / f"{study.name}.md", study_page(section))
    return section


def _draw(study: Study, results: Results, folder: Path) -> Path:
    """Write the picture as SVG and PNG and return the path of the first."""
    from matplotlib import rc_context

    svg = folder / f"{study.name}.svg"
    with rc_context(RC):
        figure = study.draw(results)
        with atomic_write(svg) as file:
            figure.savefig(file, format="svg", metadata={"Date": None, "Creator": "onegrad"})
        figure.set_layout_engine("none")  # the PNG as the SVG was laid out
        with atomic_write(svg.with_suffix(".png")) as file:
            figure.savefig(file, format="png", dpi=160)
    return svg


def texts(study: Study, facts: Facts) -> tuple[dict[str, str], list[str]]:
    """Return the texts of a study, filled with its facts, and its notes, one per line of them."""
    templates = study.spec.text
    text = {key: filled(t, facts) for key, t in templates.items() if isinstance(t, str)}
    notes = [filled(note, facts) for note in templates.get("notes", ())]
    return text, [line for note in notes for line in note.splitlines() if line]


def headlines(study: Study, facts: Facts) -> tuple[Headline, ...]:
    """Return the sentences of a study, each with the value that decides it."""
    return tuple(_headline(study, entry, facts) for entry in study.spec.headlines)


def _headline(study: Study, entry: Facts, facts: Facts) -> Headline:
    value = _fact(entry["value"], facts)
    if not isinstance(value, Real) and not hasattr(value, "interval"):
        allowed = "a number or a value with an interval (studies/findings.py)"
        raise InvalidInput(f"{study.name}: headline value {entry['value']}", value, allowed)
    limits = {k: float(_fact(entry[k], facts)) for k in ("above", "below") if k in entry}
    low, high = getattr(value, "interval", (value, value))  # a plain number is exact
    return Headline(
        sentence=filled(entry.get("says", study.spec.text.get("title", study.name)), facts),
        quantity=filled(entry["quantity"], facts),
        shown=str(value) if isinstance(value, Selection) else f"{value:.3g}",
        interval=(float(low), float(high)),
        **limits,
    )


def _fact(path: Any, facts: Facts) -> Any:
    """Return the fact of a path such as `rows[2].change`; numbers stand for themselves."""
    if not isinstance(path, str):
        return path
    return _environment().compile_expression(path, False)(**facts)


def number_table(study: Study, facts: Facts) -> tuple[list[str], list[list[str]]]:
    """Return the heads and rows of a page's table: a row per item of a fact, a text per column."""
    entry = study.spec.text.get("table")
    if entry is None:
        return [], []
    texts_of_columns = entry["columns"].values()
    items = [{**facts, **item} for item in facts[entry["rows"]]]
    return list(entry["columns"]), [[filled(t, item) for t in texts_of_columns] for item in items]


def filled(template: str, facts: Facts) -> str:
    """Return a text with its facts; the filter `number` is Python's `format`.

    >>> filled("{{ gain|number('.0%') }} at {{ sizes|join(', ') }}", {"gain": 0.25, "sizes": [8]})
    '25% at 8'
    """
    return str(_text_template(template).render(facts))


@functools.cache
def _text_template(template: str) -> Any:
    return _environment().from_string(template)


@functools.cache
def _environment() -> Any:
    # sandboxed: a text may format facts, not reach the program; escaped where a page is made
    from jinja2 import StrictUndefined
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    environment = ImmutableSandboxedEnvironment(undefined=StrictUndefined)
    environment.filters["number"] = format
    return environment


def _write(path: Path, text: str) -> None:
    with atomic_write(path) as file:
        file.write(text.encode())


def grid_lines(spec: Spec) -> list[str]:
    """Return what each grid of a study computes, one line per grid."""
    lines = []
    for grid in spec.grids:
        fields = ", ".join(f"{k} = {_short(v)}" for k, v in grid.problem.items())
        options = [f"{k} = {v}" for k, v in grid.options.items()]
        seeds = [f"{grid.seeds} seeds per point"] if grid.seeded else []
        parts = [fields, *options, *seeds, f"convention {grid.convention}"]
        lines.append(f"{grid.name} ({grid.measure}): {'; '.join(parts)}")
    return lines


def _short(value: Any) -> str:
    if not isinstance(value, tuple):
        return str(value)
    values = [f"{v:.4g}" if isinstance(v, float) else str(v) for v in value]
    if len(values) > MAX_LISTED_VALUES:
        return f"{values[0]}, {values[1]}, …, {values[-1]} ({len(values)} values)"
    return "{" + ", ".join(values) + "}"


def _computed(provenances: Sequence[Provenance]) -> str:
    """Return the version, the devices, the time and the days of cells."""
    versions = ", ".join(sorted({p.version for p in provenances}))
    devices = " and ".join(sorted({p.device.partition(",")[0] for p in provenances}))
    days = sorted({p.finished[:10] for p in provenances})
    period = " to ".join(days[:: len(days) - 1 or 1])
    seconds = math.fsum(p.seconds for p in provenances)
    return f"onegrad {versions}, {devices}, {seconds:,.0f} s, {period}"


def _about(provenances: Sequence[Provenance], summary: Summary, sizes: Sizes) -> dict[str, str]:
    """Return what was run, for the end of the report."""
    seconds = sum(p.seconds for p in provenances)
    counts = f"computed now: {summary.computed}, failed: {summary.failed}"
    return {
        "sizes": str(sizes),
        "cells": f"{len(provenances)} ({counts})",
        "compute time of all cells": f"{seconds:.0f} s",
        "onegrad": ", ".join(sorted({p.version for p in provenances})),
        "commits": ", ".join(sorted({p.commit or "none" for p in provenances})),
        "drawn at commit": commit() or "none",
        "precision": ", ".join(sorted({p.dtype for p in provenances})),
        "devices": ", ".join(sorted({p.device for p in provenances})),
    }


def reproduction_json(reproduction: Reproduction) -> dict[str, Any]:
    """Return the JSON of the command line."""
    page, verdict, report = reproduction.page, reproduction.page.verdict, reproduction.report
    return {
        "report": None if report is None else str(report),
        "figures": list(reproduction.figures),
        "points": verdict.points,
        "holding": verdict.holding,
        "holding_exactly": verdict.exact,
        "passed": verdict.passed,
        "missing": reproduction.missing,
        "sentences": len(page.headlines),
        "sentences_holding": page.holding,
        **asdict(reproduction.summary),
    }
