"""Two-index teachers: what one giant step learns as the rows grow from d to d squared."""

from __future__ import annotations

from typing import Any

import numpy as np

from onegrad.experiments.checks import Check, compare_results
from onegrad.experiments.results import Point, Points, Results
from onegrad.pictures import Curve, style
from onegrad.studies.text import Estimate, Facts

_LABELS = {"plain": "labels as they are", "residual-linear": "linear part taken off"}
_SIZES = ("d", "small", "middle", "large")
_PUBLISHED = {3326: (0.336, 0.006), 29532: (0.207, 0.006), 262144: (0.077, 0.002)}  # by n
_PUBLISHED_D = 512
MANY = 10**6  # seeds that turn a score into a plain ratio: those of the publication are not known


def draw(results: Results) -> Any:
    """Draw the test error against n, and at proportional sizes against the exponent."""
    figure, axes = style.panels(2, width=4.9, height=4.2)
    ax, points = axes[0, 0], giant_steps(results)
    p = points[0].problem
    for i, (labels, words) in enumerate(_LABELS.items()):
        curve = points.where(labels=labels).curve("n", "test")
        style.markers(ax, curve, i, words, linestyle="-", linewidth=0.8)
    if p.d == _PUBLISHED_D:
        n, values = np.array(list(_PUBLISHED)), np.array(list(_PUBLISHED.values()))
        style.markers(ax, Curve(n, *values.T), 3, "Dandi et al. 2023", marker="x")
    ax.set(xscale="log", xlabel=f"rows n (d = {p.d}, N = {p.N})", ylabel="test error")
    for power, text in ((1, "d"), (1.5, "d^1.5"), (2, "d²")):
        ax.axvline(p.d**power, color="#888888", linewidth=0.8, linestyle=":", zorder=0)
        ax.annotate(text, (p.d**power, 0.02), xycoords=("data", "axes fraction"), fontsize=7)
    style.legend(ax, 2)
    _draw_proportional(axes[0, 1], results)
    return figure


def _draw_proportional(ax: Any, results: Results) -> None:
    networks, theory = results["proportional"], results["uniform"]
    style.markers(ax, networks.curve("alpha", "test"), 0, "networks, fresh rows")
    style.line(ax, theory.curve("alpha", "test"), 0, "theory of two indices")
    p = networks[0].problem
    ax.set(xlabel="step exponent α", ylabel="test error")
    style.heading(ax, f"n = {p.n}, d = {p.d}, N = {p.N}")
    style.legend(ax, 2)


def giant_steps(results: Results) -> Points:
    """Return the points of all sizes."""
    return Points([p for name in _SIZES for p in results[name]])


def published(results: Results) -> list[tuple[Point, Check]]:
    """Return our mean and the published one, with the standard errors of both, by point."""
    rows = []
    for p in giant_steps(results).where(labels="residual-linear", d=_PUBLISHED_D):
        problem = p.problem
        if problem.n in _PUBLISHED:
            mean, se = _PUBLISHED[problem.n]
            both = float(np.hypot(se, p.se("test")))
            where = f"n={problem.n} d={problem.d} N={problem.N}"
            check = Check("test", where, "published", mean, p.mean("test"), both, MANY, 0.0)
            rows.append((p, check))
    return rows


def checks(results: Results) -> list[Check]:
    """Compare with the published errors, and at proportional sizes with the uniform theory."""
    theory = compare_results(results["proportional"], results["uniform"], ("train", "test"))
    return [check for _, check in published(results)] + theory


def facts(results: Results) -> Facts:
    """Return the test errors by n, where the linear part matters, and how publications compare."""
    points, sizes, better = giant_steps(results), [], []
    for n in points.levels("n"):
        errors = (points.where(n=n, labels=labels)[0].values["test"] for labels in _LABELS)
        plain, residual = map(Estimate.of, errors)
        sizes.append({"n": n, "plain": plain, "residual": residual})
        if plain.mean - residual.mean > 3 * np.hypot(plain.se, residual.se):
            better.append(n)
    rows = published(results)
    return {
        "better": better,
        "sizes": sizes,
        "published": [
            {"n": p.problem.n, "ours": c.simulated, "theirs": c.theory, "z": c.z, "seeds": p.seeds}
            for p, c in rows
        ],
        "all_published_hold": all(c.holds for _, c in rows),
    }
