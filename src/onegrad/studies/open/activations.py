"""Which Hermite coefficients of an activation predict which spikes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from onegrad.arrays import Floats
from onegrad.experiments.results import Results
from onegrad.studies.drawing import Drawing, style

DEGREES = 4
SEEN = 0.3  # squared cosine that counts as alignment


def draw(results: Results) -> Drawing:
    names = list(dict.fromkeys(p.problem.activation for p in results["spectrum"]))
    figure, axes = style.panels(3, width=4.0, height=1.2 + 0.27 * len(names))
    aligned, energy, drops = [], [], []
    for name in names:
        point = results["spectrum"].where(activation=name)[0]
        found = np.nanmean(point.values["alignments"], axis=0)[:DEGREES, :DEGREES]
        aligned.append(found.max(0))
        c = point.problem.sigma.c
        shares = np.array([math.factorial(k) * c[k] ** 2 for k in range(1, DEGREES + 1)])
        energy.append(shares / point.problem.sigma.variance)
        drops.append([drop(results, name, weights) for weights in ("gaussian", "sphere")])
    table(axes[0, 0], np.array(aligned), names, "alignment with He_k")
    table(axes[0, 1], np.array(energy), names, "energy of the activation at k")
    for i, weights in enumerate(("gaussian", "sphere")):
        y, se = np.array([d[i] for d in drops]).T
        axes[0, 2].errorbar(y, np.arange(len(names)) + 0.15 * (2 * i - 1), xerr=2 * se,
                            linestyle="none", marker=style.MARKERS[i], color=style.SERIES[i],
                            label=f"W₀ {weights}")  # fmt: skip
    axes[0, 2].set(xlabel="drop of the test error", ylim=(len(names) - 0.5, -0.5), yticks=[])
    style.legend(axes[0, 2], 2)
    return Drawing(figure, (), (), finding(names, np.array(aligned), np.array(energy), drops))


def drop(results: Results, name: str, weights: str) -> tuple[float, float]:
    """Test error before minus after the step, over seeds, and its standard error."""
    points = results["errors"].where(activation=name, weights=weights).ordered("eta")
    values = points[0].values["test"] - points[-1].values["test"]
    return float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values)))


def table(ax: Any, values: Floats, names: list[str], title: str) -> None:
    ax.grid(visible=False)
    ax.imshow(values, vmin=0, vmax=1, cmap="Blues", aspect="auto")
    for (i, k), value in np.ndenumerate(values):
        shade = "white" if value > 0.6 else "black"
        ax.annotate(f"{value:.2f}", (k, i), ha="center", va="center", fontsize=7, color=shade)
    ax.set_xticks(range(values.shape[1]), [f"{k + 1}" for k in range(values.shape[1])])
    ax.set_xlabel("degree k")
    ax.set_yticks(range(len(names)), names)
    ax.set_title(title)


def finding(names: list[str], aligned: Floats, energy: Floats, drops: Any) -> str:
    present = energy[:, :2] > 1e-6
    present[:, 1] &= present[:, 0]  # the second spike is c_2 (c_1 eta)^2
    seen = aligned[:, :2] > SEEN
    hit = int((seen == present).sum())
    wrong = [
        f"{names[i]} (He{'₁₂'[k]} {aligned[i, k]:.2f})" for i, k in np.argwhere(seen != present)
    ]
    but = f", not for {', '.join(wrong)}" if wrong else ""
    best = int(np.argmax([d[0][0] for d in drops]))
    apart = [names[i] for i, (g, s) in enumerate(drops)
             if abs(g[0] - s[0]) > 3 * np.hypot(g[1], s[1])]  # fmt: skip
    same = ", ".join(apart) if apart else "none"
    return (
        f"c₁ ≠ 0 predicts whether a leading singular vector is aligned (squared cosine above "
        f"{SEEN:g}) with He₁, and c₁c₂ ≠ 0 whether one is with He₂, in {hit} of {2 * len(names)} "
        f"cases{but}; the largest drop of the test error has {names[best]} "
        f"({drops[best][0][0]:.3f} ± {drops[best][0][1]:.3f}); sphere and Gaussian weights differ "
        f"by more than three standard errors for {same}."
    )
