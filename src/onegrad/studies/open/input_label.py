"""Where nonlinear features begin to beat the best affine predictor, for inputs with a spike."""

from typing import Any

from onegrad.experiments import Results
from onegrad.pictures import style
from onegrad.studies.drawing import curve_through, joined
from onegrad.studies.findings import Facts, Selection, lowest_point, paired_change
from onegrad.studies.measures.unit_index import spike_strength

_NETWORKS = {"untrained": "no step", "short": "short step", "trained": "long step"}
_COLUMNS = {"untrained": "untrained", "short": "short_step", "trained": "trained"}
_LEANING = 0.2  # cosine of the spike that untrained features see


def draw(results: Results) -> Any:
    """Draw the ratios against the spike, one panel per network and one line per cosine."""
    figure, axes = style.panels(3, width=3.7, height=3.7)
    table = cells(results)
    for ax, (name, words) in zip(axes[0], _NETWORKS.items(), strict=True):
        for i, cosine in enumerate(results["trained"].levels("input_overlap")):
            rows = [row for row in table if row["cosine"] == cosine]
            ratios = [row[_COLUMNS[name]] for row in rows]
            curve = curve_through([row["spike"] for row in rows], ratios)
            joined(ax, curve, i, f"cosine {cosine:g}")
        ax.axhline(1.0, color=style.BLACK, linewidth=0.9, zorder=0)
        ax.set(xlabel="excess variance s of the spike", ylim=(0, 1.6))
        style.log_axis(ax, "x", sorted({row["spike"] for row in table}))
        step = "" if name == "untrained" else f", α = {results[name].levels('alpha')[0]:g}"
        style.heading(ax, words + step, side="left")
    axes[0, 0].set_ylabel("test error / best affine fit")
    style.legend(axes[0, 0], 2)
    return figure


def cells(results: Results) -> list[dict[str, Any]]:
    """Return the ratios to the best affine fit and what the first gradient learns, by spike."""
    table = []
    for point in results["index"]:
        p = point.problem
        place = {"inputs": p.inputs, "input_overlap": p.input_overlap}
        best = {
            name: lowest_point(results[name].where(**place), "test", ["ridge"])
            for name in (*_NETWORKS, "affine")
        }
        row: dict[str, Any] = {"spike": spike_strength(p), "cosine": p.input_overlap, "best": best}
        for name, column in _COLUMNS.items():
            change = paired_change(best[name].values, best["affine"].values)
            row |= {f"{column}_change": change, column: change.shifted(1)}
        row["correlation"] = point.mean("correlation")
        table.append(row | {"direction": point.mean("cosine")})
    return sorted(table, key=lambda row: (row["spike"], row["cosine"]))


def facts(results: Results) -> Facts:
    """Return how far the networks are from the best affine fit, at most and for large spikes."""
    table = cells(results)
    weaker = [row for row in table if row["spike"] < table[-1]["spike"]]
    strongest = [row for row in table if row["spike"] == table[-1]["spike"]]
    (leaning,) = (row for row in strongest if row["cosine"] == _LEANING)
    return {
        "long": results["trained"].levels("alpha")[0],
        "strongest": table[-1]["spike"],
        "weaker": weaker[-1]["spike"],
        "highest": max(row["trained"].mean for row in weaker),
        "better": Selection.of(row["trained_change"].interval[1] < 0 for row in weaker),
        "leaning": leaning | {"change": leaning["untrained_change"]},
        "orthogonal": strongest[0],
        "aligned": strongest[-1],
        "cells": table,
        "penalties": len(results["trained"].levels("ridge")),
    }
