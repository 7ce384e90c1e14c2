"""Moniri et al.: training and test error against the step exponent."""

from __future__ import annotations

from typing import Any

import numpy as np

from onegrad.experiments.checks import compare
from onegrad.experiments.results import Curve, Points, Results
from onegrad.studies.drawing import Drawing, style

NAMES = {"train": "training objective", "test": "test error"}
SHOWN = 40  # networks that are drawn one by one


def draw(results: Results) -> Drawing:
    figure, axes = style.panels(2, width=4.6, height=4.0)
    simulated, uniform = (with_a_step(results[k]) for k in ("simulation", "uniform"))
    for ax, quantity in zip(axes[0], NAMES, strict=True):
        networks(ax, simulated, quantity)
        style.line(ax, uniform.curve("alpha", quantity), 0, "uniform theory")
        stairs = broken(results["corrected"].curve("alpha", quantity))
        style.line(ax, stairs, 1, "staircase, n → ∞", dash=style.LONG_DASHES)
        if quantity == "test":
            linear = results["uniform"][0].mean("linear")
            style.level(ax, linear, "best linear = kernel bound")
            low, high = ax.get_ylim()
            ax.set_ylim(min(low, linear - 0.05 * (high - linear)), high)
        ax.set(xlabel="step exponent α,  η = n^α", ylabel=NAMES[quantity])
        style.mark_thresholds(ax, low=-1.0)
        style.legend(ax, 2)
    checks = compare(simulated, uniform, ("train", "test"))
    return Drawing(figure, checks, [_off(results), *_crossing(results)])


def networks(ax: Any, points: Points, quantity: str, i: int = 0) -> None:
    """Means with their bars over single networks: points of a curve share seeds."""
    curve = points.curve("alpha", quantity)
    values = np.array([p.values[quantity] for p in points.ordered("alpha")])  # (alphas, seeds)
    style.single_networks(ax, curve.x, values[:, :SHOWN], i, "single networks")
    low, high = np.quantile(values, (0.05, 0.95))
    style.markers(ax, curve, i, "mean of networks")
    ax.set_ylim(low - 0.1 * (high - low), high + 0.1 * (high - low))


def with_a_step(points: Points) -> Points:
    """The points that have an exponent."""
    return Points([p for p in points if p.problem.step > 0])


def broken(curve: Curve) -> Curve:
    """The curve with a gap at each jump, so that no slope joins two steps."""
    jumps = np.flatnonzero(np.diff(curve.y) != 0) + 1
    return Curve(*(np.insert(values, jumps, np.nan) for values in (curve.x, curve.y, curve.se)))


def _off(results: Results) -> str:
    """How far the staircase is from the networks' test error, in numbers."""
    curve = with_a_step(results["simulation"]).curve("alpha", "test")
    stairs = results["corrected"].curve("alpha", "test")
    inside = (curve.x > stairs.x[0]) & (curve.x < stairs.x[-1])
    at = np.interp(curve.x[inside], stairs.x, stairs.y)
    off = np.abs(at / curve.y[inside] - 1).max()
    values = ", ".join(f"{v:.3g}" for v in dict.fromkeys(np.round(at, 6)))
    return (
        f"The staircase's test error: {values} at the networks' exponents; largest difference from "
        f"the networks {off:.0%}. The formulas as printed are drawn under Δ and Λ."
    )


def _crossing(results: Results) -> list[str]:
    """Where the test error passes the kernel bound, by theory and by the networks' means."""
    bound = results["uniform"][0].mean("kernel_bound")
    words = []
    for name, label in (("uniform", "uniform theory"), ("simulation", "networks")):
        curve = with_a_step(results[name]).curve("alpha", "test")
        below = np.flatnonzero(curve.y < bound)
        if not len(below) or below[0] == 0:
            return []
        x, y = curve.x[below[0] - 1 : below[0] + 1], curve.y[below[0] - 1 : below[0] + 1]
        words.append(f"α = {np.interp(-bound, -y, x):.3f} ({label})")
    return [f"The test error passes below the kernel bound {bound:.3g} at {', '.join(words)}."]
