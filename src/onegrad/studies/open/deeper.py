"""One step on the first, the second or both of two hidden layers."""

from __future__ import annotations

import numpy as np

from onegrad.arrays import Floats, standard_error
from onegrad.experiments.results import Results
from onegrad.studies.drawing import Drawing, style
from onegrad.studies.open.same_data import best

LABELS = {"first": "step on the first layer", "second": "on the second", "both": "on both",
          "two-layers": "two layers"}  # fmt: skip

SEEN = 0.3  # squared cosine with a degree that counts as a spike of that degree


def draw(results: Results) -> Drawing:
    figure, axes = style.panels(2, width=4.8, height=4.0)
    untrained = best(results["none"])
    style.level(axes[0, 0], float(untrained.y[0]), "untrained, three layers")
    told, lowest = [], {}
    aligned, spread = {}, {}
    for i, (name, label) in enumerate(LABELS.items()):
        curve = best(results[name])
        style.markers(axes[0, 0], curve, i, label, linestyle="-", linewidth=0.8)
        k = int(np.argmin(curve.y))
        lowest[label] = float(curve.y[k])
        told.append(f"{label} {curve.y[k]:.3f} ± {curve.se[k]:.3f} (α = {curve.x[k]:.2f})")
        if name != "two-layers":
            last = results[name].ordered("alpha")[-1]
            most = last.values["alignments"].max(1)
            aligned[name] = most.mean(0)
            spread[name] = np.asarray(standard_error(most))
    x = np.arange(1, 5)
    for i, (name, values) in enumerate(aligned.items()):
        axes[0, 1].bar(x + 0.27 * (i - 1), values, 0.25, yerr=2 * spread[name],
                       color=style.SERIES[i], label=LABELS[name])  # fmt: skip
    axes[0, 0].set(xlabel="step exponent α", ylabel="test error, best penalty")
    axes[0, 1].set(xlabel="degree k", ylabel="squared cosine with He_k", xticks=x)
    for ax in axes[0]:
        style.legend(ax, 2)
    spikes = "; ".join(
        f"{LABELS[name]} {', '.join(f'{v:.2f}' for v in values)}"
        for name, values in aligned.items()
    )
    return Drawing(
        figure, (), (),
        f"{survive(aligned['first'])} The lowest test error has: "
        f"{min(lowest, key=lowest.__getitem__)}. Lowest test error (untrained "
        f"{untrained.y[0]:.3f}): {'; '.join(told)}. Squared cosines "
        f"of the last features' leading vectors with He₁ … He₄ at the largest step: {spikes}.",
    )  # fmt: skip


def survive(aligned: Floats) -> str:
    """Which degrees of a step on the first layer are seen behind the second."""
    seen = [f"He{'₁₂₃₄'[k]}" for k, value in enumerate(aligned) if value > SEEN]
    degrees = " and ".join(seen) if seen else "no degree"
    return (
        f"Of a step on the first layer, {degrees} of the teacher's index can be seen in a leading "
        f"singular vector behind the second layer (squared cosine above {SEEN:g})."
    )
