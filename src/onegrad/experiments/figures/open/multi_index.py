"""Two-index teachers: what one giant step learns as the rows grow from d to d squared."""

from __future__ import annotations

import numpy as np

from onegrad.experiments.checks import Check
from onegrad.experiments.figures import Drawing, style
from onegrad.experiments.results import Curve, Point, Points, Results

LABELS = {"plain": "labels as they are", "residual-linear": "linear part taken off"}
PUBLISHED = {3326: (0.336, 0.006), 29532: (0.207, 0.006), 262144: (0.077, 0.002)}


def draw(results: Results) -> Drawing:
    figure, axes = style.panels(1, width=5.2, height=4.2)
    ax = axes[0, 0]
    every = Points([p for name in results for p in results[name]])
    for i, (labels, words) in enumerate(LABELS.items()):
        curve = every.where(labels=labels).curve("n", "test")
        style.markers(ax, curve, i, words, linestyle="-", linewidth=0.8)
    checks = []
    if every[0].problem.d == 512:
        n, values = np.array(list(PUBLISHED)), np.array(list(PUBLISHED.values()))
        style.markers(ax, Curve(n, *values.T), 3, "Dandi et al. 2023", marker="x")
        checks = [against_print(p) for p in every.where(labels="residual-linear")
                  if p.problem.n in PUBLISHED]  # fmt: skip
    p = every[0].problem
    ax.set(xscale="log", xlabel=f"rows n (d = {p.d}, N = {p.N})", ylabel="test error")
    for power, text in ((1, "d"), (1.5, "d^1.5"), (2, "d²")):
        ax.axvline(p.d**power, color="#888888", linewidth=0.8, linestyle=":", zorder=0)
        ax.annotate(text, (p.d**power, 0.02), xycoords=("data", "axes fraction"), fontsize=7)
    style.legend(ax, 2)
    return Drawing(figure, checks, (), finding(every))


def against_print(point: Point) -> Check:
    """Our mean against the published one, with the standard errors of both."""
    mean, se = PUBLISHED[point.problem.n]
    both = float(np.hypot(se, point.se("test")))
    where = f"n={point.problem.n} d={point.problem.d} N={point.problem.N}"
    return Check("test", where, "published", mean, point.mean("test"), both, 10**6, 0.0)


def finding(every: Points) -> str:
    words = []
    for n in every.levels("n"):
        pair = [every.where(n=n, labels=labels)[0] for labels in LABELS]
        told = " against ".join(f"{p.mean('test'):.3f} ± {p.se('test'):.3f}" for p in pair)
        words.append(f"{told} at n = {n}")
    return (
        "Test error with the labels as they are against labels whose linear part was taken off "
        f"first: {'; '.join(words)}."
    )
