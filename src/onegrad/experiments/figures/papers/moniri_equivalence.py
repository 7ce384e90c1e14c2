"""Moniri et al., Ba et al.: features that give the same errors as the trained ones."""

from __future__ import annotations

import numpy as np

from onegrad.arrays import standard_error
from onegrad.experiments.checks import compare
from onegrad.experiments.figures import Drawing, style
from onegrad.experiments.results import Curve, Points, Results

MODELS = {"spiked": "F_ℓ: untrained + ℓ spikes", "gaussian": "Gaussian equivalent"}


def draw(results: Results) -> Drawing:
    figure, ((left, right),) = style.panels(2, width=4.6, height=3.5)
    style.line(left, results["uniform"].curve("alpha", "test"), 0, "uniform", "uniform theory")
    style.markers(left, results["trained"].curve("alpha", "test"), 0, "F: trained")
    for i, (name, label) in enumerate(MODELS.items(), start=1):
        style.markers(left, results[name].curve("alpha", "test"), i, label)
        for j, alpha in enumerate(results["growing-trained"].levels("alpha")):
            pairs = (results[f"growing-{k}"].where(alpha=alpha) for k in ("trained", name))
            open_ = {"markerfacecolor": style.SERIES[i]} if j else {}
            words = f"{label.split(':')[0]}, α = {alpha:.2f}"
            style.markers(right, gaps(*pairs), i, words, linestyle=("-", "--")[j], **open_)
    style.level(left, results["uniform"][0].mean("linear"), "best linear = kernel bound")
    style.thresholds(left, most=0.46)
    left.set(xlabel="step exponent α,  η = n^α", ylabel="test error")
    right.axhline(0, color="black", linewidth=0.8)
    style.log_axis(right, "x", (100, 200, 400, 800, 1600, 3200))
    right.set(xlabel="n", ylabel="test error relative to F, minus 1")
    style.legend(left, 2)
    style.legend(right, 2)
    return Drawing(figure, compare(results["trained"], results["uniform"], ("train", "test")))


def gaps(trained: Points, other: Points) -> Curve:
    """Mean relative difference of test errors on the same seeds, against n."""
    sizes = trained.levels("n")
    a, b = (
        np.array([points.where(n=n)[0].values["test"] for n in sizes])
        for points in (trained, other)
    )
    ratio = b / a - 1  # (sizes, seeds)
    return Curve(np.array(sizes), ratio.mean(1), standard_error(ratio, axis=1))
