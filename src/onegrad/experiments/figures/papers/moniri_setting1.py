"""Moniri et al.: training and test error against the step exponent."""

from __future__ import annotations

import numpy as np

from onegrad.experiments.checks import compare
from onegrad.experiments.figures import Drawing, style
from onegrad.experiments.results import Curve, Points, Results

NAMES = {"train": "training objective", "test": "test error"}


def draw(results: Results) -> Drawing:
    figure, axes = style.panels(2, width=4.6, height=4.0)
    simulated, uniform = (with_a_step(results[k]) for k in ("simulation", "uniform"))
    linear = results["uniform"][0].mean("linear")
    for ax, quantity in zip(axes[0], NAMES, strict=True):
        measured, predicted = (p.curve("alpha", quantity) for p in (simulated, uniform))
        style.markers(ax, measured, 0, "networks")
        style.line(ax, predicted, 0, "uniform", "uniform theory")
        for name, i in (("corrected", 1), ("printed", 2)):
            stairs = broken(results[name].curve("alpha", quantity))
            style.line(ax, stairs, i, f"{name} staircase", f"staircase, {name}")
        reached = [*(measured.y - 2 * measured.se), *(measured.y + 2 * measured.se), *predicted.y]
        reached += [*results["corrected"].curve("alpha", quantity).y]
        if quantity == "test":
            style.level(ax, linear, "best linear = kernel bound")
            reached.append(linear)
        low, high = min(reached), max(reached)
        ax.set_ylim(low - 0.08 * (high - low), high + 0.08 * (high - low))
        ax.set(xlim=(-0.01, 0.51), xlabel="step exponent α,  η = n^α", ylabel=NAMES[quantity])
        printed = results["printed"].curve("alpha", quantity).y
        if printed.min() < low or printed.max() > high:
            words = f"as printed: {printed.min():.3g} to {printed.max():.3g}, outside the frame"
            place = {"xycoords": "axes fraction", "fontsize": 7.5, "color": style.SERIES[2]}
            ax.annotate(words, (0.03, 0.2), **place)
        style.thresholds(ax)
        style.legend(ax, 2)
    checks = compare(simulated, uniform, ("train", "test"))
    return Drawing(figure, checks, notes(results))


def with_a_step(points: Points) -> Points:
    """The points that have an exponent."""
    return Points([p for p in points if p.problem.step > 0])


def broken(curve: Curve) -> Curve:
    """The curve with a gap at each jump, so that no slope joins two steps."""
    jumps = np.flatnonzero(np.diff(curve.y) != 0) + 1
    return Curve(*(np.insert(values, jumps, np.nan) for values in (curve.x, curve.y, curve.se)))


def notes(results: Results) -> list[str]:
    """How far both staircases are from the networks' test error, in numbers."""
    curve = results["simulation"].curve("alpha", "test")
    lines = []
    for name in ("corrected", "printed"):
        stairs = results[name].curve("alpha", "test")
        inside = (curve.x > stairs.x[0]) & (curve.x < stairs.x[-1])
        at = np.interp(curve.x[inside], stairs.x, stairs.y)
        off = np.abs(at / curve.y[inside] - 1).max()
        values = ", ".join(f"{v:.3g}" for v in dict.fromkeys(np.round(at, 6)))
        lines.append(
            f"The staircase's test error, {name}: {values} at the networks' exponents; "
            f"largest difference from the networks {off:.0%}."
        )
    return lines
