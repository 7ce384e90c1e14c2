"""Two steps on one batch or on two fresh halves: what the first layer finds of the teacher."""

import math
from typing import Any

import numpy as np

from onegrad.arrays import Floats, standard_error
from onegrad.experiments import Check, Point, Points, Results
from onegrad.pictures import style
from onegrad.studies.drawing import curve_through, heat_map
from onegrad.studies.findings import Estimate, Facts, paired_difference, selected, trend

_KINDS = {"same": "one reused batch", "fresh": "fresh batches"}
_PUBLISHED = {  # Dandi et al. 2024, after 0, 1, ..., 6 steps
    "error": (0.4917, 0.4202, 0.3859, 0.3683, 0.3587, 0.3534, 0.3504),
    "overlap": (0.0, 0.063, 0.102, 0.128, 0.146, 0.161, 0.173),
}
PUBLISHED_SE = 0.0006
_PUBLISHED_D = 5000
_VECTORS = 4  # right singular vectors that span what was found


def draw(results: Results) -> Any:
    """Draw the difference for all pairs of exponents, and both overlaps against d and steps."""
    figure, ((left, middle, right),) = style.panels(3, width=4.0, height=3.8)
    rows = [row for row in comparisons(results) if row["pair"]]
    levels = sorted({row["first"] for row in rows})
    values = np.reshape([row["difference"].mean for row in rows], (len(levels), -1))
    names = [f"{a:g}" for a in levels]
    look = {"vmin": -0.5, "vmax": 0.5, "cmap": "RdBu"}
    heat_map(left, values, names, names, abs(values) > 0.35, **look)
    left.set(xlabel="second exponent α₂", ylabel="first exponent α₁")
    left.set_title("reused less fresh")
    for i, (kind, label) in enumerate(_KINDS.items()):
        points = of_sizes(results, kind)
        style.markers(
            middle,
            curve_through(points.levels("d"), [Estimate.of(overlap(p)) for p in points]),
            i,
            f"{label}, as many rows" if kind == "fresh" else label,
            linestyle="-",
            linewidth=0.8,
        )
        steps = results[f"{kind}-steps"].ordered("steps")
        curve = curve_through(steps.levels("steps"), [Estimate.of(overlap(p)) for p in steps])
        style.markers(
            right,
            curve,
            i,
            f"{label}, n rows each" if kind == "fresh" else label,
            linestyle="-",
            linewidth=0.8,
        )
    d = of_sizes(results, "same").levels("d")
    middle.plot(d, [_VECTORS / size for size in d], ":", color=style.BLACK, label="by chance")
    style.log_axis(middle, "x", d)
    style.log_axis(right, "x", [1, 2, 4, 8])
    middle.set(xlabel="d", ylabel="overlap with the teacher", ylim=(0, 1))
    right.set(xlabel="steps", ylabel="overlap with the teacher", ylim=(0, 1))
    for ax in (middle, right):
        style.legend(ax, 1)
    return figure


def overlap(point: Point) -> Floats:
    """Return the teacher's squared length in the span of the leading vectors, by network."""
    return np.asarray(point.values["aligned"][:, :_VECTORS].sum(1))


def of_sizes(results: Results, kind: str) -> Points:
    """Return the points of all sizes at the exponents of the finding."""
    grids = ["same"] if kind == "same" else [name for name in results if name[-1].isdigit()]
    return results.joined(*grids).ordered("d")


def comparisons(results: Results) -> list[dict[str, Any]]:
    """Return both overlaps and their paired difference, by size and then by pair of exponents."""
    rows = []
    sizes = [of_sizes(results, kind) for kind in _KINDS]
    pairs = [results[f"{kind}-pairs"] for kind in _KINDS]
    for grids in (sizes, pairs):
        for same, fresh in zip(*map(_in_order, grids), strict=True):
            p, values = same.problem, (overlap(same), overlap(fresh))
            rows.append(
                {
                    "pair": grids is pairs,
                    "d": p.d,
                    "first": round(math.log(p.step) / math.log(p.n), 6),
                    "second": float(p.later_alpha),
                    "same": Estimate.of(values[0]),
                    "fresh": Estimate.of(values[1]),
                    "difference": paired_difference(*values),
                }
            )
    return rows


def _in_order(points: Points) -> list[Point]:
    return sorted(points, key=lambda p: (p.problem.d, p.problem.step, p.problem.later_alpha))


def checks(results: Results) -> list[Check]:
    """Compare errors and overlaps of two neurons with the published ones, at their size."""
    point = results["published"][0]
    if point.problem.d != _PUBLISHED_D:
        return []
    rows = []
    for name, published in _PUBLISHED.items():
        for step, value in enumerate(published):
            measured = point.values[name][:, step]
            se = float(np.hypot(standard_error(measured), PUBLISHED_SE))
            where = f"d={point.problem.d} n={point.problem.n} step {step}"
            mean, seeds = float(measured.mean()), len(measured)
            rows.append(Check(name, where, "published", value, mean, se, seeds, 0.0))
    return rows


def facts(results: Results) -> Facts:
    """Return both overlaps by size, by exponents and by steps, and how publications compare."""
    rows, compared = comparisons(results), checks(results)
    sizes, pairs = ([row for row in rows if row["pair"] is pair] for pair in (False, True))
    _, ahead = selected(pairs, lambda row: row["difference"].z > 3, "three standard errors")
    _, behind = selected(pairs, lambda row: row["difference"].z < -3, "three standard errors")
    steps = zip(*(results[f"{kind}-steps"].ordered("steps") for kind in _KINDS), strict=True)
    published = {
        "holding": sum(check.holds for check in compared),
        "count": len(compared),
        "seeds": results["published"][0].seeds,
        "d": _PUBLISHED_D,
    }
    return {
        "sizes": sizes,
        "d": sizes[-1]["d"],
        "line": trend("d", [r["d"] for r in sizes], [r["difference"] for r in sizes]),
        "ahead": ahead,
        "behind": behind,
        "steps": [
            {
                "steps": same.problem.steps,
                "d": same.problem.d,
                "same": Estimate.of(overlap(same)),
                "fresh": Estimate.of(overlap(fresh)),
            }
            for same, fresh in steps
        ],
        "published": [published] if compared else [],
        "rows": rows,
    }
