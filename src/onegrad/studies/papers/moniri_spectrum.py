"""Moniri et al.: spectra of W and F in the regimes of 0, 1, 2, 3 spikes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.integrate

from onegrad.arrays import Floats
from onegrad.experiments.checks import Check, check, outlier_accuracy
from onegrad.experiments.results import Point, Results
from onegrad.pictures import style
from onegrad.problem import Problem
from onegrad.studies.text import Facts
from onegrad.theory.direction import direction

_MIN_DISTANCE = 1.1  # an eigenvalue of F this many edges out is counted as an outlier


def draw(results: Results) -> Any:
    """Draw the singular values of W above those of F, one column per regime."""
    figure, axes = style.panels(4, 2, width=2.7, height=2.5)
    for column, (network, theory) in enumerate(regimes(results)):
        p = network.problem
        step = "untrained" if p.step == 0 else f"η = {p.step:.1f}"
        axes[0, column].set_title(f"ℓ = {column}: {step}")
        _panel(axes[0, column], network.values["W"], marchenko_pastur(p), weight_outlier(p))
        density = (theory.values["x"], theory.values["rho"])
        _panel(axes[1, column], network.values["F"], density, feature_outliers(theory))
    for row, name in enumerate(("W", "F/√n")):
        axes[row, 0].set_ylabel("density")
        for ax in axes[row]:
            ax.set_xlabel(f"singular value of {name}")
    figure.legend(*axes[0, 1].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    return figure


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

    eigenvalues : (networks, values).
    """
    x, rho = np.sqrt(density[0]), 2 * np.sqrt(density[0]) * density[1]
    values, edge = np.sqrt(eigenvalues[eigenvalues > 1e-9]), x[-1]
    count, bins = np.histogram(values, np.linspace(0, 1.05 * edge, 40))
    height = count / (len(values) * (bins[1] - bins[0]))
    ax.stairs(height, bins, fill=True, color="#b8cfe0", label=f"bulk, {len(eigenvalues)} networks")
    mass = scipy.integrate.trapezoid(rho, x)
    ax.plot(x, rho / mass, color=style.RED, linewidth=1.3, label="bulk, asymptotic theory")
    top = 1.2 * float(np.max(height[1:]))
    outside = values[values > 1.05 * edge]
    ax.vlines(outside, 0, 0.3 * top, color=style.BLUE, linewidth=1.2, label="outlier of a network")
    look = {"color": style.RED, "markersize": 6, "linestyle": "none"}
    heights = np.full(len(spikes), 0.38 * top)
    ax.plot(np.sqrt(spikes), heights, "v", label="outlier, asymptotic theory", **look)
    ax.set_ylim(0, top)
    ax.set_xlim(0, 1.12 * max([edge, *outside, *np.sqrt(spikes)]))


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
        counted.append({"spikes": spikes, "predicted": predicted, "seen": seen})
    growing = [
        {"n": style.power_of_ten(p.problem.n), "predicted": len(feature_outliers(p))}
        for p in results["growing"].ordered("n")
    ]
    return {"regimes": counted, "growing": growing}
