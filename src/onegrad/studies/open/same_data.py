"""Cost and gain of using every row twice."""

from __future__ import annotations

from typing import Any

import numpy as np

from onegrad.experiments.results import Results
from onegrad.pictures import Curve, style
from onegrad.studies.drawing import best_penalty
from onegrad.studies.text import Estimate, Facts


def draw(results: Results) -> Any:
    """Draw the test error against the exponent with the same and with fresh rows."""
    totals = results["same"].levels("n")
    figure, axes = style.panels(len(totals), width=3.6, height=3.8)
    for ax, total in zip(axes[0], totals, strict=True):
        for i, (name, curve) in enumerate(curves(results, total).items()):
            style.markers(ax, curve, i, f"{name} rows", linestyle="-", linewidth=0.8)
        ax.set(xlabel="step exponent α", ylabel="test error, best penalty")
        style.heading(ax, f"{total / results['same'][0].problem.d:g} rows per input")
        style.legend(ax, 2)
    return figure


def curves(results: Results, total: int) -> dict[str, Curve]:
    """Return the test error with all rows twice and with two fresh halves."""
    return {
        "same": best_penalty(results["same"].where(n=total)),
        "fresh": best_penalty(results["fresh"].where(n=total // 2)),
    }


def facts(results: Results) -> Facts:
    """Return the lowest test errors by number of rows, and what the same rows gain."""
    totals = []
    for total in results["same"].levels("n"):
        row: dict[str, Any] = {"rows": total / results["same"][0].problem.d}
        for name, curve in curves(results, total).items():
            i = int(np.argmin(curve.y))
            row |= {name: Estimate.at(curve, i), f"{name}_alpha": curve.x[i]}
        same, fresh = row["same"], row["fresh"]
        z = (same.mean - fresh.mean) / np.hypot(same.se, fresh.se)
        gain = 1 - same.mean / fresh.mean
        totals.append({**row, "gain": gain, "better": bool(z < 0), "size": abs(gain), "z": abs(z)})
    gains = [row["gain"] for row in totals]
    return {
        "better_totals": sum(gain > 0 for gain in gains),
        "count": len(gains),
        "lowest_gain": min(gains),
        "highest_gain": max(gains),
        "totals": totals,
    }
