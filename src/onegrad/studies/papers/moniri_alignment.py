"""Moniri et al.: the leading left singular vectors of F against He_k of the learned index."""

from __future__ import annotations

import numpy as np

from onegrad.arrays import standard_error
from onegrad.experiments.checks import Check, check, outlier_accuracy
from onegrad.experiments.results import Curve, Points, Results
from onegrad.studies.drawing import Drawing, style

CLEAR = 1.3  # an outlier this many edges out is compared


def draw(results: Results) -> Drawing:
    figure, axes = style.panels(2, width=4.4, height=3.4)
    networks, theory = results["networks"].ordered("alpha"), results["theory"].ordered("alpha")
    checks: list[Check] = []
    for vector, ax in enumerate(axes[0]):
        for degree in range(3):
            cosines = np.array([p.values["alignments"][:, vector, degree] for p in networks])
            alphas = np.array([p.problem.alpha for p in networks])
            curve = Curve(alphas, cosines.mean(1), standard_error(cosines, axis=1))
            style.markers(ax, curve, degree, f"He{'₁₂₃'[degree]}, networks")
            line = [p.values["alignments"][vector, degree] for p in theory]
            ax.plot([p.problem.alpha for p in theory], line, color=style.SERIES[degree])
        checks += _checks(networks, theory, vector)
        style.heading(ax, f"left singular vector {vector + 1} of F", "left")
        ax.set_ylim(-0.06, 1.12)
        ax.set_xlabel("step exponent α,  η = n^α")
        style.mark_thresholds(ax, high=0.46)
    axes[0, 0].set_ylabel("squared cosine")
    for ax in axes[0]:
        style.legend_entry(ax, "asymptotic theory at this n")
        style.legend(ax, 2)
    return Drawing(figure, checks)


def _checks(networks: Points, theory: Points, k: int) -> list[Check]:
    """The alignment of spike k + 1 with He_{k+1}, where theory has it well outside the bulk."""
    found = []
    for p in networks:
        near = theory.where(alpha=p.problem.alpha)
        if len(near) and near[0].values["spikes"][k] > CLEAR * float(near[0].values["edge"]):
            name = f"cos²(vector {k + 1}, He{k + 1})"
            predicted = float(near[0].values["alignments"][k, k])
            simulated = p.values["alignments"][:, k, k]
            claim, stated = "outlier equation", outlier_accuracy(p.problem)
            found.append(check(name, p.problem, simulated, predicted, claim, stated))
    return found
