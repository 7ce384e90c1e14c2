"""Ba et al., Theorem 5: the gain of a step of order one, and its limits in step and width."""

import math
from typing import Any

import numpy as np

from onegrad.arrays import Floats, standard_error
from onegrad.experiments import Check, Points, Results, check
from onegrad.pictures import Curve, style
from onegrad.studies.findings import Facts

WIDTHS = (0.5, 1.0, 2.0)  # N/d that are drawn on the left
_STAIR: Any = {"linestyle": style.LONG_DASHES, "linewidth": 1.0}


def draw(results: Results) -> Any:
    """Draw the gain against the step and against the width."""
    figure, ((left, right),) = style.panels(2, width=4.7, height=4.0)
    networks, limit = results["networks"], results["limit"]
    for i, width in enumerate(WIDTHS):
        style.line(left, gain(limit.where(psi=1 / width), "step"), i)
        curve = gain(networks.where(psi=1 / width), "step")
        style.markers(left, curve, i, f"$N/d$ = {width:g}")
        finite = gain(results["uniform"].where(psi=1 / width), "step")
        left.plot(finite.x, finite.y, "x", color=style.SERIES[i], zorder=5)
        left.axhline(first_stair(results, width), **_STAIR, color=style.SERIES[i])
    for i, eta in enumerate(e for e in networks.levels("eta") if e > 0):
        style.line(right, gain_at(results["wide"], eta), i)
        style.markers(right, gain_at(networks, eta), i, rf"$\eta$ = {eta:g}")
        finite = gain_at(results["uniform"], eta)
        right.plot(finite.x, finite.y, "x", color=style.SERIES[i], zorder=5)
    left.plot([], [], color=style.DARK_GREY, **_STAIR, label=r"first stair $\Lambda_1$")
    style.log_axis(left, "x", (0.5, 1, 2, 5, 10, 20, 50, 100))
    style.log_axis(right, "x", (0.5, 2, 8, 32, 128, 512))
    left.set(xlabel=r"step size $\eta$", ylabel=r"gain in risk $\delta$")
    right.set(xlabel=r"width $N/d$", ylabel=r"gain in risk $\delta$", ylim=(3e-7, 0.3))
    right.set_yscale("log")
    for ax in (left, right):
        style.legend_entry(ax, r"Theorem 5, $n\to\infty$")
        ax.plot([], [], "x", color=style.DARK_GREY, label="uniform theory at this size")
        style.legend(ax, 3)
    return figure


def paired(points: Points) -> list[tuple[Any, Floats]]:
    """Return each problem with a step, with its gains over the same network without, by seed."""
    untrained = {p.problem.N: p.values["risk"] for p in points if p.problem.step == 0}
    return [
        (p.problem, np.atleast_1d(untrained[p.problem.N] - p.values["risk"]))
        for p in points
        if p.problem.step > 0
    ]


def gain(points: Points, along: str) -> Curve:
    """Return the gain against a field of the problem."""
    pairs = sorted(paired(points), key=lambda pair: getattr(pair[0], along))
    x = np.array([getattr(problem, along) for problem, _ in pairs], dtype=float)
    se = [standard_error(g) if len(g) > 1 else 0.0 for _, g in pairs]
    return Curve(x, np.array([g.mean() for _, g in pairs]), np.array(se))


def gain_at(points: Points, eta: float) -> Curve:
    """Return the gain of a step against N/d."""
    chosen = Points([p for p in points if p.problem.step in (0, eta)])
    return gain(chosen, "N").divided(points[0].problem.d)


def first_stair(results: Results, width: float) -> float:
    """Return the limit of the gain as the step grows: the first stair of the staircase."""
    untrained, stair = (
        results[k].where(psi=1 / width)[0].mean("risk") for k in ("untrained", "stair")
    )
    return float(untrained - stair)


def checks(results: Results) -> list[Check]:
    """Compare the gains with the uniform theory; their accuracy is that of the risk."""
    predicted = {(p.N, p.step): float(g[0]) for p, g in paired(results["uniform"])}
    bands = {(p.problem.N, p.problem.step): p.band("risk") for p in results["uniform"]}
    rows = []
    for problem, gains in paired(results["networks"]):
        where = problem.N, problem.step
        band = bands[where] if math.isfinite(bands[where]) else 0.0
        accuracy = band / abs(predicted[where] or 1.0)
        claim = "uniform, of the level"
        rows.append(check("gain in risk", problem, gains, predicted[where], claim, accuracy))
    return rows


def facts(results: Results) -> Facts:
    """Return whether the gain grows with the step, how near its limit, and how it fades."""
    curves = [gain(results["limit"].where(psi=1 / w), "step") for w in WIDTHS]
    short = [
        abs(first_stair(results, w) - curve.y[-1]) for curve, w in zip(curves, WIDTHS, strict=True)
    ]
    eta = results["wide"].levels("eta")[-1]
    fading = gain_at(results["wide"], eta)
    slope = math.log(fading.y[-1] / fading.y[-2]) / math.log(fading.x[-1] / fading.x[-2])
    return {
        "grows": bool(all(np.all(np.diff(curve.y) > 0) for curve in curves)),
        "largest": curves[0].x[-1],
        "short_of_limit": max(short),
        "exponent": -slope,
        "eta": eta,
    }
