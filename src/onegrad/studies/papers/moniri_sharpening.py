"""Moniri et al.: the second stair at growing n, and how much of it is taken at fixed exponents."""

from __future__ import annotations

import numpy as np

from onegrad.experiments.checks import compare
from onegrad.experiments.results import Curve, Points, Results
from onegrad.studies.drawing import Drawing, style
from onegrad.studies.papers.moniri_setting1 import broken


def draw(results: Results) -> Drawing:
    figure, ((left, right),) = style.panels(2, width=4.6, height=3.7)
    growing = results["growing"]
    for i, n in enumerate(growing.levels("n")):
        curve = growing.where(n=n).curve("alpha", "test")
        style.line(left, curve, i, f"uniform theory, n = {style.power_of_ten(n)}")
    stairs = results["corrected"].curve("alpha", "test")
    style.line(left, broken(stairs), 6, "staircase, n → ∞", dash=style.LONG_DASHES)
    style.level(left, growing[0].mean("kernel_bound"), "kernel lower bound")
    style.mark_thresholds(left, low=-0.01, high=0.371)
    left.set(xlabel="step exponent α,  η = n^α", ylabel="test error")
    first, second = (float(np.interp(a, stairs.x, stairs.y)) for a in (0.15, 0.29))
    notes = []
    for i, alpha in enumerate(results["shares"].levels("alpha")):
        theory = taken(results["shares"].where(alpha=alpha), first, second)
        style.line(right, theory, i, f"α = {alpha:.2f}")
        style.markers(right, taken(results["simulation"].where(alpha=alpha), first, second), i)
        notes.append(f"{abs(theory.y[-1]):.0%} at α = {alpha:.2f}")
    style.legend_entry(right, "uniform theory")
    right.plot([], [], "o", color="#555555", markerfacecolor="white", label="networks")
    for y in (0, 1):
        right.axhline(y, color="black", linewidth=0.8)
    right.set(xscale="log", xlabel="n", ylabel="share of the second stair")
    style.legend(left, 2)
    style.legend(right, 3)
    largest = results["shares"].levels("n")[-1]
    note = f"Of the second stair, at n = {style.power_of_ten(largest)}: {', '.join(notes)}."
    checks = compare(results["simulation"], results["shares"], ("train", "test"))
    return Drawing(figure, checks, [note])


def taken(points: Points, first: float, second: float) -> Curve:
    """Test error from the first stair, 0, to the second, 1, against n."""
    curve, height = points.curve("n", "test"), first - second
    half = None if curve.band is None else curve.band / height
    return Curve(curve.x, (first - curve.y) / height, curve.se / height, half)
