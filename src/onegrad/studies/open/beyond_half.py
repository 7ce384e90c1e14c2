"""Errors and spectra for step exponents up to one, at several sizes."""

import functools
import math
from typing import Any

import numpy as np

from onegrad.arrays import Floats
from onegrad.experiments import Point, Points, Results, comparison_of
from onegrad.pictures import style
from onegrad.studies.drawing import DISPLAY_NAMES, errors_against, seed_curve
from onegrad.studies.findings import (
    Estimate,
    Facts,
    lowest_point,
    paired_change,
    paired_ratio,
    trend,
)

MAX_OUTLIERS = 8  # the vectors whose alignments `spectrum` returns
RANK_ONE = {"tanh": {1: 2 / math.pi}, "relu": {1: 1.0, 2: 1 / math.pi}}  # He_k in the outliers
_DASHES = (style.SHORT_DASHES, style.LONG_DASHES, style.SOLID)


def draw(results: Results) -> Any:
    """Draw the test errors at all sizes, the rank of the bulk and the alignment of the outliers."""
    figure, axes = style.panels(2, 2, width=4.6, height=3.5)
    grids = networks, _ = results["networks"], results["uniform"]
    sizes, names = networks.levels("n"), networks.distinct("activation")
    for ax, name in zip(axes[0], names, strict=True):
        for i, n in enumerate(sizes):
            errors_against(ax, "alpha", "test", grids, i, f"n = {n}", activation=name, n=n)
        style.legend_entry(ax, "uniform theory")
        ax.set_ylabel("test error")
    for i, name in enumerate(names):
        for j, n in enumerate(sizes):
            points = results["spectrum"].where(activation=name, n=n)
            look = {"linestyle": _DASHES[j - len(sizes)], "linewidth": 0.9}
            curve = seed_curve(points, "alpha", rest_rank)
            style.markers(axes[1, 0], curve, i, f"{name}, {n}", **look)
        for k, rank_one in RANK_ONE[name].items():
            curve = seed_curve(points, "alpha", functools.partial(in_outliers, degree=k))
            look = {"linestyle": "-" if k == 1 else "--", "linewidth": 0.9}
            style.markers(axes[1, 1], curve, i, f"{name}, He{'₁₂'[k - 1]}", **look)
            axes[1, 1].axhline(rank_one, color=style.SERIES[i], linewidth=0.9, linestyle=":")
    axes[1, 0].set_ylabel("effective rank of the rest / N")
    axes[1, 1].set_ylabel("part of He_k in the outliers")
    for ax in axes.flat:
        ax.axvline(0.5, color="#888888", linewidth=0.8, linestyle=":", zorder=0)
        ax.set_xlabel("step exponent α")
    titles = (*(f"{name} networks" for name in names), "features without outliers", "outliers")
    for ax, title in zip(axes.flat, titles, strict=True):
        style.legend(ax, 4 if "networks" in title else 3, title)
    return figure


def outlier_count(point: Point) -> int:
    """Return the position of the largest ratio of neighbouring mean eigenvalues of F F^T/n."""
    top = point.values["F"].mean(0)[: MAX_OUTLIERS + 1]
    return int(np.argmax(top[:-1] / top[1:])) + 1


def rest_rank(point: Point) -> Floats:
    """Return (sum of eigenvalues)^2 / sum of squares over N, without the outliers; one per seed."""
    rest = point.values["F"][:, outlier_count(point) :]
    return rest.sum(1) ** 2 / (rest**2).sum(1) / point.problem.N


def in_outliers(point: Point, degree: int) -> Floats:
    """Return the squared length of He_degree's projection on the outliers' vectors, per seed."""
    return point.values["alignments"][:, : outlier_count(point), degree - 1].sum(1)


checks = comparison_of({"networks": "uniform"}, ("train", "test"))


def facts(results: Results) -> Facts:
    """Return the best exponents, the cost of a larger step, and what the spectra become."""
    networks, activations = results["networks"], []
    for name in networks.distinct("activation"):
        rows = [_row(results, name, n) for n in networks.levels("n")]
        sizes = [row["n"] for row in rows]
        activations.append(
            {
                "activation": name,
                "name": DISPLAY_NAMES.get(name, name),
                "largest": rows[-1],
                "rows": rows,
                "cost_trend": trend(sizes, [row["cost"] for row in rows]),
                "rank_trend": trend(sizes, [row["rank_kept"] for row in rows]),
            }
        )
    test_checks = [c for c in checks(results) if c.quantity == "test"]
    return {
        "activations": activations,
        "beyond": {row["activation"]: row["largest"]["beyond"] for row in activations},
        "rows": [row for of_activation in activations for row in of_activation["rows"]],
        "worst_difference": max(abs(c.difference / c.theory) for c in test_checks),
        "checked": len(test_checks),
    }


def _row(results: Results, name: str, n: int) -> dict[str, Any]:
    points = results["networks"].where(activation=name, n=n)
    half, one = (points.where(alpha=alpha)[0].values["test"] for alpha in (0.5, 1.0))
    best = lowest_point(points, "test", ["alpha"])
    longer, shorter = (
        Points(p for p in points if (p.field("alpha") > 0.5) == side) for side in (True, False)
    )
    beyond = (lowest_point(p, "test", ["alpha"]).values for p in (longer, shorter))
    spectra = results["spectrum"].where(activation=name, n=n).ordered("alpha")
    first, last = spectra[0], spectra[-1]
    return {
        "activation": name,
        "n": n,
        "best": best,
        "beyond": paired_change(*beyond),
        "at_half": Estimate.of(half),
        "at_one": Estimate.of(one),
        "cost": paired_change(one, best.values),
        "outliers": outlier_count(last),
        "rank_kept": paired_ratio(rest_rank(last), rest_rank(first)),
        "he1": Estimate.of(in_outliers(last, 1)),
        "he2": Estimate.of(in_outliers(last, 2)),
    }
