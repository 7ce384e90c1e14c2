"""Two-index teachers: what one giant step learns as the rows grow from d to d squared."""

import functools
from typing import Any

import numpy as np

from onegrad.arrays import Floats
from onegrad.experiments import Check, Point, Points, Results, compare_results
from onegrad.pictures import style
from onegrad.studies.drawing import curve_through, seed_curve
from onegrad.studies.findings import Estimate, Facts, paired_difference

_SIZES = ("d", "small", "middle", "large")
_CURVES = {
    "plain": "labels as they are",
    "own": "linear part off",
    "notebook": "as in the notebook",
    "least_squares": "off by least squares",
}
PUBLISHED = {3326: 0.3360, 29532: 0.2068, 262144: 0.0774}  # by n, means over ten data sets
PUBLISHED_D, PUBLISHED_DATA_SETS = 512, 10
MANY = 10**6  # seeds that turn a score into a plain ratio


def of_networks(point: Point, name: str) -> Floats:
    """Return a test error by network, the mean over its data sets."""
    values = point.values[name]
    return values if values.ndim == 1 else values.mean(1)


def _spread(point: Point, name: str) -> tuple[float, float]:
    """Return the standard deviation between networks, and within one over its data sets.

    The mean of a network over k data sets has the variance between^2 + within^2/k.
    """
    values = point.values[name]
    within = values.var(1, ddof=1).mean()
    between = max(values.mean(1).var(ddof=1) - within / values.shape[1], 0.0)
    return float(between**0.5), float(within**0.5)


def published_sd(point: Point) -> float:
    """Return the standard deviation of what one network with ten data sets gives."""
    between, within = _spread(point, "notebook")
    return float(np.hypot(between, within / PUBLISHED_DATA_SETS**0.5))


def giant_steps(results: Results) -> Points:
    """Return the points of all sizes by n."""
    return results.joined(*_SIZES).ordered("n")


def draw(results: Results) -> Any:
    """Draw the test error against n, and at proportional sizes against the exponent."""
    figure, axes = style.panels(2, width=4.9, height=4.2)
    ax, points = axes[0, 0], giant_steps(results)
    p = points[0].problem
    for i, (name, words) in enumerate(_CURVES.items()):
        curve = seed_curve(points, "n", functools.partial(of_networks, name=name))
        style.markers(ax, curve, i, words, linestyle="-", linewidth=0.8)
    if p.d == PUBLISHED_D:
        printed = [q for q in points if q.problem.n in PUBLISHED]
        sizes = [q.problem.n for q in printed]
        curve = curve_through(sizes, [(PUBLISHED[q.problem.n], published_sd(q)) for q in printed])
        style.markers(ax, curve, 4, "Dandi et al. 2023", marker="x")
    ax.set(xscale="log", yscale="log", xlabel=f"rows n (d = {p.d}, N = {p.N})", ylabel="test error")
    for power, text in ((1, "d"), (1.5, "d^1.5"), (2, "d²")):
        ax.axvline(p.d**power, color="#888888", linewidth=0.8, linestyle=":", zorder=0)
        ax.annotate(text, (p.d**power, 0.02), xycoords=("data", "axes fraction"), fontsize=7)
    right, networks = axes[0, 1], results["proportional"]
    style.markers(right, networks.curve("alpha", "test"), 0, "networks, fresh rows")
    style.line(right, results["uniform"].curve("alpha", "test"), 0, "theory of two indices")
    p = networks[0].problem
    right.set(xlabel="step exponent α", ylabel="test error")
    style.heading(right, f"n = {p.n}, d = {p.d}, N = {p.N}")
    for panel in axes[0]:
        style.legend(panel, 2)
    return figure


def published(results: Results) -> list[tuple[Point, Check]]:
    """Return the published means beside ours in the notebook's protocol.

    The error is that of one network with ten data sets and of our mean together.
    """
    rows = []
    for p in giant_steps(results).where(d=PUBLISHED_D):
        n = p.problem.n
        if n in PUBLISHED:
            ours = Estimate.of(of_networks(p, "notebook"))
            both = float(np.hypot(published_sd(p), ours.se))
            where = f"n={n} d={p.problem.d} N={p.problem.N}"
            check = Check("test", where, "published", PUBLISHED[n], ours.mean, both, MANY, 0.0)
            rows.append((p, check))
    return rows


def checks(results: Results) -> list[Check]:
    """Compare with the published errors, and at proportional sizes with the uniform theory."""
    theory = compare_results(results["proportional"], results["uniform"], ("train", "test"))
    return [check for _, check in published(results)] + theory


def facts(results: Results) -> Facts:
    """Return the test errors of all protocols by n, and how publications compare."""
    sizes, better = [], []
    for p in giant_steps(results):
        names = (*_CURVES, "output", "test_rows")
        own = p.values["own"][:, 0]  # of the first data set of each network, as `plain` is
        difference = paired_difference(p.values["plain"], own)
        row = {name: Estimate.of(of_networks(p, name)) for name in names}
        sizes.append({"n": p.problem.n, **row, "difference": difference})
        if difference.mean > 3 * difference.se:
            better.append(p.problem.n)
    rows = []
    for p, check in published(results):
        between, within = _spread(p, "notebook")
        rows.append({"n": p.problem.n, "check": check, "between": between, "within": within})
    return {
        **sizes[-1],
        "last_n": sizes[-1]["n"],
        "d": results["large"][0].problem.d,
        "better": better,
        "sizes": sizes,
        "published": rows[-1:],
        "print": rows,
    }
