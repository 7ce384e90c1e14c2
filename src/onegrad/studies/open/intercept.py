"""Whether a free constant raises the quadratic gain by half."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from onegrad.arrays import standard_error
from onegrad.experiments.checks import compare
from onegrad.experiments.results import Curve, Points, Results
from onegrad.studies.drawing import Drawing, style

WEIGHTS = ("gaussian", "sphere")
BETWEEN, BEYOND = 0.32, 0.45  # exponents between the thresholds 1/4 and 1/3, and beyond
LABELS = {False: "no constant", True: "free constant"}


def draw(results: Results) -> Drawing:
    sizes = results["networks"].levels("n")
    figure, axes = style.panels(len(sizes) + 1, width=4.0, height=3.8)
    lines = [limit(axes[0, -1], results["limit"])]
    for ax, n in zip(axes[0], sizes, strict=False):
        gains = []
        for i, (free, label) in enumerate(LABELS.items()):
            networks, theory = (
                results[k].where(n=n, intercept=free) for k in ("networks", "uniform")
            )
            curve = networks.curve("alpha", "test")
            style.markers(ax, curve, i, f"{label}, networks")
            style.line(ax, theory.curve("alpha", "test"), i, f"{label}, theory")
            gains.append(fall(networks))
        ax.set(xlabel="step exponent α", ylabel="test error")
        style.heading(ax, f"n = {n}")
        style.legend(ax, 2)
        (without, se0, start), (with_, se1, _) = gains
        ratio = with_ / without
        se = ratio * np.hypot(se0 / without, se1 / with_)
        lines.append(
            f"Networks at n = {n}: from α = {start:.2g} to ½ the test error falls by "
            f"{without:.3f} ± {se0:.3f} without and {with_:.3f} ± {se1:.3f} with a free "
            f"constant, a ratio of {ratio:.2f} ± {se:.2f}."
        )
    checks = compare(results["networks"], results["uniform"], ("train", "test"))
    return Drawing(figure, checks, (), " ".join(lines))


def fall(points: Points) -> tuple[float, float, float]:
    """Fall of the test error of the same networks up to the largest step: mean, error, from where.

    From the exponent nearest to 0.2, where the linear spike alone is out.
    """
    ordered = points.ordered("alpha")
    start = min(ordered, key=lambda p: abs(p.field("alpha") - 0.2))
    values = start.values["test"] - ordered[-1].values["test"]
    return float(values.mean()), float(standard_error(values)), float(start.field("alpha"))


def limit(ax: Any, points: Points) -> str:
    """How the gain with a constant compares with that without, as n grows; what it tends to."""
    sizes = points.levels("n")
    last: dict[str, float] = {}
    for i, (weights, phi) in enumerate(itertools.product(WEIGHTS, points.levels("phi"))):
        at = points.where(weights=weights, phi=phi)
        ratio = np.array([growth(at.where(n=n), BETWEEN) for n in sizes])
        label = f"{weights}, {1 / phi:g} rows an input"
        curve = Curve(np.array(sizes, dtype=float), ratio, np.zeros(len(sizes)))
        style.line(ax, curve, i, label, marker=style.MARKERS[i])
        last[label] = float(ratio[-1])
    style.level(ax, 1.5, "3/2")
    ax.set(xscale="log", xlabel="n (N = d)", ylabel="gain with a constant / without")
    style.legend(ax, 2)
    told = "; ".join(f"{value:.2f} ({label})" for label, value in last.items())
    largest = points.where(weights=WEIGHTS[0], n=sizes[-1], phi=max(points.levels("phi")))
    return (
        f"A free constant raises the quadratic gain by {min(last.values()) - 1:.0%} to "
        f"{max(last.values()) - 1:.0%} (half by energies alone): in the theory at n = "
        f"{sizes[-1]:.0e}, N = d, from α = 0.2 to {BETWEEN}, by the factor {told}, for Gaussian "
        "rows of W₀ and rows on the sphere. Beyond ⅓, where further even spikes bring a constant "
        f"of their own, it is {growth(largest, BEYOND):.2f} (α = {BEYOND}, {WEIGHTS[0]}, "
        f"{1 / largest[0].field('phi'):g} rows an input)."
    )


def growth(points: Points, alpha: float) -> float:
    """The gain up to alpha with a free constant over that without."""
    without, with_ = (gain(points.where(intercept=free), alpha) for free in LABELS)
    return with_ / without


def gain(points: Points, alpha: float) -> float:
    """Fall of the test error from alpha = 0.2, where the linear spike alone is out."""
    exponents = [round(float(np.log(p.problem.step) / np.log(p.problem.n)), 6) for p in points]
    at = dict(zip(exponents, (p.mean("test") for p in points), strict=True))
    return float(at[0.2] - at[alpha])
