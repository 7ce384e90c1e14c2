"""Ba et al., Theorem 7 and Corollary 8: the risk after a maximal step and its bound."""

import math
from typing import Any

import numpy as np

from onegrad.arrays import Floats
from onegrad.experiments import Points, Results, comparison_of
from onegrad.pictures import Curve, style
from onegrad.studies.drawing import errors_against, kernel_bound
from onegrad.studies.findings import Estimate, Facts, Selection
from onegrad.theory.bounds import tau_star, theorem7_bound

ACTIVATIONS = ("erf", "tanh")
RATIOS = (8, 16, 32, 64)  # n/d at which d grows
ROUNDING_OF_TAU = 1e-12  # a smaller tau* is zero
MIN_ROWS_PER_INPUT = 4.0  # n/d from which the bound has to hold: the theorem says that one exists


def draw(results: Results) -> Any:
    """Draw the risk against n/d with the theorem's bound, and the constant that it needs."""
    figure, axes = style.panels(3, width=4.1, height=4.0)
    C = fixed_constant(results)
    for ax, name in zip(axes[0], ACTIVATIONS, strict=False):
        grids = simulated, uniform = results[name], results[f"{name}-theory"]
        for i, eta in enumerate(simulated.levels("eta")):
            label = r"networks, $\eta$ = 2√N" if i else "networks, untrained"
            errors_against(ax, "n/d", "risk", grids, i, label, eta=eta)
        x = largest_step(uniform).x
        x = x[x >= MIN_ROWS_PER_INPUT]
        words = f"Theorem 7, $C={C.mean:.2f}$"
        ax.plot(x, bound(name, x, C.mean), ":", color=style.BLACK, label=words)
        style.level(ax, kernel_bound(uniform), "kernel lower bound")
        tau = tau_star(name, name).tau
        if tau > ROUNDING_OF_TAU:
            words = r"$10\tau^*$"
            ax.axhline(10 * tau, color=style.PINK, linestyle="-.", linewidth=1.0, label=words)
        style.legend_entry(ax, "uniform theory")
        ax.set(xlabel=r"sample size $n/d$", ylabel="prediction risk")
        style.log_axis(ax, "x", (2, 4, 8, 16, 32, 64))
        style.log_axis(ax, "y", (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2))
        ax.set_ylim(top=2.2 * ax.get_ylim()[1])
        style.heading(ax, rf"$\sigma=\sigma^*=$ {name}")
        style.legend(ax, 2)
    right = axes[0, 2]
    for i, ratio in enumerate(RATIOS):
        risk = results[f"growing-{ratio}"].curve("d", "risk")
        needed = needed_constant("erf", risk.y, 1 / ratio)
        label = f"uniform theory, $n/d={ratio}$"
        right.plot(risk.x, needed, marker=style.MARKERS[i], color=style.SERIES[i], label=label)
    right.axhspan(C.mean - 2 * C.se, C.mean + 2 * C.se, color=style.GREY, alpha=0.3, lw=0)
    style.level(right, C.mean, "networks of another size: the $C$ used")
    style.log_axis(right, "x", (1e2, 1e3, 1e4, 1e5, 1e6))
    right.set(xlabel="$d$", ylabel="smallest $C$ that is needed, erf", ylim=(0.25, None))
    style.legend(right, 1)
    return figure


def largest_step(uniform: Points) -> Curve:
    """Return the predicted risk after the largest step against n/d."""
    return uniform.where(eta=uniform.levels("eta")[-1]).curve("n/d", "risk")


def bound(name: str, x: Floats, C: float) -> Floats:
    """Return Theorem 7's bound at sample sizes n/d."""
    return np.array([theorem7_bound(name, name, 1 / ratio, C) for ratio in x])


def needed_constant(name: str, risk: Any, d_over_n: Any) -> Any:
    """Return the C at which the bound is the risk."""
    tau = tau_star(name, name).tau
    # Theorem 7 solved for C
    return (risk - 10 * tau) / (np.sqrt(tau * d_over_n) + d_over_n)


def fixed_constant(results: Results) -> Estimate:
    """Return the C that networks of the size set aside for it need."""
    point = results["fixed"][0]
    return Estimate.of(needed_constant("erf", point.values["risk"], point.problem.phi))


checks = comparison_of({name: f"{name}-theory" for name in ACTIVATIONS}, ("risk",))


def facts(results: Results) -> Facts:
    """Return the constant, and for each activation where the bound with it covers the risk."""
    C, fixed = fixed_constant(results), results["fixed"][0].problem
    growing = {ratio: results[f"growing-{ratio}"].curve("d", "risk") for ratio in RATIOS}
    d = growing[RATIOS[0]].x
    covered = [needed_constant("erf", risk.y, 1 / r) <= C.mean for r, risk in growing.items()]
    all_covered = np.all(covered, axis=0)
    needed = [needed_constant("erf", risk.y[-1], 1 / r) for r, risk in growing.items()]
    activations = []
    for name in ACTIVATIONS:
        networks, uniform = results[name], results[f"{name}-theory"]
        most = networks.where(n=networks.levels("n")[-1], eta=networks.levels("eta")[-1])[0]
        risk, kernel = largest_step(uniform), kernel_bound(uniform)
        below, tau = risk.x[risk.y < kernel], tau_star(name, name).tau
        tested = risk.x >= MIN_ROWS_PER_INPUT
        x, y = risk.x[tested], risk.y[tested]
        activations.append(
            {
                "activation": name,
                "tau": tau if tau > ROUNDING_OF_TAU else 0.0,
                "kernel": kernel,
                "passes": len(below) > 0,
                "passes_at": float(below[0]) if len(below) else math.nan,
                "covered": Selection.of(y <= bound(name, x, C.mean)),
                "beyond_kernel": Estimate.of(kernel - most.values["risk"]),
                "lowest": x[0],
                "highest": x[-1],
                "d": uniform[0].problem.d,
            }
        )
    return {
        "C": C,
        "fixed_d": fixed.d,
        "fixed_ratio": fixed.n / fixed.d,
        "activations": activations,
        "d": int(d[-1]),
        "spare": C.shifted(-max(needed)),
        "covers": bool(all_covered.any()),
        "covers_from": int(d[all_covered][0]) if all_covered.any() else 0,
    }
