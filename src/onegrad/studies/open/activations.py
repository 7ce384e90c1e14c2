"""Which Hermite coefficients of an activation predict which spikes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from onegrad.arrays import Floats
from onegrad.experiments.results import Results
from onegrad.pictures import style
from onegrad.studies.drawing import heat_map
from onegrad.studies.text import Estimate, Facts

DEGREES = 4
_WEIGHTS = ("gaussian", "sphere")
_MIN_ALIGNMENT = 0.3  # squared cosine that counts as alignment


def draw(results: Results) -> Any:
    """Draw the alignments, the energies and the drops, one row per activation."""
    names = results["spectrum"].distinct("activation")
    figure, axes = style.panels(3, width=4.0, height=1.2 + 0.27 * len(names))
    titles = {
        "alignment with He_k": _alignments(results),
        "energy of the activation at k": energies(results),
    }
    degrees = [str(k) for k in range(1, DEGREES + 1)]
    for ax, (title, values) in zip(axes[0], titles.items(), strict=False):
        heat_map(ax, values, names, degrees, values > 0.6, vmin=0, vmax=1, cmap="Blues")
        ax.set(xlabel="degree k", title=title)
    for i, weights in enumerate(_WEIGHTS):
        y, se = np.array([drop(results, name, weights) for name in names]).T
        rows = np.arange(len(names)) + 0.15 * (2 * i - 1)
        look = {"linestyle": "none", "marker": style.MARKERS[i], "color": style.SERIES[i]}
        axes[0, 2].errorbar(y, rows, xerr=2 * se, label=f"W₀ {weights}", **look)
    axes[0, 2].set(xlabel="drop of the test error", ylim=(len(names) - 0.5, -0.5), yticks=[])
    style.legend(axes[0, 2], 2)
    return figure


def _alignments(results: Results) -> Floats:
    """Return the largest squared cosine over the vectors, (activations, degrees)."""
    tables = [np.nanmean(p.values["alignments"], axis=0) for p in results["spectrum"]]
    return np.array([table[:DEGREES, :DEGREES].max(0) for table in tables])


def energies(results: Results) -> Floats:
    """Return the share of each degree in the variance of an activation."""
    functions = [p.problem.sigma for p in results["spectrum"]]
    shares = [[math.factorial(k) * f.c[k] ** 2 for k in range(1, DEGREES + 1)] for f in functions]
    return np.asarray(np.array(shares) / np.array([f.variance for f in functions])[:, None])


def drop(results: Results, name: str, weights: str) -> Estimate:
    """Return the test error before minus after the step."""
    points = results["errors"].where(activation=name, weights=weights).ordered("eta")
    return Estimate.of(points[0].values["test"] - points[-1].values["test"])


def facts(results: Results) -> Facts:
    """Return where coefficients and spikes disagree, the largest drop, and whether W_0 matters."""
    names, aligned = results["spectrum"].distinct("activation"), _alignments(results)
    present = energies(results)[:, :2] > 1e-6
    present[:, 1] &= present[:, 0]  # the second spike is c_2 (c_1 eta)^2
    seen = aligned[:, :2] > _MIN_ALIGNMENT
    drops = {w: np.array([drop(results, name, w) for name in names]).T for w in _WEIGHTS}
    (gaussian, gaussian_se), (sphere, sphere_se) = drops.values()
    best = int(np.argmax(gaussian))
    differ = np.abs(gaussian - sphere) > 3 * np.hypot(gaussian_se, sphere_se)
    return {
        "min_alignment": _MIN_ALIGNMENT,
        "hits": int((seen == present).sum()),
        "cases": 2 * len(names),
        "misses": [
            {"activation": names[i], "degree": "₁₂"[k], "alignment": aligned[i, k]}
            for i, k in np.argwhere(seen != present)
        ],
        "best": names[best],
        "best_drop": Estimate(gaussian[best], gaussian_se[best]),
        "weights_differ": [name for name, far in zip(names, differ, strict=True) if far],
    }
