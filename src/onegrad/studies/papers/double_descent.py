"""Random features: test error against width, with the peak at N = n."""

from __future__ import annotations

from onegrad.experiments.checks import compare
from onegrad.experiments.results import Points, Results
from onegrad.studies.drawing import Drawing, style

STATED = 0.01  # corrections of order 1/d


def draw(results: Results) -> Drawing:
    figure, ((ax,),) = style.panels(1, width=6.4, height=4.0)
    simulated, theory = results["simulation"], results["theory"]
    n = simulated[0].problem.n
    for i, ridge in enumerate(simulated.levels("ridge")):
        predicted = theory.where(ridge=ridge).curve("N", "test").divided(n)
        style.line(ax, predicted, i)
        measured = simulated.where(ridge=ridge).curve("N", "test").divided(n)
        style.markers(ax, measured, i, f"λ = {ridge:g}")
    style.legend_entry(ax, "random-features theory, n → ∞")
    style.level(ax, theory[0].mean("linear"), "best linear")
    style.log_axis(ax, "x", (0.2, 0.5, 1, 2, 4))
    style.log_axis(ax, "y", (0.1, 0.2, 0.5, 1, 2, 5, 10))
    ax.set(xlabel="width N/n", ylabel="test error")
    style.legend(ax, 3)
    away = Points(
        [p for p in simulated if not 0.8 < p.problem.N / n < 1.25 or p.problem.ridge > 1e-4]
    )
    checks = compare(away, theory, ("train", "test"), "random features", STATED)
    note = "The peak of the smallest penalty is drawn, not verified: 1/n corrections diverge there."
    return Drawing(figure, checks, [note])
