"""Direction and errors under noise of two laws and under wrong labels."""

from typing import Any

from onegrad.experiments import Point, Points, Results, comparison_of
from onegrad.pictures import Curve, style
from onegrad.studies.drawing import curve_through, joined, with_legends
from onegrad.studies.findings import (
    Estimate,
    Facts,
    largest_deviation,
    paired_change,
    power_law,
    trend,
)
from onegrad.theory.direction import direction

_LABELS = {  # by grid of cosines: words, its errors, and their theory where there is one
    "gaussian": ("Gaussian noise", "errors", "theory"),
    "corrupted": ("replaced labels", "errors-corrupted", "theory-corrupted"),
    "student-t": ("Student-t(3) noise", "errors-t", None),
}
_QUOTED_N = 1000  # at which deviations are quoted


def draw(results: Results) -> Any:
    """Draw deviations of the cosine against n, and errors against the disturbance."""
    figure, ((left, right),) = style.panels(2, width=4.6, height=3.8)
    for i, (name, (label, errors, theory)) in enumerate(_LABELS.items()):
        points = results[name].ordered("n")
        percent = [(100 * x.mean, 100 * x.se) for x in map(deviation, points)]
        joined(left, curve_through(points.levels("n"), percent), i, label)
        style.markers(right, by_disturbance(results[errors]), i)
        if theory is not None:
            style.line(right, by_disturbance(results[theory]), i)
    style.level(left, 0.0, "second moment")
    style.legend_entry(right, "uniform theory")
    style.log_axis(left, "x", results["student-t"].levels("n"))
    left.set(xlabel="n", ylabel="deviation of the cosine in %")
    right.set(xlabel="energy of the disturbance / of the labels", ylabel="error on clean labels")
    return with_legends(figure, 2)


def deviation(point: Point) -> Estimate:
    """Return the mean cosine over its prediction by second moments, less 1."""
    measured, predicted = Estimate.of(point.values["cosine"]), direction(point.problem).rho
    return Estimate(measured.mean / predicted - 1, measured.se / predicted, measured.freedom)


def disturbance(point: Point) -> float:
    """Return the energy of noise and wrong labels over that of the labels themselves."""
    p = point.problem
    return p.noise**2 / p.sigma_star.second_moment + 2 * p.corrupted


def by_disturbance(points: Points) -> Curve:
    """Return the error on clean labels against the energy of the disturbance."""
    ordered = sorted(points, key=disturbance)
    values = [(p.mean("risk"), p.se("risk")) for p in ordered]
    return curve_through([disturbance(p) for p in ordered], values)


checks = comparison_of({e: t for _, e, t in _LABELS.values() if t is not None}, ("train", "test"))


def facts(results: Results) -> Facts:
    """Return how well second moments predict the direction, and what heavy tails change."""
    rows = [
        {
            "kind": label,
            "n": p.problem.n,
            "cosine": Estimate.of(p.values["cosine"]),
            "predicted": direction(p.problem).rho,
            "deviation": deviation(p),
        }
        for name, (label, *_) in _LABELS.items()
        for p in results[name].ordered("n")
    ]
    # those at the quoted n first, in the order of the laws
    rows.sort(key=lambda row: row["n"] != _QUOTED_N)
    heavy = results["student-t"].ordered("n")
    sizes, off = heavy.levels("n"), [deviation(p) for p in heavy]
    pairs = zip(*(results[name].ordered("noise") for name in ("errors", "errors-t")), strict=True)
    return {
        "n": _QUOTED_N,
        "light": largest_deviation([row["deviation"] for row in rows[:2]]),
        "heavy_exponent": power_law(sizes, off),
        "heavy_trend": trend(sizes, off),
        "changes": [
            {
                "noise": normal.problem.noise,
                "change": paired_change(t.values["risk"], normal.values["risk"]),
            }
            for normal, t in pairs
        ],
        "rows": rows,
    }
