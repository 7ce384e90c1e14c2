"""A staircase of degree four: what networks show, and how slowly the steps emerge."""

from __future__ import annotations

from typing import Any

from onegrad.experiments.checks import Check, compare_results
from onegrad.experiments.results import Results
from onegrad.pictures import style
from onegrad.studies.drawing import networks_and_mean, with_a_step, with_gaps


def draw(results: Results) -> Any:
    """Draw the test error against the step exponent, of networks and of theory at growing n."""
    figure, ((left, right),) = style.panels(2, width=4.6, height=3.8)
    growing = results["growing"]
    networks_and_mean(left, with_a_step(results["simulation"]), "test")
    left.set_ylim(0.9 * growing[0].mean("linear"), left.get_ylim()[1])
    style.line(left, results["uniform"].curve("alpha", "test"), 0, "uniform theory")
    for i, n in enumerate(growing.levels("n")):
        curve = growing.where(n=n).curve("alpha", "test")
        style.line(right, curve, i, f"uniform, n = {style.power_of_ten(n)}")
    for ax in (left, right):
        stairs = with_gaps(results["corrected"].curve("alpha", "test"))
        style.line(ax, stairs, 6, "staircase, n → ∞", dash=style.LONG_DASHES)
        style.level(ax, growing[0].mean("linear"), "best linear = kernel bound")
        style.mark_thresholds(ax)
        ax.set(xlabel="step exponent α,  η = n^α", ylabel="test error")
        style.legend(ax, 2)
    return figure


def checks(results: Results) -> list[Check]:
    """Compare both errors with the uniform theory."""
    return compare_results(results["simulation"], results["uniform"], ("train", "test"))
