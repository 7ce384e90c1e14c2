"""Ba et al., Proposition 2: the first gradient's direction, rank and size."""

import math
from typing import Any

import numpy as np

from onegrad.experiments import Check, Results, check
from onegrad.pictures import style
from onegrad.studies.drawing import with_legends
from onegrad.studies.findings import Estimate, Facts, power_law
from onegrad.theory.asymptotic.scalars import Scalars
from onegrad.theory.direction import direction

RESIDUALS = ("labels", "full")
NORMS = {"": "operator", "_frobenius": "Frobenius"}
_ACCURACY = 0.01  # of c_star_1 / b, which leaves out corrections of order 1/d
_ORDERS_OF_NORMS = 3.0  # accuracy of the squared norms' limits in units of 1/sqrt(n)


def draw(results: Results) -> Any:
    """Draw the cosine against n/d, the distance from rank one, and the size of the step."""
    figure, ((left, middle, right),) = style.panels(3, width=3.9, height=3.6)
    for i, residual in enumerate(RESIDUALS):
        points = results[residual].ordered("n")
        curve = points.curve("n/d", "cosine")
        style.markers(left, curve, i, f"residual: {residual}")
        limit = [direction(p.problem).rho for p in points]
        left.plot(curve.x, limit, color=style.SERIES[i])
    style.legend_entry(left, r"theory, $n\to\infty$: $c_{\star 1}/b$")
    style.log_axis(left, "x", (1, 2, 4, 8))
    left.set(xlabel=r"sample size $n/d$", ylabel=r"cosine of $X^\top$(residual) and $\beta_\star$")
    growing = results["growing"]
    rest = growing.curve("n", "rest")
    style.markers(middle, rest, 2, "networks")
    rate = rest.y[-1] * np.sqrt(rest.x[-1] / rest.x)
    middle.plot(rest.x, rate, ":", color=style.BLACK, label=r"rate $1/\sqrt{n}$")
    style.log_axis(middle, "y", (0.05, 0.1, 0.2, 0.5, 1))
    middle.set(xlabel=r"$n$, with $N=n=2d$", ylabel=r"$\|G_0-A\|/\|G_0\|$")
    for i, (suffix, norm) in enumerate(NORMS.items()):
        for j, step in enumerate(("1", "√N")):
            curve = growing.curve("n", f"gradient{suffix}")
            weights = growing.curve("n", f"weights{suffix}").y
            size = np.array([math.sqrt(n) for n in growing.levels("N")]) if j else 1.0
            look = {"linestyle": "-" if i == 0 else "--", "color": style.SERIES[j]}
            y = size * curve.y / weights
            label = rf"{norm}, $\eta$ = {step}"
            right.plot(curve.x, y, marker=style.MARKERS[2 * i + j], label=label, **look)
    style.log_axis(right, "y", (0.01, 0.1, 1, 10, 100))
    right.set(xlabel=r"$n$, with $N=n=2d$", ylabel=r"$\|W_1-W_0\|/\|W_0\|$")
    for ax in (middle, right):
        style.log_axis(ax, "x", rest.x.tolist())
    return with_legends(figure, 2)


def checks(results: Results) -> list[Check]:
    """Compare the cosines and the norms of the gradient with their limits."""
    rows = [
        check("cosine", p.problem, p.values["cosine"], direction(p.problem).rho, "c⋆₁/b", _ACCURACY)
        for residual in RESIDUALS
        for p in results[residual].ordered("n")
    ]
    for p in results["growing"].ordered("n"):
        s = Scalars.of([p.problem])
        rank_one = (s.c1**2 * s.direction.b_squared)[0]
        limits = {"gradient": rank_one, "gradient_frobenius": rank_one + s.noise_length_squared[0]}
        accuracy = _ORDERS_OF_NORMS / math.sqrt(p.problem.n)
        for name, limit in limits.items():
            squares = p.values[name] ** 2
            rows.append(check(f"{name}²", p.problem, squares, float(limit), "limit", accuracy))
    return rows


def facts(results: Results) -> Facts:
    """Return the rate at which the gradient becomes rank one."""
    rest = results["growing"].curve("n", "rest")
    most = results["labels"].ordered("n")[-1]
    return {
        "exponent": power_law(rest.x.tolist(), Estimate.along(rest)),
        "cosine": Estimate.of(most.values["cosine"]),
        "ratio": most.problem.n / most.problem.d,
    }
