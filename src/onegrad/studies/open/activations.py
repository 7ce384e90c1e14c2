"""Which Hermite coefficients of an activation predict which spikes."""

import math
from typing import Any

import numpy as np

from onegrad.experiments import Point, Results
from onegrad.pictures import style
from onegrad.studies.drawing import heat_map
from onegrad.studies.findings import Estimate, Facts, largest, smallest

DEGREES = 4


def draw(results: Results) -> Any:
    """Draw the alignments and the energies, one row per activation."""
    names = results["spectrum"].distinct("activation")
    figure, axes = style.panels(2, width=4.0, height=1.2 + 0.27 * len(names))
    cosines = [[e.mean for e in alignments(p)] for p in results["spectrum"]]
    tables = {
        "alignment with He_k": np.array(cosines),
        "energy of the activation at k": np.array([energies(p) for p in results["spectrum"]]),
    }
    degrees = [str(k) for k in range(1, DEGREES + 1)]
    for ax, (title, values) in zip(axes[0], tables.items(), strict=True):
        heat_map(ax, values, names, degrees, values > 0.6, vmin=0, vmax=1, cmap="Blues")
        ax.set(xlabel="degree k", title=title)
    return figure


def alignments(point: Point) -> list[Estimate]:
    """Return the squared cosine of each He_k with the leading vector that is closest to it."""
    cosines = point.values["alignments"][:, :DEGREES, :DEGREES]  # (seeds, vectors, degrees)
    closest = cosines.mean(0).argmax(0)
    return [Estimate.of(cosines[:, vector, k]) for k, vector in enumerate(closest)]


def energies(point: Point) -> list[float]:
    """Return the share of each degree in the variance of the activation."""
    sigma = point.problem.sigma
    return [math.factorial(k) * sigma.c[k] ** 2 / sigma.variance for k in range(1, DEGREES + 1)]


def facts(results: Results) -> Facts:
    """Return the alignments where coefficients predict a spike, and where they do not."""
    rows: list[dict[str, Any]] = []
    present: list[Estimate] = []
    absent: list[Estimate] = []
    for point in results["spectrum"]:
        (c1, c2, *_), (he1, he2, *_) = energies(point), alignments(point)
        row = {"activation": point.problem.activation, "c1": c1, "c2": c2, "he1": he1, "he2": he2}
        rows.append(row)
        (present if c1 > 1e-6 else absent).append(he1)
        (present if min(c1, c2) > 1e-6 else absent).append(he2)  # the spike is c_2 (c_1 eta)^2
    return {
        "cases": len(present) + len(absent),
        "present": smallest(present),
        "absent": largest(absent),
        "rows": rows,
    }
