"""Where nonlinear features begin to beat the best linear predictor, as a phase diagram."""

from __future__ import annotations

from typing import Any

import numpy as np

from onegrad.arrays import Floats
from onegrad.experiments.results import Points, Results
from onegrad.studies.drawing import Drawing, style


def draw(results: Results) -> Drawing:
    figure, axes = style.panels(2, width=4.6, height=3.9)
    overlaps = results["trained"].levels("input_overlap")
    laws = list(dict.fromkeys(p.problem.inputs for p in results["trained"]))
    linear = table(results["linear"], laws, overlaps)
    ratios = {name: table(results[name], laws, overlaps) / linear
              for name in ("untrained", "trained")}  # fmt: skip
    for ax, (name, ratio) in zip(axes[0], ratios.items(), strict=True):
        _map(figure, ax, ratio, laws, overlaps)
        ax.set(title=f"{name} network / best linear fit")
    return Drawing(figure, (), (), finding(ratios, laws, overlaps))


def table(points: Points, laws: list[str], overlaps: list[float]) -> Floats:
    """Lowest mean test error over the penalties, (laws, overlaps)."""
    return np.array([
        [min(p.mean("test") for p in points.where(inputs=law, input_overlap=c)) for c in overlaps]
        for law in laws
    ])  # fmt: skip


def _map(figure: Any, ax: Any, ratio: Floats, laws: list[str], overlaps: list[float]) -> None:
    ax.grid(visible=False)
    image = ax.imshow(ratio, origin="lower", cmap="RdBu", vmin=0.5, vmax=1.5, aspect="auto")
    for (i, j), value in np.ndenumerate(ratio):
        shade = "white" if abs(value - 1) > 0.35 else "black"
        ax.annotate(f"{value:.2f}", (j, i), ha="center", va="center", fontsize=7, color=shade)
    if ratio.min() < 1 < ratio.max():
        ax.contour(ratio, [1.0], colors="black", linewidths=1.2)
    ax.set_xticks(range(len(overlaps)), [f"{c:g}" for c in overlaps])
    ax.set_yticks(range(len(laws)), [law.removeprefix("spiked(").rstrip(")") for law in laws])
    ax.set(xlabel="cosine of spike and teacher", ylabel="excess variance of the spike")
    figure.colorbar(image, ax=ax, shrink=0.8).ax.set_xlabel("ratio", fontsize=7)


def finding(ratios: dict[str, Floats], laws: list[str], overlaps: list[float]) -> str:
    trained = ratios["trained"]
    wins = int((trained < 1).sum())
    i, j = np.unravel_index(int(np.argmin(trained)), trained.shape)
    worst = np.unravel_index(int(np.argmax(trained)), trained.shape)
    untrained = int((ratios["untrained"] < 1).sum())
    return (
        f"The trained network beats the best linear fit at {wins} of {trained.size} points, the "
        f"untrained one at {untrained}; the best ratio is {trained[i, j]:.2f} ({laws[i]}, cosine "
        f"{overlaps[j]:g}), the worst {trained[worst]:.2f} ({laws[worst[0]]}, cosine "
        f"{overlaps[worst[1]]:g})."
    )
