"""Ba et al., Figure 3(a): risk against sample size for steps of order one."""

from __future__ import annotations

from onegrad.experiments.checks import compare
from onegrad.experiments.figures import Drawing, style
from onegrad.experiments.results import Point, Points, Results


def draw(results: Results) -> Drawing:
    return risk_along("n", results, "sample size n/d")


def risk_along(size: str, results: Results, label: str) -> Drawing:
    """Risk and its gain over the untrained network against n/d or N/d, one series per step."""
    figure, ((left, right),) = style.panels(2, width=4.7, height=3.8)
    simulated = results["simulation"]
    for i, eta in enumerate(simulated.levels("eta")):
        for name, kind in (("uniform", "uniform"), ("small-step", "small step")):
            points = results[name]
            style.line(left, points.where(eta=eta).ratio(size, "risk"), i, kind)
            if eta > 0:
                style.line(right, gain(points, eta).ratio(size, "gain"), i, kind)
        style.markers(left, simulated.where(eta=eta).ratio(size, "risk"), i, f"η = {eta:g}")
        if eta > 0:
            style.markers(right, gain(simulated, eta).ratio(size, "gain"), i)
    bound = results["uniform"][0]
    style.level(left, bound.mean("kernel_bound") - bound.problem.noise**2, "kernel lower bound")
    style.key(left, "uniform theory")
    style.key(left, "Theorem 5, n → ∞", "small step")
    left.set(xlabel=label, ylabel="prediction risk")
    right.set(xlabel=label, ylabel="gain over the untrained network")
    style.log_axis(left, "y", (0.02, 0.05, 0.1, 0.2, 0.5, 1))
    theory = gain(results["uniform"], simulated.levels("eta")[-1]).curve(size, "gain")
    right.set_ylim(-0.05 * theory.y.max(), 1.5 * theory.y.max())
    style.legend(left)
    checks = compare(simulated, results["uniform"], ("risk",))
    return Drawing(figure, checks, asymptotic_note(results))


def gain(points: Points, eta: float) -> Points:
    """R at step 0 minus R at step eta: on the same seeds, so most of the noise cancels."""
    found = []
    for p in points.where(eta=eta):
        start = points.where(eta=0, n=p.problem.n, N=p.problem.N)[0]
        values = {"gain": start.values["risk"] - p.values["risk"]}
        found.append(Point(p.problem, values, p.seeded))
    return Points(found)


def asymptotic_note(results: Results) -> list[str]:
    """How far the asymptotic curve is at these sizes."""
    checks = compare(results["simulation"], results["small-step"], ("risk",), "small step")
    off = max((abs(c.difference / c.simulated) for c in checks), default=float("nan"))
    return [f"Largest difference of Theorem 5 (n → ∞) from the networks at these sizes: {off:.1%}."]
