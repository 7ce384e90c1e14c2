"""Ba et al., Figure 3(a): risk against sample size for steps of order one."""

from __future__ import annotations

import numpy as np

from onegrad.arrays import standard_error
from onegrad.experiments.checks import compare
from onegrad.experiments.results import Curve, Points, Results
from onegrad.studies.drawing import Drawing, style


def draw(results: Results) -> Drawing:
    return risk_along("n", results, "sample size n/d")


def risk_along(size: str, results: Results, label: str) -> Drawing:
    """Risk, and its relative gain over the untrained network, against n/d or N/d."""
    figure, ((left, right),) = style.panels(2, width=4.7, height=4.0)
    simulated = results["simulation"]
    for i, eta in enumerate(simulated.levels("eta")):
        for name, dash in (("uniform", style.SOLID), ("small-step", style.DASH_DOTS)):
            points = results[name]
            if not eta or name == "uniform":
                style.line(left, points.where(eta=eta).ratio(size, "risk"), i, dash=dash)
            if eta > 0:
                style.line(right, gain(points, eta, size), i, dash=dash)
        style.markers(left, simulated.where(eta=eta).ratio(size, "risk"), i, f"η = {eta:g}")
        if eta > 0:
            style.markers(right, gain(simulated, eta, size), i, f"η = {eta:g}, paired")
    bound = results["uniform"][0]
    style.level(left, bound.mean("kernel_bound") - bound.problem.noise**2, "kernel lower bound")
    style.legend_entry(left, "uniform theory")
    style.legend_entry(right, "uniform theory")
    style.legend_entry(right, "Theorem 5, n → ∞", style.DASH_DOTS)
    right.axhline(0, color="black", linewidth=0.8)
    left.set(xlabel=label, ylabel="prediction risk")
    right.set(xlabel=label, ylabel="gain over the untrained network, %")
    style.log_axis(left, "y", (0.02, 0.05, 0.1, 0.2, 0.5, 1))
    style.legend(left, 3)
    style.legend(right, 3)
    checks = compare(simulated, results["uniform"], ("risk",))
    return Drawing(figure, checks, asymptotic_note(results))


def gain(points: Points, eta: float, size: str) -> Curve:
    """100 (1 - R/R_0), R_0 at step 0 on the same seeds: what a seed does to both cancels."""
    x, y, se = [], [], []
    for p in points.where(eta=eta).ordered(size):
        start = points.where(eta=0, n=p.problem.n, N=p.problem.N)[0]
        before, after = (np.atleast_1d(q.values["risk"]) for q in (start, p))
        ratio = after.mean() / before.mean()
        x.append(p.field(size) / p.problem.d)
        y.append(100 * (1 - ratio))
        se.append(100 * standard_error(after - ratio * before) / before.mean() if p.seeded else 0)
    return Curve(np.array(x), np.array(y), np.array(se))


def asymptotic_note(results: Results) -> list[str]:
    """How far the asymptotic curve is at these sizes."""
    checks = compare(results["simulation"], results["small-step"], ("risk",), "small step")
    off = max((abs(c.difference / c.simulated) for c in checks), default=float("nan"))
    return [f"Largest difference of Theorem 5 (n → ∞) from the networks at these sizes: {off:.1%}."]
