"""Cui et al.: the maximal step with a constant readout."""

from __future__ import annotations

import math
from typing import Any

from onegrad.experiments.checks import Check, compare_results
from onegrad.experiments.results import Results
from onegrad.pictures import style


def draw(results: Results) -> Any:
    """Draw the test error against n/d, one colour per step size."""
    figure, ((ax,),) = style.panels(1, width=6.4, height=4.0)
    simulated, uniform = results["simulation"], results["uniform"]
    for i, eta in enumerate(simulated.levels("eta")):
        gamma = eta / math.sqrt(simulated[0].problem.N)
        style.line(ax, uniform.where(eta=eta).ratio("n", "test"), i)
        style.markers(ax, simulated.where(eta=eta).ratio("n", "test"), i, f"γ = {gamma:g}")
    style.level(ax, uniform[0].mean("kernel_bound"), "kernel lower bound")
    style.legend_entry(ax, "uniform theory")
    style.log_axis(ax, "x", (0.5, 1, 2, 5))
    style.log_axis(ax, "y", (0.02, 0.05, 0.1, 0.2, 0.5, 1))
    ax.set(xlabel="sample size n/d", ylabel="test error")
    style.legend(ax, 5)
    return figure


def checks(results: Results) -> list[Check]:
    """Compare both errors with the uniform theory."""
    return compare_results(results["simulation"], results["uniform"], ("train", "test"))
