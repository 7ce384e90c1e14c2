"""Two steps on one batch or on two fresh halves: what the first layer finds of the teacher."""

import math
from typing import Any

import numpy as np

from onegrad.arrays import Floats
from onegrad.experiments import Point, Points, Results
from onegrad.pictures import style
from onegrad.studies.drawing import heat_map, joined, seed_curve
from onegrad.studies.findings import Estimate, Facts, Selection, paired_difference, trend

_KINDS = {"same": "one reused batch", "fresh": "fresh batches"}
_VECTORS = 4  # right singular vectors that span what was found


def draw(results: Results) -> Any:
    """Draw the difference for all pairs of exponents, and both overlaps against d and steps."""
    figure, ((left, middle, right),) = style.panels(3, width=4.0, height=3.8)
    pairs = comparisons(results, "pairs")
    levels = sorted({row["first"] for row in pairs})
    values = np.reshape([row["difference"].mean for row in pairs], (len(levels), -1))
    names = [f"{alpha:g}" for alpha in levels]
    look = {"vmin": -0.5, "vmax": 0.5, "cmap": "RdBu"}
    heat_map(left, values, names, names, abs(values) > 0.35, **look)
    left.set(xlabel="second exponent α₂", ylabel="first exponent α₁", title="reused less fresh")
    for i, (kind, label) in enumerate(_KINDS.items()):
        sizes, steps = (grid_of(results, kind, part) for part in ("sizes", "steps"))
        for ax, points, along in ((middle, sizes, "d"), (right, steps, "steps")):
            joined(ax, seed_curve(points, along, overlap), i, label)
    d = sizes.levels("d")
    middle.plot(d, [_VECTORS / size for size in d], ":", color=style.BLACK, label="by chance")
    style.heading(middle, "as many rows in all")
    style.heading(right, "as many rows in each fresh batch", "left")
    for ax, along, ticks in ((middle, "d", d), (right, "steps", steps.levels("steps"))):
        style.log_axis(ax, "x", ticks)
        ax.set(xlabel=along, ylabel="overlap with the teacher", ylim=(0, 1))
        style.legend(ax, 1)
    return figure


def overlap(point: Point) -> Floats:
    """Return the teacher's squared length in the span of the leading vectors, by network."""
    return np.asarray(point.values["aligned"][:, :_VECTORS].sum(1))


def grid_of(results: Results, kind: str, part: str) -> Points:
    """Return the points of a kind of batch: for the sizes, the pairs of exponents or the steps."""
    if part == "sizes":  # fresh halves of n rows have a grid for each n
        names = ["same"] if kind == "same" else [name for name in results if name[-1].isdigit()]
    else:
        names = [f"{kind}-{part}"]
    fields = ("d", "steps", "step", "later_alpha")
    joined = results.joined(*names)
    return Points(sorted(joined, key=lambda p: [getattr(p.problem, field) for field in fields]))


def comparisons(results: Results, part: str) -> list[dict[str, Any]]:
    """Return both overlaps and their paired difference at each point."""
    points = zip(*(grid_of(results, kind, part) for kind in _KINDS), strict=True)
    return [
        {
            "d": same.problem.d,
            "steps": same.problem.steps,
            "first": round(math.log(same.problem.step) / math.log(same.problem.n), 6),
            "second": float(same.problem.later_alpha),
            "same": Estimate.of(overlap(same)),
            "fresh": Estimate.of(overlap(fresh)),
            "difference": paired_difference(overlap(same), overlap(fresh)),
        }
        for same, fresh in points
    ]


def facts(results: Results) -> Facts:
    """Return both overlaps by size, by exponents and by steps."""
    sizes, pairs, steps = (comparisons(results, part) for part in ("sizes", "pairs", "steps"))
    return {
        "sizes": sizes,
        "d": sizes[-1]["d"],
        "line": trend([r["d"] for r in sizes], [r["difference"] for r in sizes]),
        "ahead": Selection.of(row["difference"].z > 3 for row in pairs),
        "behind": Selection.of(row["difference"].z < -3 for row in pairs),
        "steps": steps,
        "rows": [*sizes, *pairs],
    }
