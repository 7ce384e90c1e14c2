"""Ba et al., Figure 3(c): risk against sample size, from the constant to the maximal step."""

import math
from typing import Any

import numpy as np

from onegrad.experiments import Results, comparison_of
from onegrad.pictures import style
from onegrad.studies.drawing import kernel_bound, with_legends
from onegrad.studies.findings import Facts, of_point


def draw(results: Results) -> Any:
    """Draw the risk against n/d, one colour per step exponent."""
    from matplotlib import colormaps

    figure, ((ax,),) = style.panels(1, width=6.4, height=4.2)
    simulated, uniform = results["simulation"], results["uniform"]
    etas = simulated.levels("eta")
    problem = simulated[0].problem
    for i, eta in enumerate(etas):
        colour = colormaps["viridis"](0.9 * i / (len(etas) - 1))
        label = r"$\eta$ = 0"
        if eta > 0:
            label = rf"$\alpha$ = {math.log(eta) / math.log(problem.N):.1f}"
        theory, networks = (p.where(eta=eta).curve("n/d", "risk") for p in (uniform, simulated))
        style.line(ax, theory, 0, color=colour)
        style.markers(ax, networks, i, label, color=colour)
    x = np.geomspace(1, ax.get_xlim()[1], 9)
    last = uniform.where(eta=etas[-1]).curve("n/d", "risk")
    ax.plot(x, last.y[-1] * last.x[-1] / x, ":", color=style.RED, label="rate $d/n$")
    style.level(ax, kernel_bound(uniform), "kernel lower bound")
    style.legend_entry(ax, "uniform theory")
    style.log_axis(ax, "x", (0.5, 1, 2, 4, 8, 16))
    style.log_axis(ax, "y", (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5))
    ax.set(xlabel="sample size $n/d$", ylabel="prediction risk")
    return with_legends(figure, 5)


checks = comparison_of({"simulation": "uniform"}, ("risk",))


def facts(results: Results) -> Facts:
    """Return the risk less the kernel bound with the most rows, for the last two steps."""
    simulated, bound = results["simulation"], kernel_bound(results["uniform"])
    most = simulated.where(n=simulated.levels("n")[-1]).ordered("eta")
    above = [of_point(p, "risk").shifted(-bound) for p in most]
    return {"above": above, "ratio": most[0].problem.n / most[0].problem.d}
