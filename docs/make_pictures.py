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


def eigenvalues_along(ax: Any, problem: og.Problem, alpha: np.ndarray) -> None:
    """One network a column: its bulk as shades, what has left the bulk as dots."""
    bins = np.geomspace(0.03, 300, 90)
    shades, edge = np.zeros((len(bins) - 1, len(alpha))), og.spectrum(problem).edge
    for i, a in enumerate(alpha):
        F = measure(problem.replace(alpha=a), seeds=1, distances=False).F[0]
        values = F**2 / problem.n
        shades[:, i] = np.histogram(values[values < 1.1 * edge], bins)[0]
        out = values[values >= 1.1 * edge]
        ax.plot([a] * len(out), out, "o", color="k", ms=3.5, zorder=3)
    ax.pcolormesh(alpha, (bins[1:] * bins[:-1]) ** 0.5, shades, cmap="Blues", shading="nearest",
                  vmax=1.6 * shades.max(), rasterized=True)  # fmt: skip


def spike_lines(ax: Any, problem: og.Problem, alpha: np.ndarray) -> None:
    """Where theory puts the outliers, each by the degree that it has learned."""
    theory = [og.spectrum(problem.replace(alpha=a)) for a in alpha]
    for k, (name, colour) in enumerate(zip(("linear", "quadratic"), (ORANGE, GREEN), strict=True)):
        value = np.array([s.spikes[k].eigenvalue if len(s.spikes) > k else np.nan for s in theory])
        ax.plot(alpha, value, color=colour, lw=2)
        i = len(alpha) - 6
        ax.annotate(f"{name} spike", (alpha[i], value[i]), (-6, 8), textcoords="offset points",
                    ha="right", color=colour, weight="bold")  # fmt: skip


def hero() -> plt.Figure:
    """The eigenvalues of real networks along the step, above the error that goes down with them."""
    columns, alpha = np.linspace(-0.1, 0.55, 40), np.linspace(-0.11, 0.56, 45)
    figure, (top, ax) = plt.subplots(2, 1, figsize=(9, 6.4), layout="constrained", sharex=True,
                                     height_ratios=(1.25, 1))  # fmt: skip
    eigenvalues_along(top, SETTING, columns)
    spike_lines(top, SETTING, alpha)
    top.set(yscale="log", ylim=(0.05, 250), ylabel="eigenvalues of the features")
    top.text(-0.1, 0.3, "the bulk", color="white", weight="bold")
    top.text(-0.1, 60, "dots and shades: one network for every step\nlines: theory", color="0.3")

    few = np.linspace(-0.1, 0.5, 7)
    found = og.simulate(SETTING, seeds=5, alpha=few).test
    theory = og.predict(SETTING, alpha=alpha)
    bound = theory.kernel_bound[0]
    ax.axhspan(0, bound, color=GREEN, alpha=0.08, lw=0)
    ax.plot(alpha, theory.test, color=BLUE, lw=2)
    ax.errorbar(few, found.mean, found.se, fmt="o", color="k", ms=5)
    ax.text(-0.1, bound - 0.03, "below this line no rotation-invariant kernel gets", va="top",
            color=GREEN)  # fmt: skip
    ax.text(-0.1, 0.32, "dots: five networks each\nline: theory, nothing fitted", color="0.3")
    ax.set(xlabel=r"size of the one gradient step: $\alpha$, with $\eta = n^\alpha$",
           ylabel="test error", xlim=(-0.11, 0.56), ylim=(0.25, 1.4))  # fmt: skip
    for axis in (top, ax):
        for x in og.thresholds(2):
            axis.axvline(x, color="0.6", lw=0.8, ls=":", zorder=1)
        axis.spines[["top", "right"]].set_visible(False)
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
