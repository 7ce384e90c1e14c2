"""Ba et al., Figure 3(a): risk against sample size for steps of order one."""

from __future__ import annotations

from onegrad.experiments.checks import compare
from onegrad.experiments.figures import Drawing, style
from onegrad.experiments.results import Results


def draw(results: Results) -> Drawing:
    return risk_along("n", results, "sample size n/d")


def risk_along(size: str, results: Results, label: str) -> Drawing:
    """Risk against n/d or N/d, one series per step size."""
    figure, ((ax,),) = style.panels(1, width=6.4, height=4.0)
    for i, eta in enumerate(results["simulation"].levels("eta")):
        for name, kind in (("uniform", "uniform"), ("small-step", "small step")):
            points = results[name].where(eta=eta)
            style.line(ax, points.ratio(size, "risk"), i, kind, alpha=0.9)
        style.markers(
            ax, results["simulation"].where(eta=eta).ratio(size, "risk"), i, f"η = {eta:g}"
        )
    bound = results["uniform"][0]
    style.level(ax, bound.mean("kernel_bound") - bound.problem.noise**2, "kernel lower bound")
    ax.plot([], [], color="#555555", label="uniform theory")
    dashes = style.DASHES["small step"]
    ax.plot([], [], color="#555555", linestyle=dashes, label="R₀ − δ, n → ∞")
    ax.set_xlabel(label)
    ax.set_ylabel("prediction risk")
    style.log_axis(ax, "y", (0.02, 0.05, 0.1, 0.2, 0.5, 1))
    ax.legend(ncols=2)
    checks = compare(results["simulation"], results["uniform"], ("risk",))
    return Drawing(figure, checks, asymptotic_note(results))


def asymptotic_note(results: Results) -> list[str]:
    """How far the asymptotic curve is at these sizes."""
    checks = compare(results["simulation"], results["small-step"], ("risk",), "small step")
    off = max((abs(c.difference / c.simulated) for c in checks), default=float("nan"))
    return [f"Largest difference of R₀ − δ (n → ∞) from the networks at these sizes: {off:.1%}."]
