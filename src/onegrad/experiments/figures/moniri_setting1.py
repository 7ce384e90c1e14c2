"""Moniri et al.: training and test error against the step exponent."""

from __future__ import annotations

import numpy as np

from onegrad.experiments.checks import compare
from onegrad.experiments.figures import Drawing, style
from onegrad.experiments.results import Curve, Results

NAMES = {"train": "training objective", "test": "test error"}


def draw(results: Results) -> Drawing:
    figure, axes = style.panels(2, width=4.6, height=3.5)
    simulated, uniform = (style.positive_steps(results[k]) for k in ("simulation", "uniform"))
    for ax, quantity in zip(axes[0], NAMES, strict=True):
        measured = simulated.curve("alpha", quantity)
        style.markers(ax, measured, 0, "networks")
        style.line(ax, uniform.curve("alpha", quantity), 0, "uniform", "uniform theory")
        for name, i in (("corrected", 1), ("printed", 2)):
            stairs = broken(results[name].curve("alpha", quantity))
            style.line(ax, stairs, i, f"{name} staircase", f"staircase, {name}")
        if quantity == "test":
            style.level(ax, results["uniform"][0].mean("linear"), "best linear = kernel bound")
        top = max(measured.y.max(), uniform.curve("alpha", quantity).y.max())
        low = min(measured.y.min(), results["corrected"].curve("alpha", quantity).y.min())
        if quantity == "test":
            low = min(low, results["uniform"][0].mean("linear"))
        ax.set_ylim(low - 0.08 * (top - low), top + 0.45 * (top - low))
        ax.set_xlim(-0.01, 0.51)
        style.thresholds(ax)
        ax.set_xlabel("step exponent α,  η = n^α")
        ax.set_ylabel(NAMES[quantity])
        ax.legend(loc="upper right", ncols=2)
    checks = compare(simulated, uniform, ("train", "test"))
    return Drawing(figure, checks, notes(results))


def broken(curve: Curve) -> Curve:
    """The curve with a gap at each jump, so that no slope joins two steps."""
    jumps = np.flatnonzero(np.diff(curve.y) != 0) + 1
    y = np.insert(curve.y, jumps, np.nan)
    return Curve(np.insert(curve.x, jumps, np.nan), y, np.insert(curve.se, jumps, np.nan), ())


def notes(results: Results) -> list[str]:
    """How far the printed and corrected staircases are from the networks, in numbers."""
    curve = results["simulation"].curve("alpha", "test")
    lines = []
    for name in ("corrected", "printed"):
        stairs = results[name].curve("alpha", "test")
        at = np.interp(curve.x, stairs.x, stairs.y)
        inside = (curve.x > 0) & (curve.x < 0.5)
        off = np.abs(at / curve.y - 1)[inside].max()
        lines.append(
            f"Largest difference of the {name} staircase from the networks' test error: {off:.0%}."
        )
    return lines
