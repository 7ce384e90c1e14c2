"""Ba et al.: alignment of the first gradient with the teacher, and its nearness to rank one."""

from __future__ import annotations

import numpy as np

from onegrad.experiments.checks import Check, check
from onegrad.experiments.results import Results
from onegrad.studies.drawing import Drawing, style
from onegrad.theory.direction import direction

STATED = 0.01  # corrections of order 1/d that c_star_1 / b leaves out


def draw(results: Results) -> Drawing:
    figure, ((left, right),) = style.panels(2, width=4.4, height=3.4)
    checks: list[Check] = []
    for i, residual in enumerate(("labels", "full")):
        points = results[residual].ordered("n")
        curve = points.ratio("n", "cosine")
        style.markers(left, curve, i, f"residual: {residual}")
        theory = [direction(p.problem).rho for p in points]
        left.plot(curve.x, theory, color=style.SERIES[i])
        for p, limit in zip(points, theory, strict=True):
            checks.append(check("cosine", p.problem, p.values["cosine"], limit, "c⋆₁/b", STATED))
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
    return Drawing(figure, checks)
