"""Moniri et al.: spectra of W and F in the regimes of 0, 1, 2, 3 spikes."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy

from onegrad.arrays import Floats
from onegrad.experiments import Check, Point, Results, check, outlier_accuracy
from onegrad.pictures import style
from onegrad.problem import Problem
from onegrad.studies.findings import Estimate, Facts
from onegrad.theory.direction import direction

STEP_FACTOR = 2.0  # c of the step c n^alpha, as in the TOML
_MAX_RANGE = 30.0  # of the axis below the edge
_MIN_DISTANCE = 1.1  # an eigenvalue of F this many edges out is an outlier: the edge fluctuates


def draw(results: Results) -> Any:
    """Draw the singular values of W above those of F, one column per regime."""
    figure, axes = style.panels(4, 2, width=2.8, height=2.5)
    for column, (network, theory) in enumerate(regimes(results)):
        p, outliers = network.problem, feature_outliers(theory)
        step = "untrained" if p.step == 0 else rf"$\alpha$ = {step_exponent(p):.2f}"
        axes[0, column].set_title(step)
        counted = f"theory: {len(outliers)} at this $n$, {column} as $n\\to\\infty$"
        axes[1, column].set_title(counted, fontsize=8)
        _panel(axes[0, column], network.values["W"], marchenko_pastur(p), weight_outlier(p))
        density = (theory.values["x"], theory.values["rho"])
        _panel(axes[1, column], network.values["F"], density, outliers)
    for row, name in enumerate(("$W$", r"$F/\sqrt{n}$")):
        axes[row, 0].set_ylabel("density of log s")
        for ax in axes[row]:
            ax.set_xlabel(f"singular value s of {name}")
    figure.legend(*axes[0, 1].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    return figure


def step_exponent(problem: Problem) -> float:
    """Return alpha of the step c n^alpha."""
    return math.log(problem.step / STEP_FACTOR) / math.log(problem.n)


def regimes(results: Results) -> Iterator[tuple[Point, Point]]:
    """Return networks and theory for 0, 1, 2, 3 spikes."""
    networks = [results["untrained"][0], *results["trained"]]
    theories = [results["theory-untrained"][0], *results["theory"]]
    return zip(networks, theories, strict=True)


def weight_outlier(problem: Problem) -> Floats:
    r"""Return the outlier of W Wᵀ: W_0 plus a spike of strength θ = η c_1 b.

    .. math:: (1+\theta^2)(N/d+\theta^2)/\theta^2 \quad\text{if } \theta^4 > N/d
    """
    strength = (problem.step * float(problem.sigma.c[1])) ** 2
    theta2, ratio = strength * direction(problem).b_squared, problem.N / problem.d
    if theta2**2 <= ratio:
        return np.empty(0)
    return np.array([(1 + theta2) * (ratio + theta2) / theta2])


def feature_outliers(theory: Point) -> Floats:
    """Return the predicted outliers of F Fᵀ/n."""
    spikes = theory.values["spikes"]
    return spikes[~np.isnan(spikes)]


def marchenko_pastur(problem: Problem) -> tuple[Floats, Floats]:
    """Return the density of the nonzero eigenvalues of W_0 W_0ᵀ, entries of variance 1/d."""
    small, large = sorted((problem.N, problem.d))
    gamma, scale = small / large, large / problem.d
    low, high = (1 - math.sqrt(gamma)) ** 2, (1 + math.sqrt(gamma)) ** 2
    y = np.linspace(low, high, 400)[1:-1]
    rho = np.sqrt((high - y) * (y - low)) / (2 * math.pi * gamma * y)
    return scale * y, rho / scale


def _panel(ax: Any, eigenvalues: Floats, density: tuple[Any, Any], spikes: Floats) -> None:
    """Draw singular values of all networks: bulks as one histogram, outliers as ticks, theory.

    eigenvalues : (networks, values). The axis is logarithmic, and densities are those of log s.
    """
    x, rho = np.sqrt(density[0]), 2 * density[0] * density[1]  # ds/s = dx/2x
    values, edge = np.sqrt(eigenvalues[eigenvalues > 1e-9]), x[-1]
    low = max(float(np.quantile(values, 0.01)), edge / _MAX_RANGE)
    count, bins = np.histogram(values, np.geomspace(low, 1.05 * edge, 40))
    height = count / (len(values) * np.diff(np.log(bins)))
    ax.stairs(height, bins, fill=True, color="#b8cfe0", label=f"bulk, {len(eigenvalues)} networks")
    mass = scipy.integrate.trapezoid(rho / x, x)
    ax.plot(x, rho / mass, color=style.RED, linewidth=1.3, label="bulk, theory")
    top = 1.25 * float(np.max(height))
    outside = values[values > 1.05 * edge]
    ax.vlines(outside, 0, 0.3 * top, color=style.BLUE, linewidth=0.9, label="outlier of a network")
    look = {"color": style.RED, "markersize": 6, "linestyle": "none"}
    heights = np.full(len(spikes), 0.38 * top)
    ax.plot(np.sqrt(spikes), heights, "v", label="outlier, theory", **look)
    ax.set(xlim=(low, 1.4 * max([edge, *outside, *np.sqrt(spikes)])), ylim=(0, top))
    style.log_axis(ax, "x")


def checks(results: Results) -> list[Check]:
    """Compare the predicted outliers with the mean of the networks' largest eigenvalues."""
    rows = []
    for network, theory in regimes(results):
        p = network.problem
        for name, spikes in (("W", weight_outlier(p)), ("F", feature_outliers(theory))):
            for i, value in enumerate(spikes):
                quantity, measured = f"outlier {i + 1} of {name}", network.values[name][:, i]
                accuracy, claim = outlier_accuracy(p), "outlier equation"
                rows.append(check(quantity, p, measured, float(value), claim, accuracy))
    return rows


def facts(results: Results) -> Facts:
    """Return how many outliers F has, by theory and by network, and by theory at growing n."""
    counted = []
    for spikes, (network, theory) in enumerate(regimes(results)):
        edge = _MIN_DISTANCE * float(theory.values["edge"])
        counts = np.bincount(np.sum(network.values["F"] > edge, axis=1))
        seen = [{"count": k, "networks": n} for k, n in enumerate(counts.tolist()) if n]
        predicted = len(feature_outliers(theory))
        step = f"α = {step_exponent(network.problem):.2f}" if spikes else "no step"
        number = Estimate.of(np.sum(network.values["F"] > edge, axis=1))
        counted.append({"step": step, "predicted": predicted, "seen": seen, "number": number})
    growing = [
        {"n": style.power_of_ten(p.problem.n), "predicted": len(feature_outliers(p))}
        for p in results["growing"].ordered("n")
    ]
    n = results["trained"][0].problem.n
    return {"n": n, "regimes": counted, "growing": growing}
