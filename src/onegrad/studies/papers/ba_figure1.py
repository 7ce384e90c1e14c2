"""Ba et al., Figure 1: untrained, after a small step, after a large step."""

from typing import Any

import numpy as np

from onegrad.experiments import Check, Points, Results, compare_results
from onegrad.pictures import style
from onegrad.studies.drawing import errors_against, kernel_bound
from onegrad.studies.findings import Estimate, Facts
from onegrad.studies.papers.ba_figure3a import relative_gain


def draw(results: Results) -> Any:
    """Draw the risk against n/d for three step sizes, and what the small step gains."""
    figure, ((left, right),) = style.panels(2, width=4.8, height=4.0)
    grids = simulated, uniform = results["simulation"], results["uniform"]
    labels = step_labels(simulated)
    for i, (eta, label) in enumerate(labels.items()):
        errors_against(left, "n/d", "risk", grids, i, label, eta=eta)
    last = uniform.where(eta=max(labels)).curve("n/d", "risk")
    x = np.geomspace(1, last.x[-1], 9)
    left.plot(x, last.y[-1] * last.x[-1] / x, ":", color=style.BLACK, label="rate $d/n$")
    style.level(left, kernel_bound(uniform), "best linear = kernel bound")
    style.legend_entry(left, "uniform theory")
    style.log_axis(left, "y")
    left.set(xlabel="sample size $n/d$", ylabel="prediction risk")
    style.markers(right, relative_gain(simulated, 1.0, "n"), 1, r"$\eta$ = 1, paired")
    style.line(right, relative_gain(uniform, 1.0, "n"), 1, "uniform theory")
    limit = relative_gain(results["small-step"], 1.0, "n")
    style.line(right, limit, 1, r"Theorem 5, $n\to\infty$", dash=style.DASH_DOTS)
    right.axhline(0, color="black", linewidth=0.8)
    right.set(xlabel="sample size $n/d$", ylabel="gain over the untrained network, %")
    for ax in (left, right):
        style.log_axis(ax, "x", (0.5, 1, 2, 4, 8, 16))
        style.legend(ax, 2)
    return figure


def checks(results: Results) -> list[Check]:
    """Compare the risks that are drawn with the uniform theory."""
    labels = step_labels(results["simulation"])
    drawn = Points(p for p in results["simulation"] if p.problem.step in labels)
    return compare_results(drawn, results["uniform"], ("risk",))


def facts(results: Results) -> Facts:
    """Return at which sample sizes networks with the large step are below the kernel bound."""
    simulated = results["simulation"]
    large = simulated.where(eta=max(step_labels(simulated))).curve("n/d", "risk")
    bound, small = kernel_bound(results["uniform"]), relative_gain(simulated, 1.0, "n")
    return {
        "bound": bound,
        "below": [f"{x:g}" for x in large.x[large.y + 2 * large.se < bound]],
        "ratio": large.x[-1],
        "beyond": Estimate(bound - large.y[-1], large.se[-1]),
        "gain": Estimate.at(small, -1),
    }


def step_labels(simulated: Points) -> dict[float, str]:
    """Return the labels of the step sizes that are drawn."""
    largest = simulated.levels("eta")[-1]
    return {0.0: "untrained", 1.0: r"$\eta$ = 1", largest: r"$\eta$ = √N"}
