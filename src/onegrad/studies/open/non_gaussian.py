"""Where the Gaussian theory holds for inputs that are not Gaussian."""

from __future__ import annotations

from typing import Any

import numpy as np

from onegrad.experiments.results import Points, Results
from onegrad.pictures import Curve, style
from onegrad.studies.text import Estimate, Facts

MAX_DEVIATION = 0.02  # relative difference within which the theory holds
MAX_SE = 0.05  # relative standard error beyond which single networks decide a mean
_MIN_DISTANCE = 1.1  # an eigenvalue this many edges out is counted
REAL = {"same-sizes": "Gaussian", "digits-whitened": "digits, whitened", "digits": "digits"}


def draw(results: Results) -> Any:
    """Draw the deviation from the Gaussian theory, of laws and of real inputs."""
    figure, axes = style.panels(2, width=4.8, height=4.0)
    for ax, curves in zip(axes[0], (law_curves(results), real_curves(results)), strict=True):
        for i, (label, curve) in enumerate(curves.items()):
            style.markers(ax, curve, i, label, linestyle="-", linewidth=0.8)
    axes[0, 0].set_ylim(-0.12, 0.12)
    for ax in axes[0]:
        ax.axhspan(-MAX_DEVIATION, MAX_DEVIATION, color="#dddddd", zorder=0)
        ax.set(xlabel="step exponent α", ylabel="test error / Gaussian theory − 1")
        style.legend(ax, 3)
    return figure


def law_curves(results: Results) -> dict[str, Curve]:
    """Return the deviation against the exponent, by law."""
    laws, theory = results["laws"], results["theory"]
    return {law: deviation(laws.where(inputs=law), theory) for law in laws.distinct("inputs")}


def real_curves(results: Results) -> dict[str, Curve]:
    """Return the deviation against the exponent of real inputs and of Gaussian ones."""
    theory = results["theory-same-sizes"]
    return {label: deviation(results[name], theory) for name, label in REAL.items()}


def deviation(points: Points, theory: Points) -> Curve:
    """Return the test error over the theory's, minus one."""
    curve, expected = points.curve("alpha", "test"), theory.curve("alpha", "test").y
    return Curve(curve.x, curve.y / expected - 1, curve.se / expected)


def facts(results: Results) -> Facts:
    """Return the largest deviation of each kind of inputs, sorted by what it says."""
    rows: dict[str, list[dict[str, Any]]] = {"near": [], "far": [], "wild": []}
    for label, curve in (law_curves(results) | real_curves(results)).items():
        if label in ("Gaussian", "gaussian"):
            continue
        i = int(np.argmax(np.abs(curve.y)))
        largest = Estimate.at(curve, i)
        near = abs(largest.mean) <= MAX_DEVIATION + 2 * largest.se
        kind = "wild" if largest.se > MAX_SE else "near" if near else "far"
        rows[kind].append({"inputs": label, "deviation": largest})
    laws = results["laws"].distinct("inputs")
    return {
        "seeds": results["laws"][0].seeds,
        **rows,
        "laws": [{"law": law, "outliers": _outliers(results, law)} for law in laws],
    }


def _outliers(results: Results, law: str) -> list[dict[str, Any]]:
    """Return the mean number of eigenvalues beyond the Gaussian theory's edge, by exponent."""
    rows = []
    for point in results["spikes"].where(inputs=law).ordered("alpha"):
        alpha = point.problem.alpha
        edge = results["edge"].where(alpha=alpha)[0].mean("edge")
        counts = (point.values["F"] > _MIN_DISTANCE * edge).sum(-1)
        rows.append({"alpha": alpha, "count": float(counts.mean())})
    return rows
