"""One step on the first, the second or both of two hidden layers, beside one hidden layer."""

from typing import Any

from onegrad.experiments import Points, Results
from onegrad.pictures import Curve, style
from onegrad.studies.drawing import best_penalty, curve_through, joined, seed_curve, with_legends
from onegrad.studies.findings import Facts, lowest_point, paired_difference, smallest, trend

LAYERS = {
    "two": "two layers",
    "first": "step on the first of three",
    "second": "on the second",
    "both": "on both",
}
SPECTRA = {"two": "first layer", "first": "behind the second", "linear": "its linear equivalent"}
_COMPARED = ("first", "both")  # with two layers
_TOP = 2.2  # of the left panel: steps on both layers diverge
_ALPHA = 0.4  # at which the alignments are quoted


def lowest_errors(points: Points) -> list[dict[str, Any]]:
    """Return the lowest errors by size and kind, with the paired difference from two layers."""
    rows = []
    for d in points.levels("d"):
        of_size, axes = points.where(d=d), ("alpha", "ridge")
        optima = {kind: lowest_point(of_size, f"test_{kind}", axes) for kind in LAYERS}
        for kind, optimum in optima.items():
            difference = paired_difference(optimum.values, optima["two"].values)
            row = {"d": d, "layers": LAYERS[kind], "optimum": optimum, "difference": difference}
            rows.append(row)
    return rows


def of_kind(rows: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    """Return the rows of one kind: one per size."""
    return [row for row in rows if row["layers"] == LAYERS[kind]]


def alignments(results: Results, name: str, k: int) -> Curve:
    """Return the largest squared cosine of six vectors with He_k against the exponent."""
    return seed_curve(results["spikes"], "alpha", lambda p: p.values[name][..., k - 1].max(1))


def draw(results: Results) -> Any:
    """Draw errors against the exponent, the difference against d, and the alignments."""
    figure, ((left, middle, right),) = style.panels(3, width=3.9, height=3.8)
    sizes = results["networks"].levels("d")
    points = results["networks"].where(d=sizes[-1])
    for i, (kind, label) in enumerate(LAYERS.items()):
        curve = best_penalty(points, f"test_{kind}")
        shown = curve.y < _TOP
        joined(left, Curve(curve.x[shown], curve.y[shown], curve.se[shown]), i, label)
    style.heading(left, f"d = {sizes[-1]}", "left")
    lowest = lowest_errors(results["networks"])
    for i, kind in enumerate(LAYERS):
        rows = of_kind(lowest, kind)
        curve = curve_through([row["d"] for row in rows], [row["difference"] for row in rows])
        if kind in _COMPARED:
            joined(middle, curve, i, LAYERS[kind])
    style.level(middle, 0.0, "two layers")
    for i, (name, label) in enumerate(SPECTRA.items()):
        joined(right, alignments(results, name, 1), i, label)
    left.set(xlabel="step exponent α", ylabel="test error, best penalty", ylim=(0, _TOP))
    middle.set(xlabel="d", ylabel="lowest test error − that of two layers")
    style.log_axis(middle, "x", sizes)
    right.set(xlabel="step exponent α", ylabel="squared cosine with He₁", ylim=(0, 1))
    return with_legends(figure, 2)


def facts(results: Results) -> Facts:
    """Return paired differences by size, the lowest errors, and the alignments by layer."""
    lowest = lowest_errors(results["networks"])
    compared = of_kind(lowest, "first")
    (scaled,) = of_kind(lowest_errors(results["scaled"]), "first")
    sizes, differences = ([row[key] for row in compared] for key in ("d", "difference"))
    points = results["networks"].where(d=sizes[-1])
    table = []
    for i, alpha in enumerate(results["spikes"].levels("alpha")):
        row: dict[str, Any] = {"alpha": alpha}
        for key, name in (("before", "two"), ("after", "first"), ("linear", "linear")):
            row[key] = alignments(results, name, 1).y[i]
            row[f"{key}2"] = alignments(results, name, 2).y[i]
        table.append(row)
    quoted = min(table, key=lambda row: abs(row["alpha"] - _ALPHA))
    return {
        "differences": compared,
        "line": trend(sizes, differences),
        "smallest": smallest(differences),
        "scaled": scaled["difference"],
        "scaled_d": scaled["d"],
        "d": sizes[-1],
        "untrained": min(p.mean("test_none") for p in points),
        "lowest": lowest,
        "alpha": quoted["alpha"],
        "passed": quoted["after"] / quoted["before"],
        "alignments": table,
    }
