"""Cui et al.: the maximal step with a constant readout."""

import math
from typing import Any

from onegrad.experiments import Results, comparison_of
from onegrad.pictures import style
from onegrad.studies.drawing import errors_against, with_legends
from onegrad.studies.findings import Facts, paired_difference


def draw(results: Results) -> Any:
    """Draw the test error against n/d, one colour per step size."""
    figure, ((ax,),) = style.panels(1, width=6.4, height=4.0)
    grids = simulated, _ = results["simulation"], results["uniform"]
    for i, eta in enumerate(simulated.levels("eta")):
        gamma = eta / math.sqrt(simulated[0].problem.N)
        errors_against(ax, "n/d", "test", grids, i, rf"$\gamma$ = {gamma:g}", eta=eta)
    style.legend_entry(ax, "uniform theory")
    style.log_axis(ax, "x", (0.5, 1, 2, 5))
    style.log_axis(ax, "y")
    ax.set(xlabel="sample size $n/d$", ylabel="test error")
    return with_legends(figure, 5)


def facts(results: Results) -> Facts:
    """Return the bound, which lies below the frame, and the best step at the most rows."""
    simulated = results["simulation"]
    most = simulated.where(n=simulated.levels("n")[-1])
    *_, second, largest = most.ordered("eta")
    best = min(most, key=lambda p: p.mean("test"))
    return {
        "bound": results["uniform"][0].mean("kernel_bound"),
        "best": best.problem.step / math.sqrt(best.problem.N),
        "larger_is_worse": paired_difference(largest.values["test"], second.values["test"]),
        "ratio": best.problem.n / best.problem.d,
    }


checks = comparison_of({"simulation": "uniform"}, ("train", "test"))
