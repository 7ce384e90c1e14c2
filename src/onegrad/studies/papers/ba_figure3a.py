"""Ba et al., Figures 3(a) and 3(b): risk against sample size or width, for steps of order one."""

from typing import Any

import numpy as np

from onegrad.experiments import Points, Results, compare_results, comparison_of
from onegrad.pictures import Curve, style
from onegrad.studies.drawing import errors_against, kernel_bound, relative_difference
from onegrad.studies.findings import Estimate, Facts, smallest

_AXES = {"n": "sample size $n/d$", "N": "width $N/d$"}


def draw(results: Results) -> Any:
    """Draw the risk, and its gain over the untrained network, against the size that varies."""
    figure, ((left, right),) = style.panels(2, width=4.7, height=4.0)
    grids = simulated, uniform = results["simulation"], results["uniform"]
    size = "n" if len(simulated.levels("n")) > 1 else "N"
    etas = simulated.levels("eta")
    for i, eta in enumerate(etas):
        if eta in (etas[0], etas[-1]):  # those between lie between
            errors_against(left, f"{size}/d", "risk", grids, i, rf"$\eta$ = {eta:g}", eta=eta)
        if eta > 0:
            for name, dash in (("uniform", style.SOLID), ("small-step", style.DASH_DOTS)):
                style.line(right, relative_gain(results[name], eta, size), i, dash=dash)
            curve = relative_gain(simulated, eta, size)
            style.markers(right, curve, i, rf"$\eta$ = {eta:g}, paired")
    style.level(left, kernel_bound(uniform), "kernel lower bound")
    style.legend_entry(left, "uniform theory")
    style.legend_entry(right, "uniform theory")
    style.legend_entry(right, r"Theorem 5, $n\to\infty$", style.DASH_DOTS)
    right.axhline(0, color="black", linewidth=0.8)
    left.set(xlabel=_AXES[size], ylabel="prediction risk")
    right.set(xlabel=_AXES[size], ylabel="gain over the untrained network, %")
    style.log_axis(left, "y")
    style.legend(left, 3)
    style.legend(right, 3)
    return figure


def relative_gain(points: Points, eta: float, size: str) -> Curve:
    """Return 100 (1 - R/R_0), R_0 at step 0 on the same seeds: what a seed does to both cancels."""
    untrained, trained = (points.where(eta=step) for step in (0, eta))
    change = relative_difference(untrained, trained, f"{size}/d", "risk")
    return Curve(change.x, -100 * change.y, 100 * change.se)


checks = comparison_of({"simulation": "uniform"}, ("risk",))


def facts(results: Results) -> Facts:
    """Return how far the limit of Theorem 5 is from the networks at these sizes."""
    limit = compare_results(results["simulation"], results["small-step"], ("risk",), "small step")
    differences = (abs(c.difference / c.simulated) for c in limit)
    simulated, bound = results["simulation"], kernel_bound(results["uniform"])
    size = "n" if len(simulated.levels("n")) > 1 else "N"
    gain = relative_gain(simulated, simulated.levels("eta")[-1], size)
    above = [Estimate(p.mean("risk") - bound, p.se("risk")) for p in simulated if p.problem.step]
    return {
        "theorem5_difference": max(differences, default=float("nan")),
        "above_bound": smallest(above),
        "gain": smallest([Estimate.at(gain, i) for i in range(len(gain.x))]),
        "fading": Estimate(gain.y[0] - gain.y[-1], float(np.hypot(gain.se[0], gain.se[-1]))),
        "first": Estimate.at(gain, 0),
        "last": Estimate.at(gain, -1),
        "eta": simulated.levels("eta")[-1],
        "ratios": [gain.x[0], gain.x[-1]],
    }
