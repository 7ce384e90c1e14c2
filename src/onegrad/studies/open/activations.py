"""Which Hermite coefficients of an activation predict which spikes."""

import math
from typing import Any

import numpy as np

from onegrad.arrays import Floats
from onegrad.experiments import Points, Results, comparison_of
from onegrad.pictures import style
from onegrad.studies.drawing import heat_map
from onegrad.studies.findings import Estimate, Facts, paired_difference, selected

DEGREES = 4
_WEIGHTS = ("gaussian", "sphere")
# Squared cosine that counts as alignment: at n = 1500 it is at least 0.36 with a predicted spike,
# and at most 0.06 without.
_MIN_ALIGNMENT = 0.3


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
        falls = [Estimate.of(relative_falls(results["errors"], name, weights)) for name in names]
        theory = [float(relative_falls(results["theory"], name, weights)) for name in names]
        rows = np.arange(len(names)) + 0.15 * (2 * i - 1)
        look = {"linestyle": "none", "marker": style.MARKERS[i], "color": style.SERIES[i]}
        means, errors = np.array(falls).T
        axes[0, 2].errorbar(means, rows, xerr=2 * errors, label=f"W₀ {weights}", **look)
        axes[0, 2].plot(theory, rows, "|", color=style.BLACK, label="theory" if i else None)
    label = "fall of the test error / error before"
    axes[0, 2].set(xlabel=label, ylim=(len(names) - 0.5, -0.5), yticks=[])
    style.legend(axes[0, 2], 2)
    return figure


def _alignments(results: Results) -> Floats:
    """Return the largest squared cosine over the vectors, (activations, degrees)."""
    tables = [np.nanmean(p.values["alignments"], axis=0) for p in results["spectrum"]]
    return np.array([table[:DEGREES, :DEGREES].max(0) for table in tables])


def energies(results: Results) -> Floats:
    """Return the share of each degree in the variance of an activation."""
    degrees = range(1, DEGREES + 1)
    functions = [p.problem.sigma for p in results["spectrum"]]
    return np.array(
        [[math.factorial(k) * f.c[k] ** 2 / f.variance for k in degrees] for f in functions]
    )


def relative_falls(points: Points, name: str, weights: str) -> Floats:
    """Return the fall of the test error by the step over the mean error before, one per seed."""
    before, after = (
        p.values["test"] for p in points.where(activation=name, weights=weights).ordered("eta")
    )
    return (before - after) / np.mean(before)


checks = comparison_of("errors", "theory", ("train", "test"))


def facts(results: Results) -> Facts:
    """Return where coefficients and spikes disagree, the falls, and whether W_0 matters."""
    names, aligned = results["spectrum"].distinct("activation"), _alignments(results)
    energy = energies(results)
    present = energy[:, :2] > 1e-6
    present[:, 1] &= present[:, 0]  # the second spike is c_2 (c_1 eta)^2
    shown = aligned[:, :2]
    seen = shown > _MIN_ALIGNMENT
    rows = [_row(results, name, energy[i, :2], shown[i]) for i, name in enumerate(names)]
    _, differing = selected(
        rows, lambda row: abs(row["difference"].z) > 3.0, "beyond three standard errors"
    )
    best, worst = (f(rows, key=lambda row: row["gaussian"].mean) for f in (max, min))
    return {
        "n": results["errors"][0].problem.n,
        "hits": int((seen == present).sum()),
        "cases": seen.size,
        "least_present": float(shown[present].min()),
        "most_absent": float(shown[~present].max()),
        "misses": [
            {"activation": names[i], "degree": "₁₂"[k], "alignment": aligned[i, k]}
            for i, k in np.argwhere(seen != present)
        ],
        "best": best,
        "worst": worst,
        "differing": differing,
        "largest_difference": max((row["difference"] for row in rows), key=lambda x: abs(x.mean)),
        "rows": rows,
    }


def _row(results: Results, name: str, energy: Floats, aligned: Floats) -> dict[str, Any]:
    """Return the falls of one activation, for both laws of W_0 and paired."""
    gaussian, sphere = (relative_falls(results["errors"], name, w) for w in _WEIGHTS)
    before = results["errors"].where(activation=name, weights=_WEIGHTS[0]).ordered("eta")[0]
    return {
        "activation": name,
        "before": Estimate.of(before.values["test"]),
        "gaussian": Estimate.of(gaussian),
        "sphere": Estimate.of(sphere),
        "difference": paired_difference(sphere, gaussian),
        **dict(zip(("c1", "c2"), energy, strict=True)),
        **dict(zip(("he1", "he2"), aligned, strict=True)),
    }
