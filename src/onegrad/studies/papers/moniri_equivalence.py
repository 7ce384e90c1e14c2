"""Moniri et al., Ba et al.: features that give the same errors as the trained ones."""

from __future__ import annotations

import numpy as np

from onegrad.arrays import standard_error
from onegrad.experiments.checks import compare
from onegrad.experiments.results import Curve, Points, Results
from onegrad.studies.drawing import Drawing, style

MODELS = {"spiked": "F_ℓ: untrained + ℓ spikes", "gaussian": "Gaussian equivalent"}


def draw(results: Results) -> Drawing:
    figure, ((left, right),) = style.panels(2, width=4.6, height=3.9)
    style.line(left, results["uniform"].curve("alpha", "test"), 0, "uniform theory")
    style.markers(left, results["trained"].curve("alpha", "test"), 0, "F: trained")
    notes = []
    for i, (name, label) in enumerate(MODELS.items(), start=1):
        style.markers(left, results[name].curve("alpha", "test"), i, label)
        for j, alpha in enumerate(results["growing-trained"].levels("alpha")):
            pairs = (results[f"growing-{k}"].where(alpha=alpha) for k in ("trained", name))
            curve = gaps(*pairs)
            look = {"markerfacecolor": style.SERIES[i]} if j else {}
            words = f"{label.split(':')[0]}, α = {alpha:.2f}"
            style.markers(right, curve, i, words, linestyle=("-", "--")[j], **look)
            size, last = int(curve.x[-1]), f"{curve.y[-1]:+.1f} ± {curve.se[-1]:.1f} %"
            notes.append(f"{words}: {curve.y[0]:+.1f} % at n = {curve.x[0]:.0f}, {last}")
    style.level(left, results["uniform"][0].mean("linear"), "best linear = kernel bound")
    style.mark_thresholds(left, high=0.46)
    left.set(xlabel="step exponent α,  η = n^α", ylabel="test error")
    right.axhline(0, color="black", linewidth=0.8, label="Theorem 4.1: F_ℓ, n → ∞")
    style.log_axis(right, "x", results["growing-trained"].levels("n"))
    right.set(xlabel="n", ylabel="test error relative to F, minus 1, in %")
    style.legend(left, 2)
    style.legend(right, 2)
    checks = compare(results["trained"], results["uniform"], ("train", "test"))
    return Drawing(figure, checks, [f"Gap to F: {'; '.join(notes)} at n = {size}."])


def gaps(trained: Points, other: Points) -> Curve:
    """Relative difference of mean test errors on the same seeds, against n."""
    sizes = trained.levels("n")
    a, b = (
        np.array([points.where(n=n)[0].values["test"] for n in sizes])
        for points in (trained, other)
    )
    ratio = b.mean(1) / a.mean(1)  # (sizes,)
    linear = (b - ratio[:, None] * a) / a.mean(1)[:, None]  # its deviation seed by seed
    return Curve(np.array(sizes), 100 * (ratio - 1), 100 * standard_error(linear, axis=1))
