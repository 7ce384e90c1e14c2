"""Share of the teacher's subspace that the metric's leading subspace has, round by round."""

from __future__ import annotations

from typing import Any

import numpy as np

from onegrad.experiments.results import Results
from onegrad.pictures import Curve, style
from onegrad.studies.text import Estimate, Facts

MIN_OVERLAP = 0.9  # with which a subspace counts as found


def draw(results: Results) -> Any:
    """Draw overlap and test error against the rounds, one row per teacher."""
    teachers = results["0"].distinct("teacher")
    figure, axes = style.panels(2, len(teachers), width=4.4, height=3.4)
    for row, teacher in zip(axes, teachers, strict=True):
        for i, n in enumerate(results["0"].levels("n")):
            for ax, quantity in zip(row, ("overlap", "risk"), strict=True):
                curve = along_rounds(results, teacher, n, quantity)
                style.markers(ax, curve, i, f"n = {n}", linestyle="-", linewidth=0.8)
        row[0].set(xlabel="rounds", ylabel="overlap of the subspaces")
        row[1].set(xlabel="rounds", ylabel="test error / variance")
        row[1].set_title(teacher)
        style.legend(row[0], 3)
    return figure


def along_rounds(results: Results, teacher: str, n: int, quantity: str) -> Curve:
    """Return a quantity against the largest number of rounds."""
    points = [results[name].where(teacher=teacher, n=n)[0] for name in results]
    return Curve(
        np.array([int(name) for name in results], dtype=float),
        np.array([p.mean(quantity) for p in points]),
        np.array([p.se(quantity) for p in points]),
    )


def facts(results: Results) -> Facts:
    """Return the overlaps by teacher and rows, and the rows from which a subspace is found."""
    sizes, d = results["0"].levels("n"), results["0"][0].problem.d
    teachers, overlaps = [], []
    for teacher in results["0"].distinct("teacher"):
        curves = {n: along_rounds(results, teacher, n, "overlap") for n in sizes}
        last = [float(curve.y[-1]) for curve in curves.values()]
        enough = [n for i, n in enumerate(sizes) if min(last[i:]) > MIN_OVERLAP]
        rows = enough[0] if enough else sizes[-1]
        teachers.append({"teacher": teacher, "found": bool(enough), "rows": rows})
        for n, curve in curves.items():
            values = {"none": curve.y[0], "one": curve.y[1], "last": Estimate.at(curve, -1)}
            overlaps.append({"teacher": teacher, "n": n, **values})
    return {
        "min_overlap": MIN_OVERLAP,
        "teachers": teachers,
        "d": d,
        "max_rounds": max(map(int, results)),
        "chance": 2 / d,
        "overlaps": overlaps,
    }
