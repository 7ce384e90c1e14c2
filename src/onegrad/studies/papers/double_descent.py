"""Random features: test error against width, with the peak at N = n."""

import math
from typing import Any

from onegrad.experiments import Check, Points, Results, compare_results
from onegrad.pictures import style
from onegrad.studies.drawing import errors_against, with_legends
from onegrad.studies.findings import Estimate, Facts, paired_ratio

_ACCURACY = 0.01  # of the limit, which leaves out corrections of order 1/d
PEAK = (0.8, 1.25)  # widths N/n at which these corrections diverge if the penalty is small
SMALL_PENALTY = 1e-4
NARROWER = 0.7  # N/n before the peak


def draw(results: Results) -> Any:
    """Draw the test error against N/n, one colour per penalty."""
    figure, ((ax,),) = style.panels(1, width=6.4, height=4.0)
    grids = simulated, theory = results["simulation"], results["theory"]
    for i, ridge in enumerate(simulated.levels("ridge")):
        label = rf"$\lambda = 10^{{{round(math.log10(ridge))}}}$"
        errors_against(ax, "N/n", "test", grids, i, label, ridge=ridge)
    style.legend_entry(ax, r"random-features theory, $n\to\infty$")
    style.level(ax, theory[0].mean("kernel_bound"), "best linear")
    style.log_axis(ax, "x", (0.2, 0.5, 1, 2, 4))
    style.log_axis(ax, "y", (0.1, 0.2, 0.5, 1, 2, 5, 10))
    ax.set(xlabel="width $N/n$", ylabel="test error")
    return with_legends(figure, 3)


def checks(results: Results) -> list[Check]:
    """Compare both errors with the limit, apart from the peak of the smallest penalty."""
    low, high = PEAK
    away = Points(
        p
        for p in results["simulation"]
        if not low < p.field("N/n") < high or p.problem.ridge > SMALL_PENALTY
    )
    return compare_results(away, results["theory"], ("train", "test"), "random features", _ACCURACY)


def facts(results: Results) -> Facts:
    """Return the test error at N = n over that of narrower networks, by extreme penalty."""
    simulated = results["simulation"]
    n = simulated[0].problem.n
    widths = n, round(NARROWER * n)
    ratios: list[Estimate] = []
    for ridge in simulated.levels("ridge"):
        at, narrower = (simulated.where(N=N, ridge=ridge)[0].values["test"] for N in widths)
        ratios.append(paired_ratio(at, narrower))
    return {"peak": ratios[0], "penalised": ratios[-1], "narrower": NARROWER}
