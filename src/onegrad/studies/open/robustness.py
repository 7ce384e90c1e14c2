"""Direction and errors under noise of two laws and under wrong labels."""

from typing import Any

from onegrad.experiments import Check, Point, Points, Results, check, compare_results
from onegrad.pictures import Curve, style
from onegrad.studies.drawing import curve_through
from onegrad.studies.findings import Estimate, Facts, paired_change
from onegrad.theory.direction import direction

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
        style.markers(right, by_disturbance(points, "risk"), i, label)
        predicted = [(direction(p.problem).rho, 0.0) for p in points]
        style.line(left, curve_through([disturbance(p) for p in points], predicted), i)
        if f"{name}-theory" in results:
            theory = by_disturbance(results[f"{name}-theory"], "risk")
            style.line(right, theory, i)
    for ax, label in ((left, "cosine"), (right, "error on clean labels")):
        ax.set(xlabel="energy of the disturbance / energy of the labels", ylabel=label)
        style.legend_entry(ax, "theory")
        style.legend(ax, 2)
    return figure


def disturbance(point: Point) -> float:
    """Return the energy of noise and wrong labels over that of the labels themselves."""
    p = point.problem
    return p.noise**2 / p.sigma_star.second_moment + 2 * p.corrupted


def by_disturbance(points: Points, quantity: str) -> Curve:
    """Return a quantity against the energy of the disturbance."""
    ordered = sorted(points, key=disturbance)
    values = [(p.mean(quantity), p.se(quantity)) for p in ordered]
    return curve_through([disturbance(p) for p in ordered], values)


def checks(results: Results) -> list[Check]:
    """Compare the cosines with second moments, and the errors with theory where there is one."""
    rows = []
    for name in _LABELS:
        rows += cosine_checks(results[name])
        if f"{name}-theory" in results:
            rows += compare_results(results[name], results[f"{name}-theory"], ("train", "test"))
    return rows


def cosine_checks(points: Points) -> list[Check]:
    """Compare the learned cosine with its prediction by second moments, a limit in d."""
    rows = []
    for p in points:
        accuracy = 2 / p.problem.d  # the order of what a limit in second moments leaves out
        values, claim = p.values["overlap"], "second moment"
        rows.append(check("overlap", p.problem, values, direction(p.problem).rho, claim, accuracy))
    return rows


def facts(results: Results) -> Facts:
    """Return how well second moments predict the direction, and what heavy tails change."""
    held = [c.holds for name in _LABELS for c in cosine_checks(results[name])]
    rows = [_row(name, point) for name in _LABELS for point in results[name]]
    worst = {
        label: max((r for r in rows if r["kind"] == label), key=lambda r: abs(r["deviation"].mean))
        for label in _LABELS.values()
    }
    problem = results["gaussian"][0].problem
    changes: list[dict[str, Any]] = []
    for p in results["student-t"].ordered("noise"):
        gaussian = results["gaussian"].where(noise=p.problem.noise)[0]
        change = paired_change(p.values["risk"], gaussian.values["risk"])
        changes.append({"noise": p.problem.noise, "change": change})
    return {
        "n": problem.n,
        "seeds": results["gaussian"][0].seeds,
        "holding": sum(held),
        "points": len(held),
        "allowed": 2 / problem.d,
        "light": max(abs(w["deviation"].mean) for name, w in worst.items() if "t(3)" not in name),
        "heavy": abs(worst[_LABELS["student-t"]]["deviation"].mean),
        "worst_by_kind": list(worst.values()),
        "largest_change": max(changes, key=lambda row: abs(row["change"].mean)),
        "changes": changes,
        "rows": rows,
    }


def _row(name: str, point: Point) -> dict[str, Any]:
    predicted, measured = direction(point.problem).rho, Estimate.of(point.values["overlap"])
    return {
        "kind": _LABELS[name],
        "size": point.problem.corrupted if name == "corrupted" else point.problem.noise,
        "cosine": measured,
        "predicted": predicted,
        "deviation": Estimate(measured.mean / predicted - 1, measured.se / predicted),
        "risk": Estimate.of(point.values["risk"]),
    }
