"""Where nonlinear features begin to beat the best affine predictor, as a phase diagram."""

from typing import Any

import numpy as np

from onegrad.arrays import Floats
from onegrad.experiments import Points, Results
from onegrad.pictures import style
from onegrad.studies.drawing import heat_map
from onegrad.studies.findings import (
    Estimate,
    Facts,
    PairedEstimate,
    lowest_point,
    paired_change,
    trend,
)

NETWORKS = ("untrained", "trained")


def change_from_affine(network: Points, affine: Points) -> PairedEstimate:
    """Return the lowest error of a network over that of an affine fit, minus one, paired."""
    return paired_change(*(lowest_point(p, "test", ("ridge",)).values for p in (network, affine)))


def axes_of(results: Results) -> tuple[list[str], list[float]]:
    """Return the laws of the inputs and the cosines of spike and teacher."""
    return results["trained"].distinct("inputs"), results["trained"].levels("input_overlap")


def table(results: Results, name: str, quantity: str | None = None) -> Floats:
    """Return the ratio to the best affine fit, or the mean of a quantity, (laws, cosines)."""
    laws, cosines = axes_of(results)

    def cell(law: str, c: float) -> float:
        points, affine = (results[k].where(inputs=law, input_overlap=c) for k in (name, "affine"))
        if quantity is not None:
            return float(points[0].mean(quantity))
        return 1 + change_from_affine(points, affine).mean

    return np.array([[cell(law, c) for c in cosines] for law in laws])


def draw(results: Results) -> Any:
    """Draw the ratios as maps, and against the correlation of the learned index."""
    figure, axes = style.panels(3, width=4.2, height=3.8)
    laws, cosines = axes_of(results)
    columns = [f"{c:g}" for c in cosines]
    rows = [law.removeprefix("spiked(").rstrip(")") for law in laws]
    colours = {"origin": "lower", "cmap": "RdBu", "vmin": 0.5, "vmax": 1.5}
    for ax, name in zip(axes[0], NETWORKS, strict=False):
        ratio = table(results, name)
        image = heat_map(ax, ratio, rows, columns, np.abs(ratio - 1) > 0.35, **colours)
        if ratio.min() < 1 < ratio.max():
            ax.contour(ratio, [1.0], colors="black", linewidths=1.2)
        ax.set(xlabel="cosine of spike and teacher", ylabel="excess variance of the spike")
        figure.colorbar(image, ax=ax, shrink=0.8).ax.set_xlabel("ratio", fontsize=7)
        ax.set(title=f"{name} network / best affine fit")
    ax, ratio = axes[0, 2], table(results, "trained")
    for i, (quantity, label) in enumerate(
        {"correlation": "correlation under Σ", "cosine": "cosine of the directions"}.items()
    ):
        x = table(results, "index", quantity)
        ax.plot(x.ravel(), ratio.ravel(), style.MARKERS[i], color=style.SERIES[i], label=label)
    ax.set(xlabel="learned index and teacher's", ylabel="trained network / best affine fit")
    style.legend(ax, 2)
    return figure


def facts(results: Results) -> Facts:
    """Return where the networks beat the best affine fit, the range of ratios, and the trend."""
    laws, cosines = axes_of(results)
    cells = _cells(results)
    lowest, highest = (best(cells, key=lambda cell: cell["trained"]) for best in (min, max))
    strongest = [cell for cell in cells if cell["law"] == laws[-1]]
    optima = [
        lowest_point(results[name].where(inputs=law, input_overlap=c), "test", ("ridge",))
        for name in (*NETWORKS, "affine")
        for law in laws
        for c in cosines
    ]
    sizes = _sizes(results)
    problem = results["trained"][0].problem
    return {
        "n": problem.n,
        "d": problem.d,
        "points": len(cells),
        "trained_wins": sum(cell["trained"] < 1 for cell in cells),
        "untrained_wins": sum(cell["untrained"] < 1 for cell in cells),
        "lowest": lowest,
        "highest": highest,
        "strongest": laws[-1],
        "orthogonal": strongest[0],
        "aligned": strongest[-1],
        "sizes": sizes,
        "line": trend("d", [row["d"] for row in sizes], [row["ratio"] for row in sizes]),
        "cells": cells,
        "at_end": sum(bool(o.axes_at_end) for o in optima),
        "optima_count": len(optima),
        "optima": optima,
    }


def _cells(results: Results) -> list[dict[str, Any]]:
    """Return the ratios of both networks and what the first gradient learns, by law and cosine."""
    laws, cosines = axes_of(results)
    columns = {name: table(results, name) for name in NETWORKS}
    columns["correlation"] = table(results, "index", "correlation")
    columns["direction"] = table(results, "index", "cosine")
    return [
        {"law": law, "cosine": c, **{name: float(values[i, j]) for name, values in columns.items()}}
        for i, law in enumerate(laws)
        for j, c in enumerate(cosines)
    ]


def _sizes(results: Results) -> list[dict[str, Any]]:
    """Return the ratio of trained network and affine fit by d, where the spike is the teacher."""
    rows = []
    for d in results["sizes-trained"].levels("d"):
        grids = (results[f"sizes-{name}"] for name in ("trained", "affine"))
        change = change_from_affine(*(points.where(d=d, input_overlap=1.0) for points in grids))
        rows.append({"d": d, "ratio": Estimate(1 + change.mean, change.se), "change": change})
    return rows
