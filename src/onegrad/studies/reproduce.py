"""Reproduce figures: run what is missing, draw, verify, write the report."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from onegrad.experiments.checks import Verdict
from onegrad.experiments.executors import RunOptions, executor
from onegrad.experiments.grid import shard, store_part
from onegrad.experiments.report.page import Page, Section, write_report
from onegrad.experiments.results import Results
from onegrad.experiments.runner import Summary, commit, run
from onegrad.experiments.store import Store
from onegrad.experiments.tables import check_rows, numbers, write_csv
from onegrad.io.files import atomic_write
from onegrad.io.progress import TerminalProgress
from onegrad.pictures import RC
from onegrad.studies import gallery
from onegrad.studies.measures import MEASURES


@dataclass(frozen=True)
class Reproduction:
    """What `reproduce` made."""

    report: Path | None
    figures: tuple[str, ...]
    verdict: Verdict
    summary: Summary
    missing: int


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
    """Compute what is missing of the named figures, draw them, write one report."""
    start = time.monotonic()
    specs = gallery.specs(names, quick=quick, seeds=seeds)
    with Store(out / "store", part=store_part(options.shard)) as store:
        results = {name: Results(spec, store) for name, spec in specs.items()}
        grids = [grid for found in results.values() for grid in found.cells.values()]
        cells = {cell.key: cell for grid in grids for cell in grid}
        with executor(options) as execute:
            wanted = shard(cells.values(), options.shard)
            summary = run(
                wanted, store, MEASURES, execute, device=options.device, progress=progress
            )
        if not draw:
            return Reproduction(None, tuple(specs), Verdict(0, 0, 0), summary, 0)
        sections = [_section(name, found, out) for name, found in results.items()]
        sizes = "quick" if quick else "full"
        sizes += f", at most about {seeds} seeds a point" if seeds else ""
        about = _about(store, set(cells), summary, sizes)
    missing = sum(found.missing for found in results.values())
    page = Page(tuple(sections), about | {"wall clock": f"{time.monotonic() - start:.0f} s"})
    report = write_report(page, out)
    words = {s.name: said(s, results[s.name]) | {"sizes": sizes} for s in sections}
    with atomic_write(out / "findings.json") as file:
        file.write(json.dumps(words, indent=1).encode())
    return Reproduction(report, tuple(specs), page.verdict, summary, missing)


def _section(name: str, results: Results, out: Path) -> Section:
    """Draw one figure, write its files, and say what the report shows of it."""
    from matplotlib import rc_context

    directory = out / "figures"
    directory.mkdir(parents=True, exist_ok=True)
    about = results.spec.about
    if results.missing:
        note = f"{results.missing} cells of this figure are missing: it was not drawn."
        return Section(name, about, None, (), (note,), _parameters(results))
    with rc_context(RC):
        drawing = gallery.draw(name, results)
        svg, png = directory / f"{name}.svg", directory / f"{name}.png"
        drawing.figure.savefig(svg, metadata={"Date": None, "Creator": "onegrad"})
        drawing.figure.set_layout_engine("none")  # laid out once
        drawing.figure.savefig(png, dpi=160)
    write_csv(directory / f"{name}.csv", numbers(results))
    write_csv(directory / f"{name}.checks.csv", check_rows(drawing.checks))
    said = drawing.notes, _parameters(results), drawing.finding
    return Section(name, about, svg, drawing.checks, *said)


def said(section: Section, results: Results) -> dict[str, Any]:
    """A section's words, for pages other than the report, and how many networks are behind it."""
    networks = sum(cell.seeds for cells in results.cells.values() for cell in cells)
    about = {key: str(value) for key, value in section.about.items()}
    found = {"finding": section.finding, "notes": list(section.notes)}
    verdict = str(section.verdict) if section.checks else ""
    made = {"grids": list(section.parameters), "verdict": verdict, "networks": networks}
    return about | found | made


def _parameters(results: Results) -> list[str]:
    """What each grid of a figure computed, in a line."""
    lines = []
    for grid in results.spec.grids:
        fields = [f"{k} = {_short(v)}" for k, v in grid.problem.items()]
        options = [f"{k} = {v}" for k, v in grid.options.items()]
        seeds = (
            [f"{grid.seeds} seeds a point"] if any(p.seeded for p in results[grid.name][:1]) else []
        )
        words = "; ".join([", ".join(fields), *options, *seeds, f"convention {grid.convention}"])
        lines.append(f"{grid.name} ({grid.measure}): {words}")
    return lines


def _short(value: Any) -> str:
    if isinstance(value, tuple):
        values = [f"{v:.4g}" if isinstance(v, float) else str(v) for v in value]
        if len(values) > 6:
            return f"{values[0]}, {values[1]}, …, {values[-1]} ({len(values)} values)"
        return "{" + ", ".join(values) + "}"
    return str(value)


def _about(store: Store, keys: set[str], summary: Summary, sizes: str) -> dict[str, str]:
    """What was run, for the foot of the report."""
    found = [by for key, by in store.provenances().items() if key in keys]
    seconds = sum(p.seconds for p in found)
    return {
        "sizes": sizes,
        "cells": f"{len(found)} (now computed: {summary.computed}, failed: {summary.failed})",
        "compute time of all cells": f"{seconds:.0f} s",
        "onegrad": ", ".join(sorted({p.version for p in found})),
        "commits": ", ".join(sorted({p.commit or "none" for p in found})),
        "drawn at commit": commit() or "none",
        "precision": ", ".join(sorted({p.dtype for p in found})),
        "devices": ", ".join(sorted({p.device for p in found})),
    }


def to_json(made: Reproduction) -> dict[str, Any]:
    """The JSON of the command line."""
    verdict = made.verdict
    return {
        "report": None if made.report is None else str(made.report),
        "figures": list(made.figures),
        "points": verdict.points,
        "holding": verdict.holding,
        "holding_exactly": verdict.exact,
        "passed": verdict.passed,
        "missing": made.missing,
        **asdict(made.summary),
    }
