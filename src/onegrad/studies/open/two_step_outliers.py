"""Outliers of the weights after two steps: their number and where they are."""

import math
from typing import Any

import numpy as np

from onegrad.experiments import Point, Points, Results
from onegrad.pictures import Curve, style
from onegrad.studies.drawing import DISPLAY_NAMES, curve_through
from onegrad.studies.findings import Estimate, Facts, power_law, trend, unpaired_difference
from onegrad.theory import two_step_outliers

SHOWN = 4  # singular values


def draw(results: Results) -> Any:
    """Draw the largest eigenvalues against n, one panel per activation."""
    points = results["outliers"]
    names = points.distinct("activation")
    figure, axes = style.panels(len(names), width=4.6, height=3.8)
    for ax, name in zip(axes[0], names, strict=True):
        ordered = points.where(activation=name).ordered("n")
        sizes = ordered.levels("n")
        for k in range(SHOWN):
            style.line(ax, predicted_curve(ordered, k), k)
            curve = curve_through(sizes, [eigenvalue(p, k) for p in ordered])
            style.markers(ax, curve, k, f"{'largest' if k == 0 else f'no. {k + 1}'}")
        style.level(ax, two_step_outliers(ordered[0].problem).edge, "edge of the bulk")
        style.legend_entry(ax, "theory at n")
        style.log_axis(ax, "x", sizes)
        style.log_axis(ax, "y", [4, 10, 30, 100, 300, 1000])
        ax.set(xlabel="n", ylabel="eigenvalue of $WW^T$")
        style.heading(ax, DISPLAY_NAMES.get(name, name), "left")
        style.legend(ax, 3)
    return figure


def predicted_curve(points: Points, k: int) -> Curve:
    """Return the k-th position against n, where there is one."""
    positions = [(p.problem.n, two_step_outliers(p.problem).positions) for p in points]
    outside = [(n, x[k]) for n, x in positions if len(x) > k]
    return curve_through([n for n, _ in outside], [(x, 0.0) for _, x in outside])


def eigenvalue(point: Point, k: int) -> Estimate:
    """Return the k-th largest eigenvalue of W W^T, over networks."""
    return Estimate.of(point.values["after"][:, k])


def growth(points: Points, k: int) -> dict[str, Any]:
    """Return the exponent of n in the k-th eigenvalue, of networks and of theory."""
    measured = power_law(points.levels("n"), [eigenvalue(p, k) for p in points])
    curve = predicted_curve(points, k)
    theory = np.polyfit(np.log(curve.x), np.log(curve.y), 1)[0] if len(curve.x) > 1 else math.nan
    return {"measured": measured, "predicted": float(theory), "off": measured.shifted(-theory)}


def facts(results: Results) -> Facts:
    """Return measured and predicted exponents, coefficients, and all eigenvalues."""
    sine, relu = (
        results["outliers"].where(activation=name).ordered("n")
        for name in results["outliers"].distinct("activation")
    )
    sizes, (second, third) = sine.levels("n"), (growth(sine, k) for k in (1, 2))
    relu_third = growth(relu, 2)["measured"]
    return {
        "second": second,
        "third": third,
        "limit": list(2 * two_step_outliers(sine[0].problem).exponents[:SHOWN]),
        "relu_third": relu_third,
        "without": unpaired_difference(relu_third, third["measured"]),
        "line": trend(sizes, [eigenvalue(p, 2) for p in sine]),
        "count": two_step_outliers(sine[-1].problem).number,
        "coefficients": [
            {
                "name": DISPLAY_NAMES.get(p.problem.activation, p.problem.activation),
                "numbers": list(two_step_outliers(p.problem).coefficients[:SHOWN]),
            }
            for p in (sine[0], relu[0])
        ],
        "rows": [_row(p) for p in results.joined("outliers", "pairs")],
    }


def _row(point: Point) -> dict[str, Any]:
    p, theory = point.problem, two_step_outliers(point.problem)
    return {
        "activation": DISPLAY_NAMES.get(p.activation, p.activation),
        "first": round(float(np.log(p.step) / np.log(p.n)), 6),
        "second_step": float(p.later_alpha),
        "n": p.n,
        "count": theory.number,
        "predicted": list(theory.positions[:SHOWN]),
        "measured": [eigenvalue(point, k) for k in range(SHOWN)],
    }
