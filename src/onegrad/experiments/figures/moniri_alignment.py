"""Moniri et al.: the leading left singular vectors of F against He_k of the learned index."""

from __future__ import annotations

import math

import numpy as np

from onegrad.experiments.checks import Check, describe
from onegrad.experiments.figures import Drawing, style
from onegrad.experiments.results import Results

STATED = 0.05  # stated accuracy of squared cosines at n of about a thousand


def draw(results: Results) -> Drawing:
    figure, axes = style.panels(2, width=4.4, height=3.4)
    networks = sorted(results["networks"], key=lambda p: p.problem.alpha or 0)
    theory = sorted(results["theory"], key=lambda p: p.problem.alpha or 0)
    checks: list[Check] = []
    for vector, ax in enumerate(axes[0]):
        x = [p.problem.alpha for p in networks]
        for degree in range(3):
            cosines = [p.values["alignments"][:, vector, degree] for p in networks]
            mean = [float(np.mean(c)) for c in cosines]
            se = [float(np.std(c, ddof=1) / math.sqrt(len(c))) for c in cosines]
            style.errorbars(ax, x, mean, se, degree, f"He{'₁₂₃'[degree]}, networks")
            line = [p.values["alignments"][vector, degree] for p in theory]
            colour = style.SERIES[degree]
            ax.plot([p.problem.alpha for p in theory], line, color=colour, label="theory")
        checks += _checks(networks, theory, vector, degree=vector)
        ax.set_title(f"singular vector {vector + 1}")
        ax.set_xlabel("step exponent α,  η = n^α")
        ax.set_ylim(-0.03, 1.03)
        style.thresholds(ax)
    axes[0, 0].set_ylabel("squared cosine")
    axes[0, 0].legend(loc="center left", ncols=1)
    return Drawing(figure, checks)


def _checks(networks, theory, vector: int, degree: int) -> list[Check]:  # type: ignore[no-untyped-def]
    """The alignment of spike k with He_k, where theory has the spike well outside the bulk."""
    at = {round(p.problem.alpha, 6): p for p in theory}
    found = []
    for p in networks:
        other = at.get(round(p.problem.alpha, 6))
        if other is None or not other.values["spikes"][vector] > 1.3 * float(other.values["edge"]):
            continue
        cosines = p.values["alignments"][:, vector, degree]
        se = float(np.std(cosines, ddof=1) / math.sqrt(len(cosines)))
        name, where = f"cos²(vector {vector + 1}, He{degree + 1})", describe(p.problem)
        value = float(other.values["alignments"][vector, degree])
        mean = float(np.mean(cosines))
        found.append(Check(name, where, "outlier equation", value, mean, se, len(cosines), STATED))
    return found
