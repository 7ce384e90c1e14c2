"""Moniri et al., Ba et al.: features that give the same errors as the trained ones."""

from __future__ import annotations

import numpy as np

from onegrad.arrays import standard_error
from onegrad.experiments.checks import compare
from onegrad.experiments.figures import Drawing, style
from onegrad.experiments.results import Points, Results

MODELS = {"spiked": "F_ℓ: untrained + ℓ spikes", "gaussian": "Gaussian equivalent"}


def draw(results: Results) -> Drawing:
    figure, axes = style.panels(2, width=4.6, height=3.5)
    left, right = axes[0]
    style.line(left, results["uniform"].curve("alpha", "test"), 0, "uniform", "uniform theory")
    style.markers(left, results["trained"].curve("alpha", "test"), 0, "F: trained")
    for i, (name, label) in enumerate(MODELS.items(), start=1):
        style.markers(left, results[name].curve("alpha", "test"), i, label)
        for j, alpha in enumerate(results["growing-trained"].levels("alpha")):
            pairs = (results[f"growing-{k}"].where(alpha=alpha) for k in ("trained", name))
            n, gap, se = gaps(*pairs)
            open_ = {"markerfacecolor": style.SERIES[i]} if j else {}
            words = f"{label.split(':')[0]}, α = {alpha:.2f}"
            style.errorbars(right, n, gap, se, i, words, linestyle=("-", "--")[j], **open_)
    style.level(left, results["uniform"][0].mean("linear"), "best linear = kernel bound")
    style.thresholds(left, most=0.46)
    left.set_xlabel("step exponent α,  η = n^α")
    left.set_ylabel("test error")
    right.axhline(0, color="black", linewidth=0.8)
    style.log_axis(right, "x", (100, 200, 400, 800, 1600, 3200))
    right.set_xlabel("n")
    right.set_ylabel("test error relative to F, minus 1")
    style.legend(left, 2)
    style.legend(right, 2)
    return Drawing(figure, compare(results["trained"], results["uniform"], ("train", "test")))


def gaps(trained: Points, other: Points) -> tuple[list[int], list[float], list[float]]:
    """Mean relative difference of test errors on the same seeds, and its standard error."""
    n, gap, se = [], [], []
    for size in trained.levels("n"):
        a, b = (points.where(n=size)[0].values["test"] for points in (trained, other))
        ratio = b / a - 1
        n.append(size)
        gap.append(float(np.mean(ratio)))
        se.append(float(standard_error(ratio)))
    return n, gap, se
