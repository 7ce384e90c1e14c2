"""What it costs, and what it gains, to use every row twice."""

from __future__ import annotations

import numpy as np

from onegrad.experiments.results import Curve, Points, Results
from onegrad.studies.drawing import Drawing, style


def draw(results: Results) -> Drawing:
    totals = results["same"].levels("n")
    figure, axes = style.panels(len(totals), width=3.6, height=3.8)
    lines, pairs = [], []
    for ax, total in zip(axes[0], totals, strict=True):
        curves = {
            "same": best(results["same"].where(n=total)),
            "fresh": best(results["fresh"].where(n=total // 2)),
        }
        for i, (name, curve) in enumerate(curves.items()):
            style.markers(ax, curve, i, f"{name} rows", linestyle="-", linewidth=0.8)
        d = results["same"][0].problem.d
        ax.set(xlabel="step exponent α", ylabel="test error, best penalty")
        style.heading(ax, f"{total / d:g} rows an input")
        style.legend(ax, 2)
        lines.append(said(total / d, curves))
        pairs.append((curves["same"], curves["fresh"]))
    gains = [1 - same.y.min() / fresh.y.min() for same, fresh in pairs]
    lead = (
        f"Using all rows twice is better than two fresh halves at {sum(g > 0 for g in gains)} of "
        f"{len(gains)} totals, by {min(gains):.0%} to {max(gains):.0%} of the test error."
    )
    return Drawing(figure, (), (), " ".join([lead, *lines]))


def best(points: Points) -> Curve:
    """At every step the lowest mean test error over the penalties."""
    x, y, se = [], [], []
    for alpha in points.levels("alpha"):
        at = points.where(alpha=alpha)
        i = int(np.argmin([p.mean("test") for p in at]))
        x.append(alpha)
        y.append(at[i].mean("test"))
        se.append(at[i].se("test"))
    return Curve(np.array(x), np.array(y), np.array(se))


def said(rows: float, curves: dict[str, Curve]) -> str:
    lowest = {name: int(np.argmin(curve.y)) for name, curve in curves.items()}
    (same, i), (fresh, j) = ((curves[k], lowest[k]) for k in ("same", "fresh"))
    z = (same.y[i] - fresh.y[j]) / np.hypot(same.se[i], fresh.se[j])
    word = "better" if z < 0 else "worse"
    return (
        f"With {rows:g} rows an input, using all rows twice reaches {same.y[i]:.3f} ± "
        f"{same.se[i]:.3f} (α = {same.x[i]:.2f}), two fresh halves {fresh.y[j]:.3f} ± "
        f"{fresh.se[j]:.3f} (α = {fresh.x[j]:.2f}): same rows are {word} by "
        f"{abs(same.y[i] / fresh.y[j] - 1):.1%} ({abs(z):.0f} standard errors)."
    )
