"""Cost and gain of using every row twice."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from onegrad.experiments import Check, Points, Results, compare_results
from onegrad.pictures import Curve, style
from onegrad.studies.drawing import best_penalty, curve_through
from onegrad.studies.findings import Facts, lowest_point, paired_change


def draw(results: Results) -> Any:
    """Draw the test error against the exponent with the same and with fresh rows."""
    totals = results["same"].levels("n")
    figure, axes = style.panels(len(totals), width=3.6, height=3.8)
    for ax, total in zip(axes[0], totals, strict=True):
        for i, (name, networks) in enumerate(both_ways(results, total).items()):
            style.markers(ax, best_penalty(networks), i, f"{name} rows")
            style.line(ax, at_best_penalty(networks, theory_points(results, name)), i)
        style.legend_entry(ax, "uniform theory")
        ax.set(xlabel="step exponent α", ylabel="test error, best penalty")
        style.legend(ax, 3, f"{total / results['same'][0].problem.d:g} rows per input")
    return figure


def at_best_penalty(networks: Points, theory: Points) -> Curve:
    """Return the predicted test error at the networks' best penalty; NaN where there is none."""
    alphas, values = networks.levels("alpha"), []
    for alpha in alphas:
        best = min(networks.where(alpha=alpha), key=lambda p: p.mean("test")).problem
        predicted = theory.where(n=best.n, alpha=alpha, ridge=best.ridge)
        values.append((predicted[0].mean("test") if len(predicted) else np.nan, 0.0))
    return curve_through(alphas, values)


def both_ways(results: Results, total: int) -> dict[str, Points]:
    """Return the networks that use all rows twice, and those with two fresh halves."""
    return {"same": results["same"].where(n=total), "fresh": results["fresh"].where(n=total // 2)}


def theory_points(results: Results, name: str) -> Points:
    """Return the predictions for the same or for fresh rows."""
    return results.joined(*(grid for grid in results if grid.startswith(f"{name}-theory")))


def checks(results: Results, names: Sequence[str] = ("same", "fresh")) -> list[Check]:
    """Compare both errors with the uniform theory."""
    grids = ((results[name], theory_points(results, name)) for name in names)
    return [check for pair in grids for check in compare_results(*pair, ("train", "test"))]


def facts(results: Results) -> Facts:
    """Return the lowest test errors by number of rows, and what the same rows gain."""
    d, totals = results["same"][0].problem.d, []
    for total in results["same"].levels("n"):
        row: dict[str, Any] = {"rows": total / d}
        for name, points in both_ways(results, total).items():
            best = lowest_point(points, "test", ["alpha", "ridge"])
            theory = theory_points(results, name).where(n=points[0].problem.n, **best.at)
            predicted = f"{theory[0].mean('test'):.3f}" if len(theory) else "–"
            row |= {name: best, f"{name}_theory": predicted}
        totals.append(row | {"gain": paired_change(row["same"].values, row["fresh"].values)})
    same, fresh = (
        [c for c in checks(results, [name]) if c.quantity == "test"] for name in ("same", "fresh")
    )
    gains = [-row["gain"].mean for row in totals]
    return {
        "d": d,
        "better_totals": sum(gain > 0 for gain in gains),
        "count": len(gains),
        "lowest_gain": min(gains),
        "highest_gain": max(gains),
        "totals": totals,
        "worst_same": max(abs(c.difference / c.theory) for c in same),
        "worst_fresh": max(abs(c.difference / c.theory) for c in fresh),
        "checked": len(same + fresh),
        "typical_se": float(np.median([c.se / c.theory for c in same + fresh])),
        "penalties": len(results["same"].levels("ridge")),
    }
