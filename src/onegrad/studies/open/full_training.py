"""One step, a few steps, full training and trees, all on the same rows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from onegrad.experiments.results import Point, Results
from onegrad.pictures import style
from onegrad.studies.text import Estimate, Facts

_METHODS = ("untrained", "one-step", "five-steps", "trained", "trees", "alternating")


def draw(results: Results) -> Any:
    """Draw the test errors as bars, one group per task."""
    points = by_task(results)
    figure, axes = style.panels(1, width=2.0 + 1.7 * len(points), height=4.0)
    ax = axes[0, 0]
    for i, method in enumerate(_METHODS):
        y = [of_task[method].mean("test") for of_task in points.values()]
        se = [of_task[method].se("test") for of_task in points.values()]
        x = np.arange(len(points)) + 0.14 * (i - 2.5)
        colour = style.SERIES[i % len(style.SERIES)]
        ax.bar(x, y, 0.13, yerr=2 * np.array(se), color=colour, label=method)
    ax.set_xticks(range(len(points)), list(points), fontsize=7)
    ax.set(xlabel="teacher or data", ylabel="test error / variance of the labels")
    style.legend(ax, 3)
    return figure


def by_task(results: Results) -> dict[str, dict[str, Point]]:
    """Return the points by task and method."""
    tasks: dict[str, dict[str, Point]] = {}
    for method in _METHODS:
        for p in results[method]:
            tasks.setdefault(p.problem.teacher_function.name, {})[method] = p
        tasks.setdefault("digits ≥ 5", {})[method] = results[f"digits-{method}"][0]
    return tasks


def facts(results: Results) -> Facts:
    """Return for each task the errors of all methods and the share of one step in the gain."""
    tasks = []
    for task, points in by_task(results).items():
        errors = {method: Estimate.of(points[method].values["test"]) for method in _METHODS}
        full = errors["untrained"].mean - errors["trained"].mean
        one = errors["untrained"].mean - errors["one-step"].mean
        rows = [{"method": method, "test": error} for method, error in errors.items()]
        share = one / full if full > 0 else math.nan
        tasks.append({"task": task, "gains": full > 0, "share": share, "errors": rows})
    return {"tasks": tasks}
