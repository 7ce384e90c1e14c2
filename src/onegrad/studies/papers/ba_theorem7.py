"""Ba et al., Theorem 7 and Corollary 8: the risk after a maximal step and its bound."""

from __future__ import annotations

import math

import numpy as np

from onegrad.arrays import Floats
from onegrad.experiments.checks import Check, compare
from onegrad.experiments.results import Curve, Results
from onegrad.studies.drawing import Drawing, style
from onegrad.theory.bounds import tau_star, theorem7_bound

ZERO = 1e-12  # what is left of it is rounding
LEAST = 2.0  # n/d from which the bound is asked to hold: the theorem says that one exists


def draw(results: Results) -> Drawing:
    figure, axes = style.panels(2, width=4.6, height=3.9)
    checks: list[Check] = []
    notes = []
    for ax, name in zip(axes[0], ("erf", "tanh"), strict=True):
        simulated, uniform = results[name], results[f"{name}-theory"]
        for i, eta in enumerate(simulated.levels("eta")):
            style.line(ax, uniform.where(eta=eta).ratio("n", "risk"), i)
            label = "networks, η = 2√N" if i else "networks, untrained"
            style.markers(ax, simulated.where(eta=eta).ratio("n", "risk"), i, label)
        stepped = uniform.where(eta=simulated.levels("eta")[-1]).ratio("n", "risk")
        kernel = uniform[0].mean("kernel_bound") - uniform[0].problem.noise ** 2
        C, tau = smallest_constant(name, stepped), tau_star(name, name).tau
        x = stepped.x[stepped.x >= LEAST]
        ax.plot(x, bound(name, x, C), ":", color=style.BLACK, label=f"Theorem 7, C = {C:.2f}")
        style.level(ax, kernel, "kernel lower bound")
        if tau > ZERO:
            ax.axhline(10 * tau, color=style.PINK, linestyle="-.", linewidth=1.0, label="10τ*")
        style.legend_entry(ax, "uniform theory")
        ax.set(xlabel="sample size n/d", ylabel="prediction risk")
        style.log_axis(ax, "x", (1, 2, 4, 8, 16, 32, 64))
        style.log_axis(ax, "y", (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2))
        style.heading(ax, f"σ = σ* = {name}")
        style.legend(ax, 2)
        checks += compare(simulated, uniform, ("risk",))
        notes.append(_note(name, stepped, kernel, tau))
    return Drawing(figure, checks, notes)


def bound(name: str, x: Floats, C: float) -> Floats:
    """Theorem 7's bound at sample sizes n/d."""
    return np.array([theorem7_bound(name, name, 1 / ratio, C) for ratio in x])


def smallest_constant(name: str, risk: Curve) -> float:
    """The smallest C with which the bound covers the risk from LEAST on."""
    tau = tau_star(name, name).tau
    inside = risk.x >= LEAST
    d_over_n = 1 / risk.x[inside]
    return float(np.max((risk.y[inside] - 10 * tau) / (np.sqrt(tau * d_over_n) + d_over_n)))


def _note(name: str, risk: Curve, kernel: float, tau: float) -> str:
    below = risk.x[risk.y < kernel]
    where = f"from n/d = {below[0]:g} on" if len(below) else "nowhere here"
    slope = math.log(risk.y[-1] / risk.y[-2]) / math.log(risk.x[-1] / risk.x[-2])
    tau = tau if tau > ZERO else 0.0
    return (
        f"{name}: τ* = {tau:.3g}, kernel lower bound {kernel:.4f}; the uniform theory is below it "
        f"{where}, and falls like (d/n)^{-slope:.2f} at the end of the curve."
    )
