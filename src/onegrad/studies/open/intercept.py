"""A free constant in the second layer, and by how much it raises the quadratic gain."""

import itertools
from typing import Any

from onegrad.arrays import Floats
from onegrad.experiments import Points, Results, comparison_of
from onegrad.pictures import Curve, style
from onegrad.studies.drawing import curve_through
from onegrad.studies.findings import Estimate, Facts, paired_ratio, trend
from onegrad.theory.asymptotic.scalars import Scalars
from onegrad.theory.asymptotic.staircase import constant_gain

_WEIGHTS = ("gaussian", "sphere")
START = 0.2  # exponent at which the linear spike alone is out
BETWEEN, BEYOND = 0.32, 0.45  # exponents between the thresholds 1/4 and 1/3, and beyond
_LABELS = {False: "no constant", True: "free constant"}


def draw(results: Results) -> Any:
    """Draw the test error against the exponent, one panel per n, and the limit of the gains."""
    sizes = results["networks"].levels("n")
    figure, axes = style.panels(len(sizes) + 1, width=4.0, height=3.8)
    for ax, n in zip(axes[0], sizes, strict=False):
        for i, (free, label) in enumerate(_LABELS.items()):
            networks, theory = (
                results[k].where(n=n, intercept=free) for k in ("networks", "uniform")
            )
            style.markers(ax, networks.curve("alpha", "test"), i, f"{label}, networks")
            style.line(ax, theory.curve("alpha", "test"), i, f"{label}, theory")
        ax.set(xlabel="step exponent α", ylabel="test error")
        style.heading(ax, f"n = {n}")
    limit = axes[0, -1]
    for i, points in enumerate(growing(results)):
        p = points[0].problem
        label = f"{p.weights}, {1 / p.phi:g} rows per input"
        style.line(limit, gain_ratios(points), i, label, marker=style.MARKERS[i])
        limit.axhline(constant_gain(p), color=style.SERIES[i], linewidth=0.9, linestyle=":")
    limit.set(xscale="log", xlabel="n (N = d)", ylabel="gain with a constant / without")
    for ax in axes[0]:
        style.legend(ax, 2)
    return figure


def growing(results: Results) -> list[Points]:
    """Return the predictions at all n, by law of W_0 and by rows per input."""
    points = results["limit"]
    kinds = itertools.product(_WEIGHTS, points.levels("phi"))
    return [points.where(weights=weights, phi=phi) for weights, phi in kinds]


def gain_ratios(points: Points) -> Curve:
    """Return the ratio of the gains between the thresholds against n."""
    sizes = points.levels("n")
    return curve_through(sizes, [(gain_ratio(points.where(n=n), BETWEEN), 0.0) for n in sizes])


def gain_ratio(points: Points, alpha: float) -> float:
    """Return the predicted gain up to alpha with a free constant over that without."""
    without, free = gains(points, alpha)
    return float(free / without)


def gains(points: Points, alpha: float) -> list[Floats]:
    """Return the falls of the test error from START to alpha, without and with a constant."""
    return [
        points.where(intercept=free, alpha=START)[0].values["test"]
        - points.where(intercept=free, alpha=alpha)[0].values["test"]
        for free in _LABELS
    ]


checks = comparison_of("networks", "uniform", ("train", "test"))


def facts(results: Results) -> Facts:
    """Return the ratios of the gains: closed forms, the theory at all n, and networks."""
    points, networks = results["limit"], results["networks"]
    ratios = [_ratio(of_kind) for of_kind in growing(results)]
    largest = points.levels("n")[-1]
    last = points.where(weights=_WEIGHTS[0], n=largest, phi=max(points.levels("phi")))
    fewest = growing(results)[-1]  # weights on the sphere, the fewest rows per input: the slowest
    approach = gain_ratios(fewest)
    return {
        "lowest": min(r["closed"] for r in ratios) - 1,
        "highest": max(r["closed"] for r in ratios) - 1,
        "ratios": ratios,
        "gaussian": [r for r in ratios if r["weights"] == "gaussian"],
        "sphere": [r for r in ratios if r["weights"] == "sphere"],
        "largest": largest,
        "worst_difference": max(abs(r["ratio"] / r["closed"] - 1) for r in ratios),
        "few_rows": 1 / fewest[0].problem.phi,
        "sphere_trend": trend("n", list(approach.x), [Estimate(y, 0.0) for y in approach.y]),
        "beyond": BEYOND,
        "ratio_beyond": gain_ratio(last, BEYOND),
        "rows_beyond": 1 / last[0].problem.phi,
        "networks": [
            {
                "n": n,
                "start": START,
                "end": BETWEEN,
                "ratio": paired_ratio(*gains(networks.where(n=n), BETWEEN)[::-1]),
                "theory": gain_ratio(results["uniform"].where(n=n), BETWEEN),
            }
            for n in networks.levels("n")
        ],
    }


def _ratio(points: Points) -> dict[str, Any]:
    """Return the closed form and the theory's ratio at the largest and the smallest n."""
    problem, ratios = points[0].problem, gain_ratios(points).y
    return {
        "weights": problem.weights,
        "rows": 1 / problem.phi,
        "nu_squared": float(Scalars.of([problem]).nu_squared[0]),
        "closed": constant_gain(problem),
        "ratio": float(ratios[-1]),
        "small": float(ratios[0]),
    }
