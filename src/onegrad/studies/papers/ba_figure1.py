"""Ba et al., Figure 1: untrained, after a small step, after a large step."""

from __future__ import annotations

from typing import Any

import numpy as np

from onegrad.experiments.checks import Check, compare_results
from onegrad.experiments.results import Points, Results
from onegrad.pictures import style


def draw(results: Results) -> Any:
    """Draw the risk against n/d for the three step sizes."""
    figure, ((ax,),) = style.panels(1, width=6.4, height=4.2)
    simulated, uniform = results["simulation"], results["uniform"]
    labels = step_labels(simulated)
    for i, (eta, label) in enumerate(labels.items()):
        style.line(ax, uniform.where(eta=eta).ratio("n", "risk"), i)
        style.markers(ax, simulated.where(eta=eta).ratio("n", "risk"), i, label)
        small = results["small-step"].where(eta=eta)
        if len(small):
            style.line(ax, small.ratio("n", "risk"), i, dash=style.DASH_DOTS)
    last = uniform.where(eta=max(labels)).ratio("n", "risk")
    x = np.geomspace(1, last.x[-1], 9)
    ax.plot(x, last.y[-1] * last.x[-1] / x, ":", color=style.BLACK, label="rate d/n")
    bound = uniform[0].mean("linear") - uniform[0].problem.noise ** 2
    style.level(ax, bound, "best linear = kernel bound")
    style.legend_entry(ax, "uniform theory")
    style.legend_entry(ax, "R₀ − δ, n → ∞", style.DASH_DOTS)
    style.log_axis(ax, "x", (0.5, 1, 2, 4, 8))
    style.log_axis(ax, "y", (0.01, 0.02, 0.05, 0.1, 0.2, 0.5))
    ax.set(xlabel="sample size n/d", ylabel="prediction risk")
    style.legend(ax, 4)
    return figure


def checks(results: Results) -> list[Check]:
    """Compare the risks that are drawn with the uniform theory."""
    labels = step_labels(results["simulation"])
    drawn = Points([p for p in results["simulation"] if p.problem.step in labels])
    return compare_results(drawn, results["uniform"], ("risk",))


def step_labels(simulated: Points) -> dict[float, str]:
    """Return the labels of the step sizes that are drawn."""
    return {0.0: "untrained", 1.0: "η = 1", simulated.levels("eta")[-1]: "η = √N"}
