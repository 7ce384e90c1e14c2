"""A staircase of degree four: how slowly its steps emerge."""

from typing import Any

from onegrad.experiments import Results, comparison_of
from onegrad.pictures import style
from onegrad.studies.drawing import draw_growing_theory, values_at, with_a_step, with_legends
from onegrad.studies.findings import Facts

SECOND_STAIR, THIRD_STAIR = 0.29, 0.35  # exponents on these stairs


def draw(results: Results) -> Any:
    """Draw the test error against the step exponent, of networks and of theory at growing n."""
    figure, ((ax,),) = style.panels(1, width=6.4, height=4.2)
    networks = with_a_step(results["simulation"]).curve("alpha", "test")
    style.markers(ax, networks, 0, f"networks, $n$ = {results['simulation'][0].problem.n}")
    draw_growing_theory(ax, results)
    style.mark_thresholds(ax)
    ax.set(xlabel=style.STEP_EXPONENT, ylabel="test error")
    return with_legends(figure, 3)


checks = comparison_of({"simulation": "uniform"}, ("train", "test"))


def facts(results: Results) -> Facts:
    """Return the share of the third stair, from 0 on the second, at the largest n."""
    growing, stairs = results["growing"], results["corrected"].curve("alpha", "test")
    n = growing.levels("n")[-1]
    second, third = values_at(stairs, SECOND_STAIR, THIRD_STAIR)
    (level,) = values_at(growing.where(n=n).curve("alpha", "test"), THIRD_STAIR)
    share = (second - level) / (second - third)
    return {"share": share, "n": style.power_of_ten(n), "alpha": THIRD_STAIR}
