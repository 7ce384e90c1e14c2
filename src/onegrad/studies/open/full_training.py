"""One network untrained, after one step, after five, and fully trained: all on the same rows."""

from typing import Any

import numpy as np

from onegrad.experiments import Point, Results
from onegrad.pictures import style
from onegrad.studies.drawing import curve_through, with_legends
from onegrad.studies.findings import (
    Estimate,
    Facts,
    mean_of,
    paired_difference,
    paired_ratio,
    smallest,
    unpaired_difference,
)
from onegrad.studies.measures.training import (
    BATCH_ROWS,
    BUDGETS,
    DEFAULT_BUDGET,
    METHODS,
    PENALTIES,
    RATES,
    SETTINGS,
    WEIGHT_DECAY,
)

# of the share, by whether one step and full training might be better beyond their grids
_BOUNDS = {(0, 0): "", (0, 1): "at most ", (1, 0): "at least ", (1, 1): "about "}
_ERRORS = ("untrained", "one", "five", "full")  # facts, one per method
_IMAGES = {"digits": "digits", "mnist": "MNIST", "fashion": "Fashion-MNIST", "cifar-10": "CIFAR-10"}


def draw(results: Results) -> Any:
    """Draw the shares of the gain and the test errors, one row per task."""
    table = rows(results)
    figure, ((left, right),) = style.panels(2, width=4.8, height=1.2 + 0.45 * len(table))
    places = np.arange(len(table))
    for i, (name, words) in enumerate({"share": "one step", "five_share": "five steps"}.items()):
        horizontal(left, places, [row[name] for row in table], i, words)
    left.axvline(1.0, color=style.BLACK, linewidth=0.9)
    left.set(xlabel="share of the gain of full training", xlim=(0, 1.35))
    for i, name in enumerate(_ERRORS):
        horizontal(right, places, [row[name] for row in table], i, METHODS[i])
    right.set(xlabel="test error / variance of the labels", xlim=(0, None))
    left.set_yticks(places, [row["task"] for row in table])
    right.set_yticks(places, [""] * len(table))
    for ax in (left, right):
        ax.invert_yaxis()
    return with_legends(figure, 2)


def horizontal(ax: Any, places: Any, values: list[Estimate], i: int, label: str) -> None:
    """Draw estimates along x with bars of two standard errors, one per row."""
    curve = curve_through(places, values)
    look = {"linestyle": "none", "marker": style.MARKERS[i], "color": style.SERIES[i]}
    ax.errorbar(curve.y, curve.x + 0.08 * i, xerr=2 * np.asarray(curve.se), label=label, **look)


def rows(results: Results) -> list[dict[str, Any]]:
    """Return the errors and shares of each task; images that were not computed are left out."""
    table = []
    for name in ("relu", "tanh"):
        for point in results[name]:
            label = "ReLU" if name == "relu" else name
            table.append(_row(f"{point.problem.teacher} ({label})", point))
    return table + [_row(label, results[k][0]) for k, label in _IMAGES.items() if k in results]


def _row(task: str, point: Point) -> dict[str, Any]:
    errors = [point.values[f"test_{method}"] for method in METHODS]
    untrained, one, five, full = errors
    ends = {method: _at_ends(point, method) for method in ("one-step", "trained")}
    return {
        "task": task,
        "n": point.problem.n,
        "share": paired_ratio(untrained - one, untrained - full),
        "five_share": paired_ratio(untrained - five, untrained - full),
        "bound": _BOUNDS[ends["one-step"] > 0, ends["trained"] > 0],
        "one_ends": ends["one-step"],
        "full_ends": ends["trained"],
        **dict(zip(_ERRORS, map(Estimate.of, errors), strict=True)),
        "difference": paired_difference(one, full),
    }


def _at_ends(point: Point, method: str) -> int:
    """Return how many choices of a setting are the first or last of their grid."""
    grids = {"rate": RATES[method], "other": PENALTIES.get(method, BUDGETS)}
    chosen = ((point.values[f"{name}_{method}"], grid) for name, grid in grids.items())
    return int(sum(np.isclose(v[:, None], grid[[0, -1]]).any(1).sum() for v, grid in chosen))


def facts(results: Results) -> Facts:
    """Return for each task the errors and the share of one step in the gain of training."""
    table = rows(results)
    teachers = [row for row in table if row["task"] not in _IMAGES.values()]
    smooth = [row["share"] for row in teachers[:-1]]  # without a cubic part
    pictures = [row["share"] for row in table if row not in teachers]
    return {
        "settings": SETTINGS,
        "seeds": results["relu"][0].seeds,
        "adam_steps": DEFAULT_BUDGET["adam_steps"],
        "batch": BATCH_ROWS,
        "decay": WEIGHT_DECAY,
        "rows": table,
        "cubic": teachers[-1],
        "choices": 4 * sum(p.seeds for grid in results.values() for p in grid),
        "at_ends": sum(row["one_ends"] + row["full_ends"] for row in table),
        "lowest_teacher": smallest(smooth),
        "images_mean": mean_of(pictures),
        "images_less_teachers": unpaired_difference(mean_of(pictures), mean_of(smooth)),
        "images": all(name in results for name in ("mnist", "fashion")),
    }
