"""Direction and errors under noise of two laws and under wrong labels."""

from __future__ import annotations

import numpy as np

from onegrad.experiments.checks import Check, check, compare, outlier_accuracy
from onegrad.experiments.results import Curve, Point, Points, Results
from onegrad.studies.drawing import Drawing, style

LABELS = {"gaussian": "Gaussian noise", "student-t": "Student-t(3) noise",
          "corrupted": "replaced labels"}  # fmt: skip


def draw(results: Results) -> Drawing:
    figure, axes = style.panels(2, width=4.6, height=4.0)
    checks = []
    for i, (name, label) in enumerate(LABELS.items()):
        points = results[name]
        style.markers(axes[0, 0], along(points, "overlap"), i, label)
        style.markers(axes[0, 1], along(points, "test"), i, label)
        x = np.array([disturbance(p) for p in points])
        line = Curve(x, np.array([cosine(p) for p in points]), 0 * x)
        style.line(axes[0, 0], line, i)
        checks += [
            check("overlap", p.problem, p.values["overlap"], cosine(p), "second moment",
                  outlier_accuracy(p.problem)) for p in points
        ]  # fmt: skip
        if f"{name}-theory" in results:
            theory = results[f"{name}-theory"]
            style.line(axes[0, 1], along(theory, "test"), i)
            checks += compare(points, theory, ("train", "test"))
    axes[0, 0].set(xlabel="energy of the disturbance / energy of the labels", ylabel="cosine")
    axes[0, 1].set(xlabel="energy of the disturbance / energy of the labels", ylabel="test error")
    for ax in axes[0]:
        style.legend_entry(ax, "theory")
        style.legend(ax, 2)
    return Drawing(figure, checks, (), finding(results, checks))


def disturbance(point: Point) -> float:
    """What is added to the labels, over their own energy."""
    p = point.problem
    return p.noise**2 / p.sigma_star.second_moment + 2 * p.corrupted


def cosine(point: Point) -> float:
    r"""Of the learned direction, by second moments: c/sqrt(c^2 + phi E r^2), c = (1 - q) c_1."""
    p = point.problem
    c = (1 - p.corrupted) * float(p.sigma_star.c[1])
    energy = p.sigma_star.second_moment + p.noise**2
    return float(abs(c) / np.sqrt(c * c + p.phi_step * energy))


def along(points: Points, quantity: str) -> Curve:
    order = sorted(points, key=disturbance)
    return Curve(
        np.array([disturbance(p) for p in order]),
        np.array([p.mean(quantity) for p in order]),
        np.array([p.se(quantity) for p in order]),
    )


def finding(results: Results, checks: list[Check]) -> str:
    cosines = [c.holds for c in checks if c.quantity == "overlap"]
    deviations = {
        name: max(abs(p.mean("overlap") / cosine(p) - 1) for p in results[name]) for name in LABELS
    }
    gauss = {p.problem.noise: p for p in results["gaussian"]}
    ratio = [
        (p.mean("test") / gauss[p.problem.noise].mean("test"), p.problem.noise)
        for p in results["student-t"]
    ]
    most, noise = max(ratio, key=lambda r: abs(r[0] - 1))
    return (
        "The second moment of the disturbance alone predicts the learned direction at "
        f"{sum(cosines)} of {len(cosines)} points (three standard errors beyond 1/√n): the mean "
        f"cosine is within {deviations['gaussian']:.1%} of it for Gaussian noise, "
        f"{deviations['student-t']:.1%} for Student-t(3), {deviations['corrupted']:.1%} for "
        f"replaced labels; the test error with Student-t noise is at most {abs(most - 1):.1%} from "
        f"that with Gaussian noise of the same variance (at noise {noise:g})."
    )
