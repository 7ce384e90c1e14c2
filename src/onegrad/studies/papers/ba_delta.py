"""Ba et al., Theorem 5: the gain of a step of order one, and its limits in step and width."""

import math
from typing import Any

from onegrad.arrays import Floats
from onegrad.experiments import Check, Points, Results, check
from onegrad.pictures import style
from onegrad.studies.drawing import gains, with_legends
from onegrad.studies.findings import Estimate, Facts

WIDTHS = (0.5, 1.0, 2.0)  # N/d that are drawn on the left
_STAIR: Any = {"linestyle": style.LONG_DASHES, "linewidth": 1.0}


def draw(results: Results) -> Any:
    """Draw the gain against the step and against the width."""
    figure, ((left, right),) = style.panels(2, width=4.7, height=4.0)
    names = ("limit", "wide", "networks", "uniform")
    limit, wide, *finite = (gains(results[name], "risk") for name in names)

    def draw_series(ax: Any, along: str, asymptotic: Points, i: int, label: str, **at: Any) -> None:
        grids = (asymptotic, *finite)
        theory, networks, uniform = (p.where(**at).curve(along, "risk") for p in grids)
        style.line(ax, theory, i)
        style.markers(ax, networks, i, label)
        ax.plot(uniform.x, uniform.y, "x", color=style.SERIES[i], zorder=5)

    for i, width in enumerate(WIDTHS):
        draw_series(left, "step", limit, i, f"$N/d$ = {width:g}", psi=1 / width)
        left.axhline(first_stair(results, width), **_STAIR, color=style.SERIES[i])
    for i, eta in enumerate(finite[0].levels("eta")):
        draw_series(right, "N/d", wide, i, rf"$\eta$ = {eta:g}", eta=eta)
    left.plot([], [], color=style.DARK_GREY, **_STAIR, label=r"first stair $\Lambda_1$")
    style.log_axis(left, "x", (0.5, 1, 2, 5, 10, 20, 50, 100))
    style.log_axis(right, "x", (0.5, 2, 8, 32, 128, 512))
    left.set(xlabel=r"step size $\eta$", ylabel=r"gain in risk $\delta$")
    right.set(xlabel=r"width $N/d$", ylabel=r"gain in risk $\delta$", ylim=(3e-7, 0.3))
    right.set_yscale("log")
    for ax in (left, right):
        style.legend_entry(ax, r"Theorem 5, $n\to\infty$")
        ax.plot([], [], "x", color=style.DARK_GREY, label="uniform theory at this size")
    return with_legends(figure, 3)


def first_stair(results: Results, width: float) -> float:
    """Return the limit of the gain as the step grows: the first stair of the staircase."""
    untrained, stair = (
        results[k].where(psi=1 / width)[0].mean("risk") for k in ("untrained", "stair")
    )
    return float(untrained - stair)


def checks(results: Results) -> list[Check]:
    """Compare the gains with the uniform theory; their accuracy is that of the risk."""
    rows, predicted = [], gains(results["uniform"], "risk")
    for p in gains(results["networks"], "risk"):
        where = {"N": p.problem.N, "eta": p.problem.eta}
        expected = predicted.where(**where)[0].mean("risk")
        band = results["uniform"].where(**where)[0].band("risk")
        accuracy = (band if math.isfinite(band) else 0.0) / abs(expected or 1.0)
        values, claim = p.values["risk"], "uniform, of the level"
        rows.append(check("gain in risk", p.problem, values, expected, claim, accuracy))
    return rows


def facts(results: Results) -> Facts:
    """Return how the gain grows with the step, and how it fades."""
    wide = gains(results["wide"], "risk")
    eta = wide.levels("eta")[-1]
    fading = wide.where(eta=eta).curve("N/d", "risk")
    slope = math.log(fading.y[-1] / fading.y[-2]) / math.log(fading.x[-1] / fading.x[-2])
    networks = gains(results["networks"], "risk")
    steps, widths = networks.levels("eta"), networks.levels("N")

    def gain(N: int, eta: float) -> Floats:
        return networks.where(N=N, eta=eta)[0].values["risk"]

    low, high = (gain(widths[0], step) for step in (steps[0], steps[-1]))
    return {
        "low": Estimate.of(low),
        "high": Estimate.of(high),
        "growing": Estimate.of(high - low),
        "fading": Estimate.of(gain(widths[0], eta) - gain(widths[-1], eta)),
        "widths": [N / networks[0].problem.d for N in (widths[0], widths[-1])],
        "steps": [steps[0], steps[-1]],
        "exponent": -slope,
        "eta": eta,
    }
