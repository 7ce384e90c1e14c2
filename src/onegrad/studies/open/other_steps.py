"""Learning with other steps of the same length."""

from __future__ import annotations

from typing import Any

import numpy as np

from onegrad.experiments.results import Results
from onegrad.pictures import style
from onegrad.studies.text import Estimate, Facts

UPDATES = ("gradient", "preconditioned", "spectral")


def draw(results: Results) -> Any:
    """Draw the test error against the exponent, one panel per law of the inputs."""
    points = results["networks"]
    laws = points.distinct("inputs")
    figure, axes = style.panels(len(laws), width=3.8, height=3.9)
    for ax, law in zip(axes[0], laws, strict=True):
        for i, update in enumerate(UPDATES):
            curve = points.where(inputs=law, update=update).curve("alpha", "test")
            style.markers(ax, curve, i, update, linestyle="-", linewidth=0.8)
        ax.set(xlabel="step exponent α", ylabel="test error")
        style.heading(ax, f"{law} inputs")
        style.legend(ax, 2)
    return figure


def facts(results: Results) -> Facts:
    """Return the lowest test error of each step and the gradient's cosine, by law."""
    points, laws = results["networks"], []
    for law in points.distinct("inputs"):
        updates: list[dict[str, Any]] = []
        for update in UPDATES:
            curve = points.where(inputs=law, update=update).curve("alpha", "test")
            i = int(np.argmin(curve.y))
            updates.append({"update": update, "test": Estimate.at(curve, i)})
        best = min(updates, key=lambda row: row["test"].mean)["update"]
        cosine = points.where(inputs=law, update="gradient")[0].mean("overlap")
        laws.append({"law": law, "best": best, "updates": updates, "cosine": cosine})
    return {"winners": laws, "laws": laws}
