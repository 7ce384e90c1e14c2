"""What other steps of the same length learn."""

from __future__ import annotations

import numpy as np

from onegrad.experiments.results import Results
from onegrad.studies.drawing import Drawing, style

UPDATES = ("gradient", "preconditioned", "spectral")


def draw(results: Results) -> Drawing:
    points = results["networks"]
    laws = list(dict.fromkeys(p.problem.inputs for p in points))
    figure, axes = style.panels(len(laws), width=3.8, height=3.9)
    lines, wins = [], []
    for ax, law in zip(axes[0], laws, strict=True):
        told, lowest = [], {}
        for i, update in enumerate(UPDATES):
            at = points.where(inputs=law, update=update)
            curve = at.curve("alpha", "test")
            style.markers(ax, curve, i, update, linestyle="-", linewidth=0.8)
            best = int(np.argmin(curve.y))
            lowest[update] = float(curve.y[best])
            told.append(f"{update} {curve.y[best]:.3f} ± {curve.se[best]:.3f}")
        cosine = points.where(inputs=law, update="gradient")[0].mean("overlap")
        lines.append(f"{law} inputs: {', '.join(told)} (the gradient's cosine is {cosine:.2f})")
        wins.append(f"{min(lowest, key=lowest.__getitem__)} for {law}")
        ax.set(xlabel="step exponent α", ylabel="test error")
        style.heading(ax, f"{law} inputs")
        style.legend(ax, 2)
    return Drawing(
        figure, (), (),
        f"The best step at its best length is {', '.join(wins)} inputs. Lowest test error: "
        f"{'; '.join(lines)}.",
    )  # fmt: skip
