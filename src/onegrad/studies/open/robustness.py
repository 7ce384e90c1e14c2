"""Direction and errors under noise of two laws and under wrong labels."""

from __future__ import annotations

from typing import Any

import numpy as np

from onegrad.experiments.checks import Check, check, compare_results, outlier_accuracy
from onegrad.experiments.results import Point, Points, Results
from onegrad.pictures import Curve, style
from onegrad.studies.text import Facts

_LABELS = {
    "gaussian": "Gaussian noise",
    "student-t": "Student-t(3) noise",
    "corrupted": "replaced labels",
}


def draw(results: Results) -> Any:
    """Draw the cosine and the test error against the energy of the disturbance."""
    figure, axes = style.panels(2, width=4.6, height=4.0)
    left, right = axes[0]
    for i, (name, label) in enumerate(_LABELS.items()):
        points = results[name]
        style.markers(left, by_disturbance(points, "overlap"), i, label)
        style.markers(right, by_disturbance(points, "test"), i, label)
        x = np.array([disturbance(p) for p in points])
        line = Curve(x, np.array([cosine(p) for p in points]), 0 * x)
        style.line(left, line, i)
        if f"{name}-theory" in results:
            theory = by_disturbance(results[f"{name}-theory"], "test")
            style.line(right, theory, i)
    left.set(xlabel="energy of the disturbance / energy of the labels", ylabel="cosine")
    right.set(xlabel="energy of the disturbance / energy of the labels", ylabel="test error")
    for ax in axes[0]:
        style.legend_entry(ax, "theory")
        style.legend(ax, 2)
    return figure


def disturbance(point: Point) -> float:
    """Return the energy of what is added to the labels, over their own."""
    p = point.problem
    return p.noise**2 / p.sigma_star.second_moment + 2 * p.corrupted


def cosine(point: Point) -> float:
    r"""Return the cosine of the learned direction, c/sqrt(c^2 + phi E r^2), c = (1 - q) c_1."""
    p = point.problem
    c = (1 - p.corrupted) * float(p.sigma_star.c[1])
    energy = p.sigma_star.second_moment + p.noise**2
    return float(abs(c) / np.sqrt(c * c + p.phi_step * energy))


def by_disturbance(points: Points, quantity: str) -> Curve:
    """Return a quantity against the energy of the disturbance."""
    ordered = sorted(points, key=disturbance)
    return Curve(
        np.array([disturbance(p) for p in ordered]),
        np.array([p.mean(quantity) for p in ordered]),
        np.array([p.se(quantity) for p in ordered]),
    )


def checks(results: Results) -> list[Check]:
    """Compare the cosines with second moments, and the errors with theory where there is one."""
    rows = []
    for name in _LABELS:
        rows += cosine_checks(results[name])
        if f"{name}-theory" in results:
            rows += compare_results(results[name], results[f"{name}-theory"], ("train", "test"))
    return rows


def cosine_checks(points: Points) -> list[Check]:
    """Compare the learned cosine with its prediction by second moments."""
    claim = "second moment"
    return [
        check(
            "overlap", p.problem, p.values["overlap"], cosine(p), claim, outlier_accuracy(p.problem)
        )
        for p in points
    ]


def facts(results: Results) -> Facts:
    """Return how well second moments predict the direction, and what heavy tails change."""
    held = [c.holds for name in _LABELS for c in cosine_checks(results[name])]
    largest = {
        name: max(abs(p.mean("overlap") / cosine(p) - 1) for p in results[name]) for name in _LABELS
    }
    gaussian = {p.problem.noise: p.mean("test") for p in results["gaussian"]}
    ratios = {
        p.problem.noise: p.mean("test") / gaussian[p.problem.noise] for p in results["student-t"]
    }
    noise = max(ratios, key=lambda noise: abs(ratios[noise] - 1))
    return {
        "holding": sum(held),
        "points": len(held),
        "gaussian": largest["gaussian"],
        "student": largest["student-t"],
        "replaced": largest["corrupted"],
        "student_difference": abs(ratios[noise] - 1),
        "student_noise": noise,
    }
