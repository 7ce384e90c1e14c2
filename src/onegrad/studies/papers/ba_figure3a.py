"""Ba et al., Figures 1, 3(a), 3(b): risk against sample size or width, and what a step gains."""

from dataclasses import replace
from typing import Any

from onegrad.experiments import Points, Results, compare_results, comparison_of
from onegrad.pictures import Curve, style
from onegrad.studies.drawing import errors_against, kernel_bound, relative_difference, with_legends
from onegrad.studies.findings import Estimate, Facts, of_point, smallest, unpaired_difference

_AXES = {"n": "sample size $n/d$", "N": "width $N/d$"}


def draw(results: Results) -> Any:
    """Draw the risk, and its gain over the untrained network, against the size that varies."""
    figure, ((left, right),) = style.panels(2, width=4.7, height=4.0)
    grids = simulated, uniform = results["simulation"], results["uniform"]
    size, small = varied(simulated), small_steps(results)
    for i, eta in enumerate(dict.fromkeys((0.0, small[0], simulated.levels("eta")[-1]))):
        errors_against(left, f"{size}/d", "risk", grids, i, rf"$\eta$ = {eta:g}", eta=eta)
    for i, eta in enumerate(small, start=1):
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
    for ax in (left, right):
        style.log_axis(ax, "x")
    return with_legends(figure, 3)


def varied(simulated: Points) -> str:
    """Return which of n and N varies."""
    return "n" if len(simulated.levels("n")) > 1 else "N"


def small_steps(results: Results) -> list[float]:
    """Return the steps of order one, for which there is Theorem 5."""
    return [eta for eta in results["small-step"].levels("eta") if eta > 0]


def relative_gain(points: Points, eta: float, size: str) -> Curve:
    """Return 100 (1 - R/R_0), R_0 at step 0 on the same seeds: what a seed does to both cancels."""
    untrained, trained = (points.where(eta=step) for step in (0, eta))
    change = relative_difference(untrained, trained, f"{size}/d", "risk")
    return replace(change, y=-100 * change.y, se=100 * change.se)


checks = comparison_of({"simulation": "uniform"}, ("risk",))


def facts(results: Results) -> Facts:
    """Return what steps gain, where the kernel bound is passed, and how far Theorem 5 is off."""
    limit = compare_results(results["simulation"], results["small-step"], ("risk",), "small step")
    differences = (abs(c.difference / c.simulated) for c in limit)
    simulated, bound = results["simulation"], kernel_bound(results["uniform"])
    size, eta = varied(simulated), small_steps(results)[-1]
    gain = relative_gain(simulated, eta, size)
    gains = Estimate.along(gain)
    above = [of_point(p, "risk").shifted(-bound) for p in simulated if p.problem.step]
    most = simulated.where(eta=simulated.levels("eta")[-1]).ordered(size)[-1]
    return {
        "theorem5_difference": max(differences, default=float("nan")),
        "above_bound": smallest(above),
        "beyond": Estimate(bound - most.mean("risk"), most.se("risk"), most.seeds - 1),
        "gain": smallest(gains),
        "fading": unpaired_difference(gains[0], gains[-1]),
        "first": gains[0],
        "last": gains[-1],
        "eta": eta,
        "ratios": [gain.x[0], gain.x[-1]],
    }
