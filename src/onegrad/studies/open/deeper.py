"""One step on the first, the second or both of two hidden layers, beside one hidden layer."""

from typing import Any

from onegrad.experiments import Results
from onegrad.pictures import Curve, style
from onegrad.studies.drawing import best_penalty, curve_through, seed_curve
from onegrad.studies.findings import Facts, lowest_point, paired_difference, trend

LAYERS = {
    "two": "two layers",
    "first": "step on the first of three",
    "second": "on the second",
    "both": "on both",
}
SPECTRA = {"two": "first layer", "first": "behind the second", "linear": "its linear equivalent"}
_ALPHA = 0.4  # at which the alignments are quoted


def lowest_errors(results: Results) -> list[dict[str, Any]]:
    """Return the lowest errors by size and kind, with the paired difference from two layers."""
    rows = []
    for d in results["networks"].levels("d"):
        points, axes = results["networks"].where(d=d), ("alpha", "ridge")
        optima = {k: lowest_point(points, f"test_{k}", axes, one_sided=axes) for k in LAYERS}
        for kind, optimum in optima.items():
            difference = paired_difference(optimum.values, optima["two"].values)
            row = {"d": d, "layers": LAYERS[kind], "optimum": optimum, "difference": difference}
            rows.append(row)
    return rows


def of_first_layer(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows of three layers whose first one makes the step: one per size."""
    return [row for row in rows if row["layers"] == LAYERS["first"]]


def alignments(results: Results, name: str, k: int) -> Curve:
    """Return the largest squared cosine of six vectors with He_k against the exponent."""
    return seed_curve(results["spikes"], "alpha", lambda p: p.values[name][..., k - 1].max(1))


def draw(results: Results) -> Any:
    """Draw errors against the exponent, the difference against d, and the alignments."""
    figure, axes = style.panels(3, width=3.9, height=3.8)
    left, middle, right = axes[0]
    sizes = results["networks"].levels("d")
    points = results["networks"].where(d=sizes[-1])
    for i, (kind, label) in enumerate(LAYERS.items()):
        curve = best_penalty(points, f"test_{kind}")
        style.markers(left, curve, i, label, linestyle="-", linewidth=0.8)
    style.heading(left, f"d = {sizes[-1]}")
    rows = of_first_layer(lowest_errors(results))
    curve = curve_through([row["d"] for row in rows], [row["difference"] for row in rows])
    style.markers(middle, curve, 0, "three layers − two, paired")
    style.level(middle, 0.0, "no difference")
    for i, (name, label) in enumerate(SPECTRA.items()):
        style.markers(right, alignments(results, name, 1), i, label, linestyle="-", linewidth=0.8)
    left.set(xlabel="step exponent α", ylabel="test error, best penalty")
    middle.set(xlabel="d", ylabel="difference of lowest test errors")
    style.log_axis(middle, "x", sizes)
    right.set(xlabel="step exponent α", ylabel="squared cosine with He₁", ylim=(0, 1))
    for ax in axes[0]:
        style.legend(ax, 2)
    return figure


def facts(results: Results) -> Facts:
    """Return paired differences by size, the lowest errors, and the alignments by layer."""
    lowest = lowest_errors(results)
    compared = of_first_layer(lowest)
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
        "line": trend("d", sizes, differences),
        "d": sizes[-1],
        "untrained": min(p.mean("test_none") for p in points),
        "errors": [row for row in lowest if row["d"] == sizes[-1]],
        "lowest": lowest,
        **quoted,
        "alignments": table,
    }
