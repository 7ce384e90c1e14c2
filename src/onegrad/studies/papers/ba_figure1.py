"""Ba et al., Figure 1: untrained, after a small step, after a large step."""

from __future__ import annotations

import numpy as np

from onegrad.experiments.checks import compare
from onegrad.experiments.results import Points, Results
from onegrad.studies.drawing import Drawing, style


def draw(results: Results) -> Drawing:
    figure, ((ax,),) = style.panels(1, width=6.4, height=4.2)
    simulated, uniform = results["simulation"], results["uniform"]
    largest = simulated.levels("eta")[-1]
    shown = {0.0: "untrained", 1.0: "η = 1", largest: "η = √N"}
    for i, (eta, label) in enumerate(shown.items()):
        style.line(ax, uniform.where(eta=eta).ratio("n", "risk"), i)
        style.markers(ax, simulated.where(eta=eta).ratio("n", "risk"), i, label)
        small = results["small-step"].where(eta=eta)
        if len(small):
            style.line(ax, small.ratio("n", "risk"), i, dash=style.DASH_DOTS)
    last = uniform.where(eta=largest).ratio("n", "risk")
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
    drawn = Points([p for p in simulated if p.problem.step in shown])
    return Drawing(figure, compare(drawn, uniform, ("risk",)))
