"""Learning with other steps, each at its best length and penalty."""

from collections import Counter
from typing import Any

import numpy as np

from onegrad.experiments import Points, Results
from onegrad.pictures import style
from onegrad.problem import PRECONDITIONER_SHIFT, Problem
from onegrad.studies.drawing import best_penalty
from onegrad.studies.findings import Estimate, Facts, lowest_point, paired_change
from onegrad.theory.direction import direction

UPDATES = ("gradient", "preconditioned", "spectral")


def draw(results: Results) -> Any:
    """Draw the test error against the exponent and against the spectral norm of the step."""
    points = all_networks(results)
    laws = points.distinct("inputs")
    figure, axes = style.panels(len(laws), 2, width=3.8, height=3.4)
    for column, law in enumerate(laws):
        top, bottom = axes[:, column]
        for i, update in enumerate(UPDATES):
            curve = best_penalty(points.where(inputs=law, update=update))
            look = {"linestyle": "-", "linewidth": 0.8}
            style.markers(top, curve, i, update, **look)
            step = results["steps"].where(inputs=law, update=update)[0]
            lengths = points[0].problem.n ** curve.x * step.mean("norm")
            style.markers(bottom, type(curve)(lengths, curve.y, curve.se), i, update, **look)
        top.set(xlabel="step exponent α (equal Frobenius norm)", ylabel="test error, best penalty")
        bottom.set(xlabel="spectral norm of the step", ylabel="test error, best penalty")
        bottom.set_xscale("log")
        style.legend(top, 3, f"{law} inputs")
    return figure


def all_networks(results: Results) -> Points:
    """Return the networks at all penalties."""
    return results.joined("networks", "strong-penalties")


def facts(results: Results) -> Facts:
    """Return the lowest test error of each step, its change, and the learned directions."""
    points, laws = all_networks(results), []
    for law in points.distinct("inputs"):
        updates = [_row(results, law, update) for update in UPDATES]
        gradient = updates[0]["best"].values
        for row in updates:
            row["change"] = paired_change(row["best"].values, gradient)
        order = sorted(updates, key=lambda row: row["best"].value.mean)
        ends = order[0]["update"], order[-1]["update"]
        laws.append({"law": law, "updates": updates, "order": ends})
    rows = [row for of_law in laws for row in of_law["updates"]]
    (ends, agreeing), *_ = Counter(row["order"] for row in laws).most_common(1)
    problem = points[0].problem
    steps = {u: results["steps"].where(inputs="gaussian", update=u)[0] for u in UPDATES}
    return {
        "n": problem.n,
        "best": ends[0],
        "worst": ends[1],
        "agreeing": agreeing,
        "count": len(laws),
        "isotropic": laws[0]["updates"],
        "by_update": [
            {"update": u, "by_law": [row for row in rows if row["update"] == u]}
            for u in UPDATES[1:]
        ],
        "inside": not any(row["best"].axes_at_end for row in rows),
        "rows": rows,
        "gradient_cosine": Estimate.of(steps["gradient"].values["cosine"] ** 2),
        "preconditioned_cosine": Estimate.of(steps["preconditioned"].values["cosine"] ** 2),
        "gradient_formula": direction(problem).rho ** 2,
        "ridge_cosine": least_squares_cosine(problem, PRECONDITIONER_SHIFT),
    }


def _row(results: Results, law: str, update: str) -> dict[str, Any]:
    """Return the lowest error of one update, and the shape of its step."""
    points = all_networks(results).where(inputs=law, update=update)
    step = results["steps"].where(inputs=law, update=update)[0]
    return {
        "law": law,
        "update": update,
        "best": lowest_point(points, "test", ["alpha", "ridge"]),
        "spectral": step.mean("norm") / step.mean("frobenius"),
        "cosine": Estimate.of(step.values["cosine"]),
    }


def least_squares_cosine(problem: Problem, shift: float) -> float:
    r"""Return the squared cosine with the teacher of (Sigma_hat + shift)^{-1} X^T y/n.

    .. math::
        \frac{c^2(1-\epsilon m)^2}
             {c^2(1-2\epsilon m+\epsilon^2m_2) + (Ey^2-c^2)\varphi(m-\epsilon m_2)},\qquad
        m = \tfrac1d\mathrm{tr}(\hat\Sigma+\epsilon)^{-1},\quad
        m_2 = \tfrac1d\mathrm{tr}(\hat\Sigma+\epsilon)^{-2}

    For shift = 0 it is 1/(1 + (E y^2 - c^2) phi/(1 - phi)/c^2).

    Holds for isotropic inputs, phi = d/n < 1, in the limit of large n and d.
    See tests/studies/test_figures_measure_what_they_say.py.
    """
    phi, e, c = problem.phi_step, shift, float(problem.sigma_star.c[1])
    energy = float(problem.sigma_star.second_moment + problem.noise**2)
    b = 1 - phi + e  # phi e m^2 + b m - 1 = 0, the law of Marchenko and Pastur
    m = 2 / (b + np.sqrt(b * b + 4 * phi * e))
    m2 = m * (1 + phi * m) / (b + 2 * phi * e * m)  # -dm/de
    signal = c**2 * (1 - e * m) ** 2
    length = c**2 * (1 - 2 * e * m + e**2 * m2) + (energy - c**2) * phi * (m - e * m2)
    return float(signal / length)
