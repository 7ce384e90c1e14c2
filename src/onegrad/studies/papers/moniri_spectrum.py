"""Moniri et al.: spectra of W and F in the regimes of 0, 1, 2, 3 spikes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.integrate

from onegrad.arrays import Floats
from onegrad.experiments.checks import Check, check, outlier_accuracy
from onegrad.experiments.results import Point, Points, Results
from onegrad.problem import Problem
from onegrad.studies.drawing import Drawing, style
from onegrad.theory.direction import direction


def draw(results: Results) -> Drawing:
    figure, axes = style.panels(4, 2, width=2.7, height=2.5)
    networks = [results["untrained"][0], *results["trained"]]
    theories = [results["theory-untrained"][0], *results["theory"]]
    checks: list[Check] = []
    for column, (network, theory) in enumerate(zip(networks, theories, strict=True)):
        p = network.problem
        step = "untrained" if p.step == 0 else f"η = {p.step:.1f}"
        axes[0, column].set_title(f"ℓ = {column}: {step}")
        spike = weight_outlier(p)
        _panel(axes[0, column], network.values["W"], marchenko_pastur(p), spike)
        found = theory.values["spikes"][~np.isnan(theory.values["spikes"])]
        density = (theory.values["x"], theory.values["rho"])
        _panel(axes[1, column], network.values["F"], density, found)
        checks += _checks("W", network, spike) + _checks("F", network, found)
    for row, name in enumerate(("W", "F/√n")):
        axes[row, 0].set_ylabel("density")
        for ax in axes[row]:
            ax.set_xlabel(f"singular value of {name}")
    figure.legend(*axes[0, 1].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    notes = [_counts(networks, theories), _growing(results["growing"])]
    return Drawing(figure, checks, notes)


def weight_outlier(problem: Problem) -> Floats:
    r"""The outlier of W Wᵀ: W_0 plus a spike of strength θ = η c_1 b.

    .. math:: (1+\theta^2)(N/d+\theta^2)/\theta^2 \quad\text{if } \theta^4 > N/d
    """
    strength = (problem.step * float(problem.sigma.c[1])) ** 2
    theta2, ratio = strength * direction(problem).b_squared, problem.N / problem.d
    if theta2**2 <= ratio:
        return np.empty(0)
    return np.array([(1 + theta2) * (ratio + theta2) / theta2])


def marchenko_pastur(problem: Problem) -> tuple[Floats, Floats]:
    """Density of the nonzero eigenvalues of W_0 W_0ᵀ with entries of variance 1/d."""
    small, large = sorted((problem.N, problem.d))
    gamma, scale = small / large, large / problem.d
    low, high = (1 - math.sqrt(gamma)) ** 2, (1 + math.sqrt(gamma)) ** 2
    y = np.linspace(low, high, 400)[1:-1]
    rho = np.sqrt((high - y) * (y - low)) / (2 * math.pi * gamma * y)
    return scale * y, rho / scale


def _panel(ax: Any, eigenvalues: Floats, density: tuple[Any, Any], spikes: Floats) -> None:
    """Singular values of all networks: bulks as one histogram, outliers as ticks, theory over it.

    eigenvalues : a row a network.
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
    style_ = {"color": style.RED, "markersize": 6, "linestyle": "none"}
    at = np.full(len(spikes), 0.38 * top)
    ax.plot(np.sqrt(spikes), at, "v", label="outlier, asymptotic theory", **style_)
    ax.set_ylim(0, top)
    ax.set_xlim(0, 1.12 * max([edge, *outside, *np.sqrt(spikes)]))


def _checks(name: str, network: Point, spikes: Floats) -> list[Check]:
    """Predicted outliers against the mean over seeds of the network's largest eigenvalues."""
    stated = outlier_accuracy(network.problem)
    return [
        check(f"outlier {i + 1} of {name}", network.problem, network.values[name][:, i],
              float(value), "outlier equation", stated)
        for i, value in enumerate(spikes)
    ]  # fmt: skip


def _counts(networks: list[Point], theories: list[Point]) -> str:
    """How many outliers networks have, beside theory's count."""
    words = []
    for ell, (network, theory) in enumerate(zip(networks, theories, strict=True)):
        edge = 1.1 * float(theory.values["edge"])
        counts = np.bincount(np.sum(network.values["F"] > edge, axis=1))
        seen = ", ".join(f"{k} in {times}" for k, times in enumerate(counts) if times)
        words.append(f"ℓ = {ell}: {np.sum(~np.isnan(theory.values['spikes']))} ({seen})")
    lead = "Outliers of F by theory, and in how many networks (10 % off the edge)"
    return f"{lead}: {'; '.join(words)}."


def _growing(points: Points) -> str:
    counts = {p.problem.n: int(np.sum(~np.isnan(p.values["spikes"]))) for p in points}
    words = ", ".join(f"{k} at n = {style.power_of_ten(n)}" for n, k in sorted(counts.items()))
    return f"Outliers of F that theory finds at α = 0.36 (three as n → ∞): {words}."
