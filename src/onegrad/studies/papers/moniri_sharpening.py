"""Moniri et al.: the second stair at growing n, and how much of it is taken at fixed exponents."""

from typing import Any

from onegrad.experiments import Points, Results, comparison_of
from onegrad.pictures import Curve, style
from onegrad.studies.drawing import draw_growing_theory, values_at
from onegrad.studies.findings import Facts

_FIRST_STAIR, _SECOND_STAIR = 0.15, 0.29  # exponents on the first and on the second stair


def draw(results: Results) -> Any:
    """Draw the test error against the exponent, and the share of the second stair against n."""
    figure, ((left, right),) = style.panels(2, width=4.6, height=3.7)
    draw_growing_theory(left, results)
    style.level(left, results["growing"][0].mean("kernel_bound"), "kernel lower bound")
    style.mark_thresholds(left, low=-0.01, high=0.371)
    left.set(xlabel=style.STEP_EXPONENT, ylabel="test error")
    first, second = stair_levels(results)
    for i, alpha in enumerate(results["shares"].levels("alpha")):
        theory, networks = (
            stair_share(results[name].where(alpha=alpha), first, second)
            for name in ("shares", "simulation")
        )
        style.line(right, theory, i, rf"$\alpha$ = {alpha:.2f}")
        style.markers(right, networks, i)
    style.legend_entry(right, "uniform theory")
    right.plot([], [], "o", color="#555555", markerfacecolor="white", label="networks")
    for y in (0, 1):
        right.axhline(y, color="black", linewidth=0.8)
    right.set(xscale="log", xlabel="$n$", ylabel="share of the second stair")
    style.legend(left, 2)
    style.legend(right, 3)
    return figure


def stair_levels(results: Results) -> tuple[float, float]:
    """Return the test error on the first and on the second stair."""
    stairs = results["corrected"].curve("alpha", "test")
    first, second = values_at(stairs, _FIRST_STAIR, _SECOND_STAIR)
    return first, second


def stair_share(points: Points, first: float, second: float) -> Curve:
    """Return the test error against n, from 0 on the first stair to 1 on the second."""
    curve, height = points.curve("n", "test"), first - second
    half = None if curve.band is None else curve.band / height
    return Curve(curve.x, (first - curve.y) / height, curve.se / height, half)


checks = comparison_of({"simulation": "shares"}, ("train", "test"))


def facts(results: Results) -> Facts:
    """Return the share of the second stair at the largest n, by exponent."""
    shares, levels = results["shares"], stair_levels(results)
    return {
        "largest": style.power_of_ten(shares.levels("n")[-1]),
        "shares": [
            {"alpha": alpha, "share": abs(stair_share(shares.where(alpha=alpha), *levels).y[-1])}
            for alpha in shares.levels("alpha")
        ],
    }
