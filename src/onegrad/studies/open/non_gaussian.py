"""Errors and the equivalence theorem for inputs that are not Gaussian, against the size."""

from typing import Any

import numpy as np

from onegrad.experiments import Points, Results
from onegrad.pictures import Curve, style
from onegrad.studies.drawing import relative_difference
from onegrad.studies.findings import Estimate, Facts, PairedEstimate, trend

CLOSE, THEOREM_CLOSE = 0.02, 0.01  # deviations at the largest d that sentences count as small
_MIN_DISTANCE = 1.1  # an eigenvalue this many edges out is counted: the edge itself fluctuates
REAL = {"digits-whitened": "digits, whitened", "digits": "digits"}


def networks(results: Results, model: str = "") -> Points:
    """Return the points of all sizes, of networks or of the features F_l ("-spiked")."""
    return results.joined(f"small{model}", f"large{model}")


def exponents_of(results: Results) -> tuple[float, float]:
    """Return the largest exponent, and the one of the theorem: the largest below three spikes."""
    alphas = networks(results).levels("alpha")
    return max(alphas), max(a for a in alphas if a < 1 / 3)


def with_theorem(results: Results) -> list[str]:
    """Return the laws on which F_l was fitted: not those without a fourth moment."""
    return networks(results, "-spiked").distinct("inputs")


def by_size(results: Results, law: str, alpha: float) -> Curve:
    """Return the change of the error from Gaussian inputs to a law, by d."""
    gaussian, other = (networks(results).where(inputs=x, alpha=alpha) for x in ("gaussian", law))
    return relative_difference(gaussian, other, "d", "test")


def equivalents(results: Results, law: str, alpha: float) -> Curve:
    """Return the change of the error from the network to F_l on inputs of a law, by d."""
    trained, spiked = (networks(results, m).where(inputs=law, alpha=alpha) for m in ("", "-spiked"))
    return relative_difference(trained, spiked, "d", "test")


def real_curves(results: Results) -> dict[str, Curve]:
    """Return the change from Gaussian inputs to real ones against the exponent."""
    gaussian = results["same-sizes"]
    return {
        label: relative_difference(gaussian, results[name], "alpha", "test")
        for name, label in REAL.items()
    }


def draw(results: Results) -> Any:
    """Draw the change by law, the equivalence theorem by law, and real inputs."""
    figure, axes = style.panels(3, width=4.0, height=4.0)
    left, middle, right = axes[0]
    (alpha, theorem), laws = exponents_of(results), networks(results).distinct("inputs")
    sizes = networks(results).levels("d")
    for i, law in enumerate(laws):
        if law != "gaussian":
            curve = by_size(results, law, alpha)
            style.markers(left, curve, i, law, linestyle="-", linewidth=0.8)
        if law in with_theorem(results):
            curve = equivalents(results, law, theorem)
            style.markers(middle, curve, i, law, linestyle="-", linewidth=0.8)
    for i, (label, curve) in enumerate(real_curves(results).items()):
        style.markers(right, curve, i, label, linestyle="-", linewidth=0.8)
    for ax in (left, middle):
        ax.set_xlabel("d")
        style.log_axis(ax, "x", sizes)
    style.heading(left, f"α = {alpha:g}")
    style.heading(middle, f"α = {theorem:g}")
    left.set_ylim(-0.08, 0.2)
    middle.set_ylim(-0.02, 0.06)
    left.set_ylabel("test error / Gaussian inputs − 1")
    middle.set_ylabel("error with F_ℓ / network − 1")
    right.set(xlabel="step exponent α", ylabel="test error / Gaussian inputs − 1")
    for ax in axes[0]:
        ax.axhline(0.0, color="#888888", linewidth=0.8, zorder=0)
        style.legend(ax, 2)
    return figure


def facts(results: Results) -> Facts:
    """Return the changes by law at the largest size, their trends, and those of F_l."""
    (alpha, where), points = exponents_of(results), networks(results)
    laws = [law for law in points.distinct("inputs") if law != "gaussian"]
    sizes = points.levels("d")
    d = sizes[-1]
    rows, slopes = [], []
    for law in laws:
        curve = by_size(results, law, alpha)
        changes = [PairedEstimate.at(curve, i) for i in range(len(sizes))]
        rows.append({"law": law, "first": changes[0], "change": changes[-1]})
        slopes.append({"law": law, "line": trend("d", sizes, changes)})
    real = [
        {"inputs": label, "change": PairedEstimate.at(curve, int(np.argmax(np.abs(curve.y))))}
        for label, curve in real_curves(results).items()
    ]
    close = [row for row in rows if abs(row["change"].mean) < CLOSE]
    met: list[dict[str, Any]] = [
        {"law": law, "change": PairedEstimate.at(equivalents(results, law, where), -1)}
        for law in with_theorem(results)
    ]
    return {
        "alpha": alpha,
        "d": d,
        "first_d": sizes[0],
        "close": close,
        "close_bound": CLOSE,
        "close_first": max((abs(row["first"].mean) for row in close), default=0.0),
        "far": [row for row in rows if row not in close],
        "slopes": slopes,
        "theorem_alpha": where,
        "theorem_bound": THEOREM_CLOSE,
        "theorem_close": [row for row in met if abs(row["change"].mean) < THEOREM_CLOSE],
        "theorem_far": [row for row in met if abs(row["change"].mean) >= THEOREM_CLOSE],
        "real": real,
        "errors": [row for law in ("gaussian", *laws) for row in _rows(results, law, alpha)],
        "outliers": [
            {"law": law, "counts": _outliers(results, law)}
            for law in results["spikes"].distinct("inputs")
        ],
    }


def _rows(results: Results, law: str, alpha: float) -> list[dict[str, Any]]:
    """Return the numbers of a law, one row per size: its errors at alpha, and the theorem's."""
    changes, equivalent = by_size(results, law, alpha), None
    if law in with_theorem(results):
        equivalent = equivalents(results, law, exponents_of(results)[1])
    return [
        {
            "law": law,
            "d": p.problem.d,
            "test": Estimate.of(p.values["test"]),
            "change": PairedEstimate.at(changes, i),
            "equivalent": f"{Estimate.at(equivalent, i):+.1%}" if equivalent else "no fit",
        }
        for i, p in enumerate(networks(results).where(inputs=law, alpha=alpha).ordered("d"))
    ]


def _outliers(results: Results, law: str) -> list[dict[str, Any]]:
    """Return the mean number of eigenvalues beyond the Gaussian theory's edge, by exponent."""
    rows = []
    for point in results["spikes"].where(inputs=law).ordered("alpha"):
        alpha = point.problem.alpha
        edge = results["edge"].where(alpha=alpha)[0].mean("edge")
        counts = (point.values["F"] > _MIN_DISTANCE * edge).sum(-1)
        rows.append({"alpha": alpha, "count": float(counts.mean())})
    return rows
