"""Moniri et al., Settings 1 and 2: training and test error against the step exponent."""

from typing import Any

import numpy as np

from onegrad.experiments import Check, Results, compare_results
from onegrad.pictures import style
from onegrad.studies.drawing import with_a_step, with_gaps, with_legends
from onegrad.studies.findings import Estimate, Facts, unpaired_difference

_LABELS = {"train": "training objective", "test": "test error"}
SOURCES = {"uniform": "uniform theory", "simulation": "networks"}


def draw(results: Results) -> Any:
    """Draw both errors, of networks, of the uniform theory and of the staircase."""
    figure, axes = style.panels(2, width=4.6, height=4.0)
    simulated, uniform = (with_a_step(results[k]) for k in ("simulation", "uniform"))
    for ax, quantity in zip(axes[0], _LABELS, strict=True):
        style.markers(ax, simulated.curve("alpha", quantity), 0, "mean of networks")
        style.line(ax, uniform.curve("alpha", quantity), 0, "uniform theory")
        stairs = with_gaps(results["corrected"].curve("alpha", quantity))
        style.line(ax, stairs, 1, r"staircase, $n\to\infty$", dash=style.LONG_DASHES)
        if quantity == "test":
            linear = results["uniform"][0].mean("kernel_bound")
            style.level(ax, linear, "best linear = kernel bound")
            low, high = ax.get_ylim()
            ax.set_ylim(min(low, linear - 0.05 * (high - linear)), high)
        ax.set(xlabel=style.STEP_EXPONENT, ylabel=_LABELS[quantity])
        style.mark_thresholds(ax, low=-1.0)
    return with_legends(figure, 2)


def checks(results: Results) -> list[Check]:
    """Compare both errors with the uniform theory."""
    simulated, uniform = (with_a_step(results[k]) for k in ("simulation", "uniform"))
    return compare_results(simulated, uniform, ("train", "test"))


def facts(results: Results) -> Facts:
    """Return the levels of the staircase, its distance, and where the kernel bound is passed."""
    curve = with_a_step(results["simulation"]).curve("alpha", "test")
    first, *_, last = Estimate.along(curve)
    stairs = results["corrected"].curve("alpha", "test")
    inside = (curve.x > stairs.x[0]) & (curve.x < stairs.x[-1])
    levels = np.interp(curve.x[inside], stairs.x, stairs.y)
    bound = results["uniform"][0].mean("kernel_bound")
    crossings = [
        {"alpha": alpha, "source": words}
        for name, words in SOURCES.items()
        if (alpha := crossing(results, name, bound)) is not None
    ]
    return {
        "levels": list(dict.fromkeys(np.round(levels, 6))),
        "difference": float(np.abs(levels / curve.y[inside] - 1).max()),
        "bound": bound,
        "below_bound": Estimate(bound - last.mean, last.se, last.freedom),
        "largest": curve.x[-1],
        "gain": unpaired_difference(first, last),
        "crossings": crossings if len(crossings) == len(SOURCES) else [],
    }


def crossing(results: Results, name: str, bound: float) -> float | None:
    """Return the exponent at which the test error passes below a bound; None if it does not."""
    curve = with_a_step(results[name]).curve("alpha", "test")
    below = np.flatnonzero(curve.y < bound)
    if not len(below) or below[0] == 0:
        return None
    around = slice(below[0] - 1, below[0] + 1)
    return float(np.interp(-bound, -curve.y[around], curve.x[around]))
