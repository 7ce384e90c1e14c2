"""One network untrained, after one step, after five, and fully trained: all on the same rows."""

from typing import Any

import numpy as np

from onegrad.experiments import Point, Points, Results
from onegrad.pictures import style
from onegrad.studies.findings import Estimate, Facts, paired_difference, paired_ratio, trend
from onegrad.studies.measures.training import (
    BATCH_ROWS,
    DEFAULT_BUDGET,
    METHODS,
    PENALTIES,
    RATES,
    SETTINGS,
)

_TEACHERS, _WITH_BIASES = ("relu", "tanh"), "biases"
# of the share, by whether one step and full training might be better beyond their grids
_BOUNDS = {(0, 0): "", (0, 1): "at most ", (1, 0): "at least ", (1, 1): "about "}
_NAMES = {"mnist": "MNIST", "fashion": "Fashion-MNIST", "cifar-10": "CIFAR-10", "digits": "digits"}


def tasks(results: Results) -> dict[str, Points]:
    """Return the points of each task; those of images that were not computed are left out."""
    by_task = {}
    for name in _TEACHERS:
        for teacher in results[name].distinct("teacher"):
            label = f"{teacher} ({'ReLU' if name == 'relu' else name})"
            by_task[label] = results[name].where(teacher=teacher).ordered("n")
    for name, label in _NAMES.items():
        if name in results:
            by_task[label] = results[name].ordered("n")
    return by_task


def draw(results: Results) -> Any:
    """Draw the test errors against n, one panel per task."""
    points = tasks(results)
    rows = -(-len(points) // 4)
    figure, axes = style.panels(min(len(points), 4), rows, width=3.1, height=3.0)
    for ax, (task, of_task) in zip(axes.flat, points.items(), strict=False):
        for i, method in enumerate(METHODS):
            curve = of_task.curve("n", f"test_{method}")
            style.markers(ax, curve, i, method, linestyle="-", linewidth=0.9)
        style.heading(ax, task)
        ax.set(xlabel="rows n", ylabel="test error / variance")
        ax.set_ylim(0, 1.2 * max(p.mean("test_untrained") for p in of_task))
        style.log_axis(ax, "x", of_task.levels("n"))
    for ax in list(axes.flat)[len(points) :]:
        ax.set_visible(False)
        ax.set_xlabel(" ")
    style.legend(axes.flat[0], 2)
    return figure


def share(point: Point) -> Estimate:
    """Return the gain of one step over that of full training, paired over seeds."""
    untrained, one, full = (point.values[f"test_{m}"] for m in ("untrained", "one-step", "trained"))
    return Estimate(*paired_ratio(untrained - one, untrained - full))


def _row(task: str, point: Point) -> dict[str, Any]:
    values = point.values
    ends = {method: _at_ends(point, method) for method in ("one-step", "trained")}
    return {
        "task": task,
        "n": point.problem.n,
        "share": share(point),
        "bound": _BOUNDS[ends["one-step"] > 0, ends["trained"] > 0],
        "one_ends": ends["one-step"],
        "full_ends": ends["trained"],
        "untrained": point.mean("test_untrained"),
        "one": Estimate.of(values["test_one-step"]),
        "five": Estimate.of(values["test_five-steps"]),
        "full": Estimate.of(values["test_trained"]),
        "difference": paired_difference(values["test_one-step"], values["test_trained"]),
    }


def _at_ends(point: Point, method: str) -> int:
    """Return how many choices of a rate or penalty are the first or last of their grid."""
    grids = {"rate": RATES[method], "penalty": PENALTIES[method]}
    chosen = ((point.values[f"{name}_{method}"], grid) for name, grid in grids.items())
    return int(sum(np.isclose(v[:, None], grid[[0, -1]]).any(1).sum() for v, grid in chosen))


def facts(results: Results) -> Facts:
    """Return for each task the errors and the share of one step in the gain of training."""
    by_task = tasks(results)
    rows = {task: [_row(task, p) for p in points] for task, points in by_task.items()}
    trends = []
    for task, of_task in rows.items():
        if len(of_task) > 1:
            line = trend("n", [row["n"] for row in of_task], [row["share"] for row in of_task])
            trends.append({"task": task, "shares": of_task, "line": line})
    last = [of_task[-1] for of_task in rows.values()]
    n = max(row["n"] for row in last)
    last = [row | {"fewer_rows": row["n"] < n} for row in last]
    teachers = [row for row in last if row["task"] not in _NAMES.values()]
    pictures = [row for row in last if row["task"] in _NAMES.values()]
    all_rows = [row for of_task in rows.values() for row in of_task]
    return {
        "n": n,
        "settings": SETTINGS,
        "adam_steps": DEFAULT_BUDGET["adam_steps"],
        "batch": BATCH_ROWS,
        "teachers": teachers,
        "pictures": pictures,
        "rows": all_rows,
        "choices": 4 * sum(p.seeds for points in by_task.values() for p in points),
        "at_ends": sum(row["one_ends"] + row["full_ends"] for row in all_rows),
        "lowest_teacher": min(row["share"].mean for row in teachers),
        "image_shares": _range([row["share"].mean for row in pictures]),
        "images": all(name in results for name in ("mnist", "fashion")),
        "with_biases": [_row("biases", results[_WITH_BIASES][0])],
        "trends": trends,
    }


def _range(shares: list[float]) -> str:
    low, high = min(shares), max(shares)
    return f"{low:.0%}" if f"{low:.0%}" == f"{high:.0%}" else f"{low:.0%} to {high:.0%}"
