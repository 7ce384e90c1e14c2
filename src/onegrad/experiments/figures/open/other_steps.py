"""What other steps of the same length learn."""

from __future__ import annotations

import numpy as np

from onegrad.experiments.figures import Drawing, style
from onegrad.experiments.results import Results

UPDATES = ("gradient", "preconditioned", "spectral")


def draw(results: Results) -> Drawing:
    points = results["networks"]
    laws = list(dict.fromkeys(p.problem.inputs for p in points))
    figure, axes = style.panels(len(laws), width=3.8, height=3.9)
    lines = []
    for ax, law in zip(axes[0], laws, strict=True):
        told = []
        for i, update in enumerate(UPDATES):
            at = points.where(inputs=law, update=update)
            curve = at.curve("alpha", "test")
            style.markers(ax, curve, i, update, linestyle="-", linewidth=0.8)
            best = int(np.argmin(curve.y))
            overlap = at.ordered("alpha")[best].mean("overlap")
            told.append(f"{update} {curve.y[best]:.3f} ± {curve.se[best]:.3f}")
        lines.append(f"{law} inputs: {', '.join(told)} (gradient's cosine {overlap:.2f})")
        ax.set(xlabel="step exponent α", ylabel="test error")
        style.heading(ax, f"{law} inputs")
        style.legend(ax, 2)
    return Drawing(figure, (), (), "Lowest test error over the steps. " + "; ".join(lines) + ".")
