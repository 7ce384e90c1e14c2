"""Moniri et al.: the leading left singular vectors of F and He_k of the learned index."""

import functools
from typing import Any

import numpy as np

from onegrad.arrays import Floats
from onegrad.experiments import Check, Point, Results, check, outlier_accuracy
from onegrad.pictures import style
from onegrad.studies.drawing import seed_curve, with_legends
from onegrad.studies.findings import Estimate, Facts

VECTORS = 2
_MIN_DISTANCE = 1.3  # an outlier this many edges out is compared: nearer ones mix with the bulk


def draw(results: Results) -> Any:
    """Draw squared cosines with He_1, He_2, He_3 against the step exponent, a panel per vector."""
    figure, axes = style.panels(VECTORS, width=4.4, height=3.4)
    networks, theory = results["networks"], results["theory"].ordered("alpha")
    for vector, ax in enumerate(axes[0]):
        for degree in range(3):
            squares = functools.partial(alignment, vector=vector, degree=degree)
            curve = seed_curve(networks, "alpha", squares)
            style.markers(ax, curve, degree, f"$He_{degree + 1}$, networks")
            line = [p.values["alignments"][vector, degree] for p in theory]
            ax.plot([p.problem.alpha for p in theory], line, color=style.SERIES[degree])
        style.heading(ax, f"left singular vector {vector + 1} of $F$", "left")
        ax.set_ylim(-0.06, 1.12)
        ax.set_xlabel(style.STEP_EXPONENT)
        style.mark_thresholds(ax, high=0.46)
    axes[0, 0].set_ylabel("squared cosine")
    return with_legends(figure, 2, "asymptotic theory at this n")


def alignment(point: Point, vector: int, degree: int) -> Floats:
    """Return the squared cosine of a left singular vector with He_{degree + 1}, one per seed."""
    return np.asarray(point.values["alignments"][:, vector, degree])


def checks(results: Results) -> list[Check]:
    """Compare the alignment of spike k with He_k where theory has it well outside the bulk."""
    rows = []
    for k in range(VECTORS):
        for p in results["networks"].ordered("alpha"):
            near = results["theory"].where(alpha=p.problem.alpha)
            if not len(near):
                continue
            values = near[0].values
            if values["spikes"][k] > _MIN_DISTANCE * float(values["edge"]):
                name = f"cos²(vector {k + 1}, He{k + 1})"
                measured, expected = alignment(p, k, k), values["alignments"][k, k]
                accuracy = outlier_accuracy(p.problem)
                claim = "outlier equation"
                rows.append(check(name, p.problem, measured, float(expected), claim, accuracy))
    return rows


def facts(results: Results) -> Facts:
    """Return the squared cosines of vector k with He_k at the largest step."""
    last = results["networks"].ordered("alpha")[-1]
    aligned = [Estimate.of(alignment(last, k, k)) for k in range(VECTORS)]
    return {"aligned": aligned, "alpha": last.problem.alpha, "n": last.problem.n}
