"""Where nonlinear features begin to beat the best linear predictor, as a phase diagram."""

from __future__ import annotations

from typing import Any

import numpy as np

from onegrad.arrays import Floats
from onegrad.experiments.results import Results
from onegrad.pictures import style
from onegrad.studies.drawing import heat_map
from onegrad.studies.text import Facts


def draw(results: Results) -> Any:
    """Draw the ratio to the best linear fit against cosine and strength of the spike."""
    figure, axes = style.panels(2, width=4.6, height=3.9)
    laws, overlaps = axes_of(results)
    columns = [f"{c:g}" for c in overlaps]
    rows = [law.removeprefix("spiked(").rstrip(")") for law in laws]
    colours = {"origin": "lower", "cmap": "RdBu", "vmin": 0.5, "vmax": 1.5}
    for ax, name in zip(axes[0], ("untrained", "trained"), strict=True):
        ratio = ratios(results, name)
        image = heat_map(ax, ratio, rows, columns, np.abs(ratio - 1) > 0.35, **colours)
        if ratio.min() < 1 < ratio.max():
            ax.contour(ratio, [1.0], colors="black", linewidths=1.2)
        ax.set(xlabel="cosine of spike and teacher", ylabel="excess variance of the spike")
        figure.colorbar(image, ax=ax, shrink=0.8).ax.set_xlabel("ratio", fontsize=7)
        ax.set(title=f"{name} network / best linear fit")
    return figure


def axes_of(results: Results) -> tuple[list[str], list[float]]:
    """Return the laws of the inputs and the cosines of spike and teacher."""
    return results["trained"].distinct("inputs"), results["trained"].levels("input_overlap")


def ratios(results: Results, name: str) -> Floats:
    """Return the test error over that of the best linear fit, (laws, overlaps)."""
    return _lowest(results, name) / _lowest(results, "linear")


def _lowest(results: Results, name: str) -> Floats:
    """Return the lowest mean test error over the penalties, (laws, overlaps)."""
    laws, overlaps = axes_of(results)
    points = {
        (law, c): results[name].where(inputs=law, input_overlap=c) for law in laws for c in overlaps
    }
    return np.array(
        [[min(p.mean("test") for p in points[law, c]) for c in overlaps] for law in laws]
    )


def facts(results: Results) -> Facts:
    """Return where the networks beat the best linear fit, and the best and worst ratio."""
    laws, overlaps = axes_of(results)
    trained = ratios(results, "trained")
    best = np.unravel_index(int(np.argmin(trained)), trained.shape)
    worst = np.unravel_index(int(np.argmax(trained)), trained.shape)
    return {
        "points": trained.size,
        "trained_wins": int((trained < 1).sum()),
        "untrained_wins": int((ratios(results, "untrained") < 1).sum()),
        "best": trained[best],
        "best_law": laws[best[0]],
        "best_cosine": overlaps[best[1]],
        "worst": trained[worst],
        "worst_law": laws[worst[0]],
        "worst_cosine": overlaps[worst[1]],
    }
