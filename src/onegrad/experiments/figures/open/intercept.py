"""Whether a free constant raises the quadratic gain by half."""

from __future__ import annotations

from typing import Any

import numpy as np

from onegrad.experiments.checks import compare
from onegrad.experiments.figures import Drawing, style
from onegrad.experiments.results import Curve, Points, Results

LABELS = {False: "no constant", True: "free constant"}


def draw(results: Results) -> Drawing:
    sizes = results["networks"].levels("n")
    figure, axes = style.panels(len(sizes) + 1, width=4.0, height=3.8)
    lines = [limit(axes[0, -1], results["limit"])]
    for ax, n in zip(axes[0], sizes, strict=False):
        gains = []
        for i, (free, label) in enumerate(LABELS.items()):
            networks, theory = (
                results[k].where(n=n, intercept=free) for k in ("networks", "uniform")
            )
            curve = networks.curve("alpha", "test")
            style.markers(ax, curve, i, f"{label}, networks")
            style.line(ax, theory.curve("alpha", "test"), i, "uniform", f"{label}, theory")
            se = float(np.hypot(curve.se[0], curve.se[-1]))
            gains.append((float(curve.y[0] - curve.y[-1]), se))
        ax.set(xlabel="step exponent α", ylabel="test error")
        style.heading(ax, f"n = {n}")
        style.legend(ax, 2)
        (without, se0), (with_, se1) = gains
        ratio = with_ / without
        se = ratio * np.hypot(se0 / without, se1 / with_)
        lines.append(
            f"n = {n}: from α = 0 to ½ the test error falls by {without:.3f} ± {se0:.3f} without "
            f"and {with_:.3f} ± {se1:.3f} with a free constant, a ratio of {ratio:.2f} ± {se:.2f}."
        )
    checks = compare(results["networks"], results["uniform"], ("train", "test"))
    return Drawing(figure, checks, (), " ".join(lines))


def limit(ax: Any, points: Points) -> str:
    """How the gain with a constant compares with that without, as n grows; what it tends to."""
    sizes = points.levels("n")
    told = []
    for i, alpha in enumerate((0.32, 0.45)):
        ratio = []
        for n in sizes:
            gains = [gain(points.where(n=n, intercept=free), alpha) for free in (False, True)]
            ratio.append(gains[1] / gains[0])
        curve = Curve(np.array(sizes, dtype=float), np.array(ratio), np.zeros(len(sizes)))
        style.line(ax, curve, i, "uniform", f"α = {alpha:g}", marker=style.MARKERS[i])
        told.append(f"{ratio[-1]:.2f} at α = {alpha:g}")
    style.level(ax, 1.5, "3/2")
    ax.set(xscale="log", xlabel="n (d = N = n/2)", ylabel="gain with a constant / without")
    style.legend(ax, 3)
    return (
        f"In the theory at n = {sizes[-1]:.0e} the quadratic gain (from α = 0.2) grows with a free "
        f"constant by the factor {' and '.join(told)}: 3/2 between the thresholds ¼ and ⅓, less "
        "beyond, where further even spikes bring a constant of their own."
    )


def gain(points: Points, alpha: float) -> float:
    """Fall of the test error from alpha = 0.2, where the linear spike alone is out."""
    exponents = [round(float(np.log(p.problem.step) / np.log(p.problem.n)), 6) for p in points]
    at = dict(zip(exponents, (p.mean("test") for p in points), strict=True))
    return float(at[0.2] - at[alpha])
