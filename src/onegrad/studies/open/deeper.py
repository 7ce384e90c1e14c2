"""One step on the first, the second or both of two hidden layers."""

from __future__ import annotations

from typing import Any

import numpy as np

from onegrad.arrays import Floats, standard_error
from onegrad.experiments.results import Results
from onegrad.pictures import style
from onegrad.studies.drawing import best_penalty
from onegrad.studies.text import Estimate, Facts

THREE_LAYERS = {"first": "step on the first layer", "second": "on the second", "both": "on both"}
_LABELS = THREE_LAYERS | {"two-layers": "two layers"}
_MIN_ALIGNMENT = 0.3  # squared cosine with a degree that counts as a spike of that degree


def draw(results: Results) -> Any:
    """Draw the test error against the exponent, and the alignments at the largest step."""
    figure, axes = style.panels(2, width=4.8, height=4.0)
    left, right = axes[0]
    style.level(left, float(best_penalty(results["none"]).y[0]), "untrained, three layers")
    for i, (name, label) in enumerate(_LABELS.items()):
        curve = best_penalty(results[name])
        style.markers(left, curve, i, label, linestyle="-", linewidth=0.8)
    x = np.arange(1, 5)
    for i, (name, label) in enumerate(THREE_LAYERS.items()):
        values = _alignments(results, name)  # (seeds, degrees)
        bars = {"yerr": 2 * np.asarray(standard_error(values)), "color": style.SERIES[i]}
        right.bar(x + 0.27 * (i - 1), values.mean(0), 0.25, label=label, **bars)
    left.set(xlabel="step exponent α", ylabel="test error, best penalty")
    right.set(xlabel="degree k", ylabel="squared cosine with He_k", xticks=x)
    for ax in axes[0]:
        style.legend(ax, 2)
    return figure


def _alignments(results: Results, name: str) -> Floats:
    """Return the largest squared cosine over the vectors at the largest step, (seeds, degrees)."""
    largest = results[name].ordered("alpha")[-1]
    return np.asarray(largest.values["alignments"].max(1))


def facts(results: Results) -> Facts:
    """Return the lowest test errors and the degrees that can be seen behind the second layer."""
    errors = []
    for name, label in _LABELS.items():
        curve = best_penalty(results[name])
        k = int(np.argmin(curve.y))
        errors.append({"layers": label, "test": Estimate.at(curve, k), "alpha": curve.x[k]})
    first = _alignments(results, "first").mean(0)
    return {
        "min_alignment": _MIN_ALIGNMENT,
        "degrees": [f"He{'₁₂₃₄'[k]}" for k, value in enumerate(first) if value > _MIN_ALIGNMENT],
        "best": min(errors, key=lambda error: error["test"])["layers"],
        "untrained": best_penalty(results["none"]).y[0],
        "errors": errors,
        "spikes": [
            {
                "layers": label,
                "cosines": [{"cosine": v} for v in _alignments(results, name).mean(0)],
            }
            for name, label in THREE_LAYERS.items()
        ],
    }
