"""A staircase of degree four: how slowly its steps emerge."""

from typing import Any

from onegrad.experiments import Results, comparison_of
from onegrad.pictures import style
from onegrad.studies.drawing import draw_growing_theory, with_a_step


def draw(results: Results) -> Any:
    """Draw the test error against the step exponent, of networks and of theory at growing n."""
    figure, ((ax,),) = style.panels(1, width=6.4, height=4.2)
    networks = with_a_step(results["simulation"]).curve("alpha", "test")
    style.markers(ax, networks, 0, f"networks, $n$ = {results['simulation'][0].problem.n}")
    draw_growing_theory(ax, results)
    style.mark_thresholds(ax)
    ax.set(xlabel=style.STEP_EXPONENT, ylabel="test error")
    style.legend(ax, 3)
    return figure


checks = comparison_of("simulation", "uniform", ("train", "test"))
