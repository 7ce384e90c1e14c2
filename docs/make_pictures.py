"""Draw the pictures of the README, the concept page and the handbook into docs/images/.

    python docs/make_pictures.py

Everything drawn is computed here: theory as lines, real networks as points and bars.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import numpy as np
from matplotlib import pyplot as plt

import onegrad as og
from onegrad.networks import spectrum as measure

IMAGES = Path(__file__).parent / "images"
BLUE, ORANGE, GREEN, GREY = "#0072B2", "#D55E00", "#009E73", "0.75"
SETTING = og.Problem(n=4000, d=500, N=1000, activation="softplus", teacher="H1 + H2/sqrt(2)")


def bulk_and_spikes(ax: Any, problem: og.Problem, seeds: int = 3) -> None:
    """The eigenvalues of a few networks, and where theory puts them."""
    theory = og.spectrum(problem)
    values = np.concatenate([s**2 / problem.n for s in measure(problem, seeds, distances=False).F])
    counts, bins = np.histogram(values, np.geomspace(0.01, 200, 110))
    ax.stairs(counts / (seeds * problem.n * np.diff(bins)), bins, fill=True, color=GREY)
    ax.plot(theory.x, theory.rho, color=BLUE, lw=1.5)
    for k, spike in enumerate(theory.spikes):
        ax.plot(spike.eigenvalue, 4e-5, "v", color=ORANGE, ms=8)
        name = ("linear", "quadratic", "cubic", "quartic")[k]
        ax.annotate(name, (spike.eigenvalue, 4e-5), (0, 14), textcoords="offset points",
                    ha="center", color=ORANGE, fontsize=9)  # fmt: skip
    ax.set(xscale="log", yscale="log", xlim=(0.01, 200), ylim=(1e-5, 10), yticks=[])
    ax.minorticks_off()


def hero() -> plt.Figure:
    """Three spectra above the curve of the error that they belong to."""
    steps, alpha = (0.0, 0.2, 0.45), np.linspace(-0.1, 0.6, 36)
    figure = plt.figure(figsize=(10, 6.2), layout="constrained")
    grid = figure.add_gridspec(2, 3, height_ratios=(1, 1.15))
    for i, a in enumerate(steps):
        ax = figure.add_subplot(grid[0, i])
        bulk_and_spikes(ax, SETTING.replace(eta=0.0) if i == 0 else SETTING.replace(alpha=a))
        title = "no step" if i == 0 else rf"$\eta = n^{{{a:g}}}$"
        ax.set_title(f"{'ABC'[i]}   {title}", loc="left")
        ax.set_xlabel("eigenvalues of the features")
    ax = figure.add_subplot(grid[1, :])
    few = np.linspace(0, 0.6, 7)
    found = og.simulate(SETTING, seeds=5, alpha=few).test
    theory = og.predict(SETTING, alpha=alpha)
    ax.plot(alpha, theory.test, color=BLUE, label="theory, n = 4000")
    ax.errorbar(few, found.mean, found.se, fmt="o", color="k", ms=5, label="5 networks")
    ax.axhline(theory.kernel_bound[0], color=ORANGE, ls="--", lw=1, label="bound for kernels")
    for x, k in zip(og.thresholds(2), ("linear spike", "quadratic spike"), strict=True):
        ax.axvline(x, color="0.8", lw=1, zorder=0)
        ax.text(x + 0.005, 0.97, k, transform=ax.get_xaxis_transform(), va="top", color="0.4")
    for name, a in zip("BC", steps[1:], strict=True):
        y = float(np.interp(a, alpha, theory.test))
        ax.annotate(name, (a, y), (8, 8), textcoords="offset points", weight="bold")
    ax.set(xlabel=r"step exponent $\alpha$, with $\eta = n^\alpha$", ylabel="test error")
    ax.legend(frameon=False, loc="upper right")
    return figure


def setting() -> plt.Figure:
    """What one step does to single neurons: overlap with the teacher, before and after."""
    rng = np.random.default_rng(0)
    n, d, N = 2000, 200, 400
    W, a = rng.standard_normal((N, d)) / np.sqrt(d), rng.standard_normal(N) / np.sqrt(N)
    X = rng.standard_normal((n, d))
    y = X[:, 0] + (X[:, 0] ** 2 - 1) / np.sqrt(2)
    slope = 1 / (1 + np.exp(-X @ W.T))  # of softplus
    G = (slope * np.outer(y, a)).T @ X / n
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained", sharey=True)
    for ax, eta in zip(axes, (0.0, n**0.4), strict=True):
        moved = W + eta * G
        overlap = moved[:, 0] / np.linalg.norm(moved, axis=1)
        ax.plot(np.sqrt(N) * a, overlap, ".", color=BLUE, alpha=0.6)
        ax.axhline(0, color="0.8", lw=0.8, zorder=0)
        ax.set(xlabel=r"readout $\sqrt{N}\,a_i$", title="before" if eta == 0 else "after one step")
    axes[0].set_ylabel("cosine of a neuron with the teacher")
    return figure


def random_features() -> plt.Figure:
    """Untrained features against the ridge."""
    problem = og.Problem(n=800, d=400, N=600, activation="relu", teacher="H1", noise=0.5)
    ridge, few = np.geomspace(1e-4, 10, 40), np.geomspace(1e-4, 10, 9)
    theory = og.predict(problem, "random-features", ridge=ridge)
    found = og.simulate(problem, seeds=10, ridge=few)
    figure, ax = plt.subplots(figsize=(6, 3.4), layout="constrained")
    for name, colour in (("test", ORANGE), ("train", BLUE)):
        ax.plot(ridge, getattr(theory, name), color=colour, label=f"{name}, theory")
        m = getattr(found, name)
        ax.errorbar(few, m.mean, m.se, fmt="o", color=colour, ms=4, label="10 networks")
    ax.set(xscale="log", xlabel=r"ridge $\lambda$", ylabel="error", ylim=(0, 3))
    ax.legend(frameon=False)
    return figure


def small_step() -> plt.Figure:
    """What a step of order one gains."""
    problem = og.Problem(n=2000, d=1000, N=1500, activation="tanh", teacher="H1", noise=0.3)
    eta, few = np.linspace(0.05, 4, 40), np.array([0.5, 1.0, 2.0, 4.0])
    at_zero = og.predict(problem, "random-features").test
    gain = at_zero - og.predict(problem, "small-step", eta=eta).test
    found = og.simulate(problem, seeds=6, eta=[0.0, *few]).test.values
    drops = found[:, :1] - found[:, 1:]
    figure, ax = plt.subplots(figsize=(6, 3.4), layout="constrained")
    ax.plot(eta, gain, color=BLUE, label=r"$\delta$, theory")
    se = drops.std(0, ddof=1) / np.sqrt(len(drops))
    ax.errorbar(few, drops.mean(0), se, fmt="ko", ms=4, label="6 networks, paired")
    ax.set(xlabel=r"step $\eta$", ylabel="test error gained")
    ax.legend(frameon=False)
    return figure


def staircase() -> plt.Figure:
    """The stairs of the limit, and theory at two sizes."""
    alpha, few = np.linspace(0.01, 0.49, 49), np.array([0.1, 0.2, 0.3, 0.4])
    figure, ax = plt.subplots(figsize=(6, 3.4), layout="constrained")
    for n, colour in ((1000, GREY), (100_000, BLUE)):
        problem = og.Problem(
            n=n, d=n // 4, N=n // 2, activation="softplus", teacher=SETTING.teacher
        )
        ax.plot(alpha, og.predict(problem, alpha=alpha).test, color=colour, label=f"n = {n:,}")
        if n == 1000:
            found = og.simulate(problem, seeds=10, alpha=few).test
            ax.errorbar(few, found.mean, found.se, fmt="ko", ms=4, label="10 networks, n = 1,000")
    edges = [*og.thresholds(4), 0.4]
    for i in range(4):
        inside = np.linspace(edges[i] + 1e-3, edges[i + 1] - 1e-3, 9)
        limit = og.predict(problem, "staircase", alpha=inside).test
        ax.plot(inside, limit, "--", color=ORANGE, label="limit" if i == 0 else None)
    ax.set(xlabel=r"step exponent $\alpha$", ylabel="test error")
    ax.legend(frameon=False)
    return figure


def spikes() -> plt.Figure:
    """Positions of the outliers along the step."""
    alpha, few = np.linspace(0.0, 0.5, 41), np.array([0.1, 0.2, 0.3, 0.4, 0.5])
    problem = SETTING.replace(n=800, d=300, N=600)
    figure, ax = plt.subplots(figsize=(6, 3.4), layout="constrained")
    theory = [og.spectrum(problem.replace(alpha=a)) for a in alpha]
    for k, colour in ((0, BLUE), (1, ORANGE)):
        values = [s.spikes[k].eigenvalue if len(s.spikes) > k else np.nan for s in theory]
        ax.plot(alpha, values, color=colour, label=("linear", "quadratic")[k])
    ax.axhline(theory[0].edge, color="0.6", label="edge of the bulk")
    for a in few:
        top = measure(problem.replace(alpha=a), 3, distances=False).eigenvalues[:, :2]
        ax.plot([a] * top.size, top.ravel(), "k.", ms=4)
    ax.set(yscale="log", xlabel=r"step exponent $\alpha$", ylabel="eigenvalue")
    ax.legend(frameon=False)
    return figure


PICTURES = {
    "hero": hero,
    "neurons": setting,
    "handbook-random-features": random_features,
    "handbook-small-step": small_step,
    "handbook-staircase": staircase,
    "handbook-spikes": spikes,
}

if __name__ == "__main__":
    import sys
    import warnings

    warnings.simplefilter("ignore", og.AssumptionWarning)  # steps on thresholds
    for name in sys.argv[1:] or PICTURES:
        PICTURES[name]().savefig(IMAGES / f"{name}.png", dpi=110)
        print(f"docs/images/{name}.png")
