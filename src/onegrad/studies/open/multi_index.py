"""Two-index teachers: what one giant step learns as the rows grow from d to d squared."""

from typing import Any

import numpy as np

from onegrad.experiments import Check, Point, Points, Results
from onegrad.pictures import style
from onegrad.studies.drawing import curve_through, joined
from onegrad.studies.findings import BestPoint, Estimate, Facts, lowest_point, paired_ratio, trend

LABELS = {
    "plain": "labels as they are",
    "residual-linear": "linear part off, by moments",
    "residual-least-squares": "off by least squares",
}
PUBLISHED = {3326: 0.3360, 29532: 0.2068, 262144: 0.0774}  # by n, means over ten data sets
PUBLISHED_D = 512


def draw(results: Results) -> Any:
    """Draw the lowest test error and the share of the step along what it finds least."""
    figure, ((left, right),) = style.panels(2, width=4.6, height=3.8)
    points = of_sizes(results)
    sizes, p = points.levels("n"), points[0].problem
    for i, (labels, words) in enumerate(LABELS.items()):
        kind = points.where(labels=labels)
        errors = [best_of(kind.where(n=n)).value for n in sizes]
        joined(left, curve_through(sizes, errors), i, words)
        shares = [least_share(kind.where(n=n)[0]) for n in sizes]
        joined(right, curve_through(sizes, shares), i, words)
    for ax in (left, right):
        style.log_axis(ax, "x", sizes)
        ax.set(xlabel=f"rows n (d = {p.d}, d² = {p.d**2})")
        style.legend(ax, 1)
    style.log_axis(left, "y")
    left.set(ylabel="test error, best penalty")
    right.set(ylabel="share of the step, least direction")
    return figure


def of_sizes(results: Results) -> Points:
    """Return the points of all sizes with tuned penalties."""
    return results.joined(*(name for name in results if name.startswith("n-"))).ordered("n")


def best_of(points: Points) -> BestPoint:
    """Return the lowest test error over the penalties."""
    return lowest_point(points, "test", ["ridge"])


def least_share(point: Point) -> Estimate:
    """Return the share of the step along the combination of indices that it finds least."""
    return Estimate.of(point.values["overlaps"][:, 0])


def checks(results: Results) -> list[Check]:
    """Compare the errors in the published notebook's protocol with the published ones.

    A published mean over ten data sets of one network varies by at most what one run varies by.
    """
    rows = []
    for p in results.joined(*(name for name in results if name.startswith("notebook"))):
        n, values = p.problem.n, p.values["test"]
        if p.problem.d == PUBLISHED_D:
            se = float(np.hypot(values.std(ddof=1), p.se("test")))
            where, mean = f"n={n} d={PUBLISHED_D}", float(values.mean())
            rows.append(Check("test", where, "published", PUBLISHED[n], mean, se, len(values), 0.0))
    return rows


def facts(results: Results) -> Facts:
    """Return errors and overlaps by n and labels, and how publications compare."""
    points = of_sizes(results)
    rows: list[dict[str, Any]] = []
    for n in points.levels("n"):
        kinds = [points.where(n=n, labels=labels) for labels in LABELS]
        plain, moments, least = (best_of(kind) for kind in kinds)
        row = {"n": n, "plain": plain, "moments": moments, "least_squares": least}
        row["ratio"] = paired_ratio(moments.values, plain.values)
        row["ratio_least_squares"] = paired_ratio(least.values, plain.values)
        row["shares"] = [least_share(kind[0]) for kind in kinds]
        rows.append(row)
    return {
        "rows": rows,
        "line": trend(points.levels("n"), [row["ratio"] for row in rows]),
        "published": checks(results),
    }
