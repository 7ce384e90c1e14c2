"""A free constant in the second layer, and by how much it raises the quadratic gain."""

import itertools
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from onegrad.experiments import Points, Results, comparison_of
from onegrad.pictures import Curve, style
from onegrad.problem import Problem
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
    _draw_limit(axes[0, -1], results["limit"])
    for ax, n in zip(axes[0], sizes, strict=False):
        for i, (free, label) in enumerate(_LABELS.items()):
            networks, theory = (
                results[k].where(n=n, intercept=free) for k in ("networks", "uniform")
            )
            style.markers(ax, networks.curve("alpha", "test"), i, f"{label}, networks")
            style.line(ax, theory.curve("alpha", "test"), i, f"{label}, theory")
        ax.set(xlabel="step exponent α", ylabel="test error")
        style.heading(ax, f"n = {n}")
        style.legend(ax, 2)
    return figure


def _draw_limit(ax: Any, points: Points) -> None:
    for i, limit in enumerate(limits(points)):
        label = f"{limit.problem.weights}, {limit.rows_per_input:g} rows per input"
        style.line(ax, limit.ratio, i, label, marker=style.MARKERS[i])
        closed = constant_gain(limit.problem)
        ax.axhline(closed, color=style.SERIES[i], linewidth=0.9, linestyle=":")
    ax.set(xscale="log", xlabel="n (N = d)", ylabel="gain with a constant / without")
    style.legend(ax, 2)


class LimitOfGains(NamedTuple):
    """The ratio of the gains with and without a constant, against n, for one law of W_0 and n/d.

    problem : the first of the points.
    """

    problem: Problem
    ratio: Curve

    @property
    def rows_per_input(self) -> float:
        return 1 / self.problem.phi


def limits(points: Points) -> Iterator[LimitOfGains]:
    """Yield the ratios of the gains by law of W_0 and by rows per input."""
    sizes = points.levels("n")
    for weights, phi in itertools.product(_WEIGHTS, points.levels("phi")):
        chosen = points.where(weights=weights, phi=phi)
        ratios = [(gain_ratio(chosen.where(n=n), BETWEEN), 0.0) for n in sizes]
        yield LimitOfGains(chosen[0].problem, curve_through(sizes, ratios))


def gain_ratio(points: Points, alpha: float) -> float:
    """Return the gain up to alpha with a free constant over that without."""
    without, with_constant = (_gain(points.where(intercept=free), alpha) for free in _LABELS)
    return with_constant / without


def _gain(points: Points, alpha: float) -> float:
    """Return the fall of the predicted test error from START to alpha."""
    exponents = [round(float(np.log(p.problem.step) / np.log(p.problem.n)), 6) for p in points]
    errors = dict(zip(exponents, (p.mean("test") for p in points), strict=True))
    return float(errors[START] - errors[alpha])


checks = comparison_of("networks", "uniform", ("train", "test"))


def facts(results: Results) -> Facts:
    """Return the ratios of the gains: closed forms, the theory at all n, and networks."""
    points, networks = results["limit"], results["networks"]
    ratios = [_ratio(limit) for limit in limits(points)]
    largest = points.levels("n")[-1]
    last = points.where(weights=_WEIGHTS[0], n=largest, phi=max(points.levels("phi")))
    *_, fewest = limits(points)  # weights on the sphere, the fewest rows per input
    return {
        "lowest": min(r["closed"] for r in ratios) - 1,
        "highest": max(r["closed"] for r in ratios) - 1,
        "ratios": ratios,
        "gaussian": [r for r in ratios if r["weights"] == "gaussian"],
        "sphere": [r for r in ratios if r["weights"] == "sphere"],
        "largest": largest,
        "worst_difference": max(abs(r["ratio"] / r["closed"] - 1) for r in ratios),
        "few_rows": fewest.rows_per_input,
        "sphere_trend": trend(
            "n", list(fewest.ratio.x), [Estimate(y, 0.0) for y in fewest.ratio.y]
        ),
        "beyond": BEYOND,
        "ratio_beyond": gain_ratio(last, BEYOND),
        "rows_beyond": 1 / last[0].field("phi"),
        "networks": [
            _measured(networks.where(n=n), results["uniform"].where(n=n))
            for n in networks.levels("n")
        ],
    }


def _ratio(limit: LimitOfGains) -> dict[str, Any]:
    """Return the closed form and the theory's ratio at the largest and the smallest n."""
    return {
        "weights": limit.problem.weights,
        "rows": limit.rows_per_input,
        "nu_squared": float(Scalars.of([limit.problem]).nu_squared[0]),
        "closed": constant_gain(limit.problem),
        "ratio": float(limit.ratio.y[-1]),
        "small": float(limit.ratio.y[0]),
    }


def _measured(points: Points, theory: Points) -> dict[str, Any]:
    """Return the ratio of the falls between two exponents, of networks and of the theory."""
    falls, predicted = [], []
    for free in _LABELS:
        start, end = (points.where(intercept=free, alpha=x)[0] for x in (START, BETWEEN))
        falls.append(start.values["test"] - end.values["test"])
        start, end = (theory.where(intercept=free, alpha=x)[0] for x in (START, BETWEEN))
        predicted.append(start.mean("test") - end.mean("test"))
    return {
        "n": points[0].problem.n,
        "start": START,
        "end": BETWEEN,
        "ratio": paired_ratio(falls[1], falls[0]),
        "theory": predicted[1] / predicted[0],
    }
