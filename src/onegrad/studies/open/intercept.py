"""A free constant in the second layer, and by how much it raises the quadratic gain."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from onegrad.experiments.checks import Check, compare_results
from onegrad.experiments.results import Points, Results
from onegrad.pictures import Curve, style
from onegrad.studies.text import Estimate, Facts

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
    for i, (weights, rows, curve) in enumerate(limits(points)):
        label = f"{weights}, {rows:g} rows per input"
        style.line(ax, curve, i, label, marker=style.MARKERS[i])
    style.level(ax, 1.5, "3/2")
    ax.set(xscale="log", xlabel="n (N = d)", ylabel="gain with a constant / without")
    style.legend(ax, 2)


def limits(points: Points) -> Iterator[tuple[str, float, Curve]]:
    """Yield weights, rows per input, and the ratio of the gains against n."""
    sizes = points.levels("n")
    for weights, phi in itertools.product(_WEIGHTS, points.levels("phi")):
        chosen = points.where(weights=weights, phi=phi)
        ratio = np.array([gain_ratio(chosen.where(n=n), BETWEEN) for n in sizes])
        curve = Curve(np.array(sizes, dtype=float), ratio, np.zeros(len(sizes)))
        yield weights, 1 / phi, curve


def gain_ratio(points: Points, alpha: float) -> float:
    """Return the gain up to alpha with a free constant over that without."""
    without, with_constant = (_gain(points.where(intercept=free), alpha) for free in _LABELS)
    return with_constant / without


def _gain(points: Points, alpha: float) -> float:
    """Return the fall of the predicted test error from START to alpha."""
    exponents = [round(float(np.log(p.problem.step) / np.log(p.problem.n)), 6) for p in points]
    errors = dict(zip(exponents, (p.mean("test") for p in points), strict=True))
    return float(errors[START] - errors[alpha])


def checks(results: Results) -> list[Check]:
    """Compare both errors with the uniform theory."""
    return compare_results(results["networks"], results["uniform"], ("train", "test"))


def facts(results: Results) -> Facts:
    """Return the ratios of the gains, of theory at the largest n and of networks at each n."""
    points, networks = results["limit"], results["networks"]
    largest = points.levels("n")[-1]
    last = points.where(weights=_WEIGHTS[0], n=largest, phi=max(points.levels("phi")))
    ratios: list[dict[str, Any]] = [
        {"weights": weights, "rows": rows, "ratio": float(curve.y[-1])}
        for weights, rows, curve in limits(points)
    ]
    return {
        "lowest": min(r["ratio"] for r in ratios) - 1,
        "highest": max(r["ratio"] for r in ratios) - 1,
        "largest": largest,
        "between": BETWEEN,
        "ratios": ratios,
        "beyond": BEYOND,
        "ratio_beyond": gain_ratio(last, BEYOND),
        "weights_beyond": _WEIGHTS[0],
        "rows_beyond": 1 / last[0].field("phi"),
        "networks": [_measured(networks.where(n=n)) for n in networks.levels("n")],
    }


def _measured(points: Points) -> dict[str, Any]:
    """Return the fall of the networks' test error without and with a constant, and their ratio."""
    falls = []
    for free in _LABELS:
        ordered = points.where(intercept=free).ordered("alpha")
        start = min(ordered, key=lambda p: abs(p.field("alpha") - START))
        falls.append(start.values["test"] - ordered[-1].values["test"])
    a, b = map(Estimate.of, falls)
    ratio = b.mean / a.mean
    return {
        "n": points[0].problem.n,
        "start": float(start.field("alpha")),
        "without": a,
        "with_constant": b,
        "ratio": Estimate(ratio, ratio * np.hypot(a.se / a.mean, b.se / b.mean)),
    }
