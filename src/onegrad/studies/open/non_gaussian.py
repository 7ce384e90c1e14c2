"""Errors, the equivalence theorem and outliers for inputs that are not Gaussian."""

from typing import Any

from onegrad.arrays import Floats
from onegrad.experiments import Results
from onegrad.pictures import Curve, style
from onegrad.studies.drawing import curve_through, joined, relative_difference, with_legends
from onegrad.studies.findings import Estimate, Facts, largest_deviation, paired_difference, trend

_HEAVY, _MIXTURE = "student-t(3)", "mixture(2)"  # no fourth moment; no independent entries
_BOUNDED = ("rademacher", "uniform")
_MIN_DISTANCE = 1.1  # an eigenvalue this many edges out is counted: the edge itself fluctuates


def by_size(results: Results, law: str) -> Curve:
    """Return the change of the error from Gaussian inputs to a law at the largest step, by d."""
    points = results["networks"]
    alpha = points.levels("alpha")[-1]
    gaussian, other = (points.where(inputs=x, alpha=alpha) for x in ("gaussian", law))
    return relative_difference(gaussian, other, "d", "test")


def equivalents(results: Results, law: str) -> Curve:
    """Return the change of the error from the network to F_l at the smaller step, by d."""
    grids = results["networks"], results["spiked"]
    alpha = grids[0].levels("alpha")[0]
    trained, spiked = (points.where(inputs=law, alpha=alpha) for points in grids)
    return relative_difference(trained, spiked, "d", "test")


def outliers(results: Results, law: str) -> dict[int, Floats]:
    """Return the number of eigenvalues beyond the edge of the Gaussian theory, per seed, by d."""
    counts = {}
    for point in results["spikes"].where(inputs=law).ordered("d"):
        edge = results["edge"].where(d=point.problem.d)[0].mean("edge")
        counts[point.problem.d] = (point.values["F"] > _MIN_DISTANCE * edge).sum(-1).astype(float)
    return counts


def draw(results: Results) -> Any:
    """Draw the change by law, the equivalence theorem by law, and the outliers."""
    figure, ((left, middle, right),) = style.panels(3, width=4.0, height=3.8)
    points = results["networks"]
    laws, sizes = points.distinct("inputs"), points.levels("d")
    for i, law in enumerate(laws):
        if law not in ("gaussian", _HEAVY):
            joined(left, by_size(results, law), i, law)
        if law != _HEAVY:
            joined(middle, equivalents(results, law), i, law)
            counts = outliers(results, law)
            numbers = [Estimate.of(of_size) for of_size in counts.values()]
            curve = style.dodged(curve_through(list(counts), numbers), 6 * (i - 2))
            style.markers(right, curve, i, law, linestyle="none")
    for ax in (left, middle):
        ax.axhline(0.0, color="#888888", linewidth=0.8, zorder=0)
        style.log_axis(ax, "x", sizes)
    left.set(xlabel="d", ylabel="test error / Gaussian inputs − 1", ylim=(-0.12, 0.32))
    middle.set(xlabel="d", ylabel="error with F_ℓ / network − 1")
    right.set(xlabel="d", ylabel="outliers of the features", ylim=(0, None))
    right.set_xticks(results["spikes"].levels("d"))
    return with_legends(figure, 2)


def facts(results: Results) -> Facts:
    """Return the changes by law, their trends, those of F_l, and the outliers."""
    points = results["networks"]
    alphas, sizes = points.levels("alpha"), points.levels("d")
    laws = [law for law in points.distinct("inputs") if law != "gaussian"]
    changes = {law: Estimate.along(by_size(results, law)) for law in laws}
    light = [law for law in laws if law != _HEAVY]
    theorem = {law: Estimate.along(equivalents(results, law)) for law in ("gaussian", *light)}
    counts = {law: outliers(results, law) for law in ("gaussian", *light)}
    d = max(counts["gaussian"])
    rows = []
    for law in ("gaussian", *laws):
        for i, p in enumerate(points.where(inputs=law, alpha=alphas[-1]).ordered("d")):
            row: dict[str, Any] = {"law": law, "d": p.problem.d}
            row["test"] = Estimate.of(p.values["test"])
            row["change"] = changes[law][i] if law in changes else Estimate(0.0, 0.0)
            row["equivalent"] = theorem[law][i] if law in theorem else None
            of_law = counts.get(law, {})
            row["outliers"] = Estimate.of(of_law[row["d"]]) if row["d"] in of_law else None
            rows.append(row)
    extra = {law: paired_difference(counts[law][d], counts["gaussian"][d]) for law in light}
    slopes = [{"law": law, "line": trend(sizes, changes[law])} for law in laws]
    return {
        "d": sizes[-1],
        "theorem_alpha": alphas[0],
        "bounded": largest_deviation([changes[law][-1] for law in _BOUNDED if law in changes]),
        "theorem": largest_deviation([of_law[-1] for of_law in theorem.values()]),
        "heavy": {"law": _HEAVY, "change": changes[_HEAVY][-1]},
        "mixture": changes[_MIXTURE][-1],
        "mixture_outliers": extra.pop(_MIXTURE),
        "mixture_trend": next(row["line"] for row in slopes if row["law"] == _MIXTURE),
        "outliers": largest_deviation(list(extra.values())),
        "slopes": slopes,
        "errors": rows,
    }
