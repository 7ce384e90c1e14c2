"""Ba et al.: alignment of the first gradient with the teacher, and how close it is to rank one."""

from __future__ import annotations

from typing import Any

import numpy as np

from onegrad.experiments.checks import Check, check
from onegrad.experiments.results import Results
from onegrad.pictures import style
from onegrad.theory.direction import direction

RESIDUALS = ("labels", "full")
_ACCURACY = 0.01  # of c_star_1 / b, which leaves out corrections of order 1/d


def draw(results: Results) -> Any:
    """Draw the cosine against n/d, and the second singular value against d."""
    figure, ((left, right),) = style.panels(2, width=4.4, height=3.4)
    for i, residual in enumerate(RESIDUALS):
        points = results[residual].ordered("n")
        curve = points.ratio("n", "cosine")
        style.markers(left, curve, i, f"residual: {residual}")
        limit = [direction(p.problem).rho for p in points]
        left.plot(curve.x, limit, color=style.SERIES[i])
    style.legend_entry(left, "theory, n → ∞: c⋆₁/b")
    style.log_axis(left, "x", (1, 2, 4, 8))
    left.set(xlabel="sample size n/d", ylabel="cosine of Xᵀ(residual) and β⋆")
    style.legend(left, 2)
    growing = results["growing"].curve("d", "second")
    style.markers(right, growing, 2, "networks")
    style.log_axis(right, "x", (32, 64, 128, 256, 512))
    style.log_axis(right, "y", (0.1, 0.2, 0.3, 0.5, 1))
    right.set(xlabel="d, with n = N = 2d", ylabel="second over first singular value of G")
    rate = growing.y[0] * np.sqrt(growing.x[0] / growing.x)
    right.plot(
        growing.x, rate, ":", color=style.BLACK, label="rate 1/√d: Proposition 2 up to logarithms"
    )
    style.legend(right, 1)
    return figure


def checks(results: Results) -> list[Check]:
    """Compare the cosines with their limit."""
    return [
        check("cosine", p.problem, p.values["cosine"], direction(p.problem).rho, "c⋆₁/b", _ACCURACY)
        for residual in RESIDUALS
        for p in results[residual].ordered("n")
    ]
