"""Errors under adversarial perturbations of the inputs, with and without the step."""

from typing import Any

import numpy as np

from onegrad.experiments import Check, Point, Points, Results, check
from onegrad.pictures import style
from onegrad.studies.drawing import curve_through, joined, with_legends
from onegrad.studies.findings import (
    BestPoint,
    Estimate,
    Facts,
    largest,
    lowest_point,
    paired_difference,
)
from onegrad.studies.measures.adversarial_inputs import LENGTHS

_KINDS = {"untrained": "untrained", "trained": "after the step"}
_ACCURACY = 0.03  # of E|grad f|^2: see gradient_energy
_QUOTED = 0.6  # length at which the gain is quoted
_MAX_HARM = 0.02  # of the zero predictor's error


def draw(results: Results) -> Any:
    """Draw errors against the length, each with its best penalty, and gradients."""
    figure, ((left, right),) = style.panels(2, width=4.6, height=3.8)
    for i, (name, label) in enumerate(_KINDS.items()):
        curve = curve_through([0, *LENGTHS], [best.value for best in best_penalties(results[name])])
        joined(left, curve, i, label)
    style.level(left, zero_error(results["trained"][0]), "predicting zero")
    left.set(xlabel=r"length $\epsilon$ of the perturbation", ylabel="error, best penalty")
    style.markers(right, results["gradients"].curve("alpha", "gradient"), 0, "networks")
    style.line(right, results["theory"].curve("alpha", "gradient"), 0, "uniform theory")
    slope = results["trained"][0].problem.sigma_star.slope_second_moment
    style.level(right, slope, "the teacher's own")
    right.set(xlabel=r"step exponent $\alpha$", ylabel=r"mean of $|\nabla f|^2$", ylim=(0, None))
    return with_legends(figure, 3)


def best_penalties(points: Points) -> list[BestPoint]:
    """Return the lowest mean error over the penalties, at length 0 and at each of LENGTHS."""
    optima = []
    for k in range(1 + len(LENGTHS)):
        errors = [np.column_stack([p.values["risk"], p.values["attacked"]])[:, k] for p in points]
        pairs = zip(points, errors, strict=True)
        of_length = Points(Point(p.problem, {"error": e}, p.seeded) for p, e in pairs)
        optima.append(lowest_point(of_length, "error", ["ridge"]))
    return optima


def zero_error(point: Point) -> float:
    """Return the error of predicting zero, which no perturbation changes."""
    return point.problem.sigma_star.second_moment


def checks(results: Results) -> list[Check]:
    """Compare the mean squares of gradients with theory."""
    rows = []
    for p in results["gradients"]:
        (near,) = results["theory"].where(alpha=p.problem.alpha)
        expected, values = near.mean("gradient"), p.values["gradient"]
        rows.append(check("E|∇f|²", p.problem, values, expected, "uniform", _ACCURACY))
    return rows


def facts(results: Results) -> Facts:
    """Return both errors by length with their paired difference, and the gradients."""
    untrained, trained = (best_penalties(results[name]) for name in _KINDS)
    zero, p = zero_error(results["trained"][0]), results["trained"][0].problem
    rows, harms = [], []
    for length, before, after in zip([0.0, *LENGTHS], untrained, trained, strict=True):
        difference = paired_difference(after.values, before.values)
        harms.append(Estimate(difference.mean / zero, difference.se / zero, difference.freedom))
        row = {"length": length, "untrained": before, "trained": after, "difference": difference}
        rows.append(row)
    gradients = [
        {
            "alpha": q.problem.alpha,
            "gradient": Estimate.of(q.values["gradient"]),
            "theory": results["theory"].where(alpha=q.problem.alpha)[0].mean("gradient"),
        }
        for q in results["gradients"].ordered("alpha")
    ]
    return {
        "size": float(np.sqrt(p.d)),
        "quoted": rows[1 + LENGTHS.index(_QUOTED)],
        "harm": largest(harms),
        "max_harm": _MAX_HARM,
        "zero": zero,
        "gradients": gradients,
        "rows": rows,
    }
