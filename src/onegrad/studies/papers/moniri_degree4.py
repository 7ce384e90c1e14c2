"""A staircase of degree four: what networks show, and how slowly the steps emerge."""

from __future__ import annotations

from onegrad.experiments.checks import compare
from onegrad.experiments.results import Results
from onegrad.studies.drawing import Drawing, style
from onegrad.studies.papers.moniri_setting1 import broken, networks, with_a_step


def draw(results: Results) -> Drawing:
    figure, ((left, right),) = style.panels(2, width=4.6, height=3.8)
    growing = results["growing"]
    networks(left, with_a_step(results["simulation"]), "test")
    left.set_ylim(0.9 * growing[0].mean("linear"), left.get_ylim()[1])
    style.line(left, results["uniform"].curve("alpha", "test"), 0, "uniform theory")
    for i, n in enumerate(growing.levels("n")):
        curve = growing.where(n=n).curve("alpha", "test")
        style.line(right, curve, i, f"uniform, n = {style.power_of_ten(n)}")
    for ax in (left, right):
        stairs = broken(results["corrected"].curve("alpha", "test"))
        style.line(ax, stairs, 6, "staircase, n → ∞", dash=style.LONG_DASHES)
        style.level(ax, growing[0].mean("linear"), "best linear = kernel bound")
        style.mark_thresholds(ax)
        ax.set(xlabel="step exponent α,  η = n^α", ylabel="test error")
        style.legend(ax, 2)
    return Drawing(figure, compare(results["simulation"], results["uniform"], ("train", "test")))
