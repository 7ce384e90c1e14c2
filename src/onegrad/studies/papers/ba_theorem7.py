"""Ba et al., Theorem 7 and Corollary 8: the risk after a maximal step and its bound."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from onegrad.arrays import Floats
from onegrad.experiments.checks import Check, compare_results
from onegrad.experiments.results import Points, Results
from onegrad.pictures import Curve, style
from onegrad.studies.text import Facts
from onegrad.theory.bounds import tau_star, theorem7_bound

ACTIVATIONS = ("erf", "tanh")
ROUNDING_OF_TAU = 1e-12  # a smaller tau* is zero
MIN_ROWS_PER_INPUT = 2.0  # n/d from which the bound has to hold: the theorem says that one exists


def draw(results: Results) -> Any:
    """Draw the risk against n/d with the theorem's bound, one panel per activation."""
    figure, axes = style.panels(2, width=4.6, height=3.9)
    for ax, name in zip(axes[0], ACTIVATIONS, strict=True):
        simulated, uniform = results[name], results[f"{name}-theory"]
        for i, eta in enumerate(simulated.levels("eta")):
            style.line(ax, uniform.where(eta=eta).ratio("n", "risk"), i)
            label = "networks, η = 2√N" if i else "networks, untrained"
            style.markers(ax, simulated.where(eta=eta).ratio("n", "risk"), i, label)
        risk = largest_step(uniform)
        C, tau = smallest_constant(name, risk), tau_star(name, name).tau
        x = risk.x[risk.x >= MIN_ROWS_PER_INPUT]
        ax.plot(x, bound(name, x, C), ":", color=style.BLACK, label=f"Theorem 7, C = {C:.2f}")
        style.level(ax, kernel_bound(uniform), "kernel lower bound")
        if tau > ROUNDING_OF_TAU:
            ax.axhline(10 * tau, color=style.PINK, linestyle="-.", linewidth=1.0, label="10τ*")
        style.legend_entry(ax, "uniform theory")
        ax.set(xlabel="sample size n/d", ylabel="prediction risk")
        style.log_axis(ax, "x", (1, 2, 4, 8, 16, 32, 64))
        style.log_axis(ax, "y", (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2))
        style.heading(ax, f"σ = σ* = {name}")
        style.legend(ax, 2)
    return figure


def largest_step(uniform: Points) -> Curve:
    """Return the predicted risk after the largest step against n/d."""
    return uniform.where(eta=uniform.levels("eta")[-1]).ratio("n", "risk")


def kernel_bound(uniform: Points) -> float:
    """Return the lower bound on the risk of every kernel method."""
    return float(uniform[0].mean("kernel_bound") - uniform[0].problem.noise ** 2)


def bound(name: str, x: Floats, C: float) -> Floats:
    """Return Theorem 7's bound at sample sizes n/d."""
    return np.array([theorem7_bound(name, name, 1 / ratio, C) for ratio in x])


def smallest_constant(name: str, risk: Curve) -> float:
    """Return the smallest C with which the bound covers the risk from MIN_ROWS_PER_INPUT on."""
    tau = tau_star(name, name).tau
    inside = risk.x >= MIN_ROWS_PER_INPUT
    d_over_n = 1 / risk.x[inside]
    return float(np.max((risk.y[inside] - 10 * tau) / (np.sqrt(tau * d_over_n) + d_over_n)))


def checks(results: Results) -> list[Check]:
    """Compare the risks with the uniform theory."""
    pairs = ((results[name], results[f"{name}-theory"]) for name in ACTIVATIONS)
    return [check for pair in pairs for check in compare_results(*pair, ("risk",))]


def facts(results: Results) -> Facts:
    """Return for each activation tau*, the kernel bound, and where and how fast the risk falls."""
    activations = []
    for name in ACTIVATIONS:
        risk, kernel = (
            largest_step(results[f"{name}-theory"]),
            kernel_bound(results[f"{name}-theory"]),
        )
        below, tau = risk.x[risk.y < kernel], tau_star(name, name).tau
        slope = math.log(risk.y[-1] / risk.y[-2]) / math.log(risk.x[-1] / risk.x[-2])
        activations.append(
            {
                "activation": name,
                "tau": tau if tau > ROUNDING_OF_TAU else 0.0,
                "kernel": kernel,
                "passes": len(below) > 0,
                "passes_at": float(below[0]) if len(below) else math.nan,
                "exponent": -slope,
            }
        )
    return {"activations": activations}
