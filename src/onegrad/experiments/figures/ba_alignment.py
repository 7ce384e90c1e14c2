"""Ba et al.: alignment of the first gradient with the teacher, and its nearness to rank one."""

from __future__ import annotations

import math

from onegrad.experiments.checks import Check, check
from onegrad.experiments.figures import Drawing, style
from onegrad.experiments.results import Results
from onegrad.problem import Problem

STATED = 0.01  # corrections of order 1/d that c_star_1 / b leaves out


def draw(results: Results) -> Drawing:
    figure, axes = style.panels(2, width=4.4, height=3.4)
    left, right = axes[0]
    checks: list[Check] = []
    for i, residual in enumerate(("labels", "full")):
        points = results[residual]
        curve = points.ratio("n", "cosine")
        style.markers(left, curve, i, f"residual: {residual}")
        left.plot(curve.x, [cosine(p.problem) for p in curve.points], color=style.SERIES[i])
        for p in points:
            found, limit = p.values["cosine"], cosine(p.problem)
            checks.append(check("cosine", p.problem, found, limit, "c⋆₁/b", STATED))
    style.log_axis(left, "x", (1, 2, 4, 8))
    left.set_xlabel("sample size n/d")
    left.set_ylabel("cosine of Xᵀ(residual) and β⋆")
    left.legend()
    growing = results["growing"].curve("d", "second")
    style.markers(right, growing, 2, "networks")
    style.log_axis(right, "x", (32, 64, 128, 256, 512))
    style.log_axis(right, "y", (0.1, 0.2, 0.3, 0.5, 1))
    right.set_xlabel("d, with n = N = 2d")
    right.set_ylabel("second over first singular value of G")
    right.legend()
    return Drawing(figure, checks)


def cosine(problem: Problem) -> float:
    r"""Limit of the cosine of beta and beta_star.

    .. math:: c_{\star,1}/b,\quad b^2 = c_{\star,1}^2 + \phi(c_\star^2+\sigma_\varepsilon^2)
              \;(+\,c_1^2 + \phi E\sigma^2 \text{ for the full residual})
    """
    sigma, star = problem.sigma, problem.sigma_star
    c1_star = float(star.c[1])
    b2 = c1_star**2 + problem.phi_step * (star.variance + problem.noise**2)
    if problem.residual == "full":
        b2 += float(sigma.c[1]) ** 2 + problem.phi_step * sigma.second_moment
    return c1_star / math.sqrt(b2)
