"""Whether a free constant raises the quadratic gain by half."""

from __future__ import annotations

import numpy as np

from onegrad.experiments.checks import compare
from onegrad.experiments.figures import Drawing, style
from onegrad.experiments.results import Results

LABELS = {False: "no constant", True: "free constant"}


def draw(results: Results) -> Drawing:
    sizes = results["networks"].levels("n")
    figure, axes = style.panels(len(sizes), width=4.4, height=3.8)
    lines = []
    for ax, n in zip(axes[0], sizes, strict=True):
        gains = []
        for i, (free, label) in enumerate(LABELS.items()):
            networks, theory = (
                results[k].where(n=n, intercept=free) for k in ("networks", "uniform")
            )
            curve = networks.curve("alpha", "test")
            style.markers(ax, curve, i, f"{label}, networks")
            style.line(ax, theory.curve("alpha", "test"), i, "uniform", f"{label}, theory")
            se = float(np.hypot(curve.se[0], curve.se[-1]))
            gains.append((float(curve.y[0] - curve.y[-1]), se))
        ax.set(title=f"n = {n}", xlabel="step exponent α", ylabel="test error")
        style.legend(ax, 2)
        (without, se0), (with_, se1) = gains
        ratio = with_ / without
        se = ratio * np.hypot(se0 / without, se1 / with_)
        lines.append(
            f"n = {n}: from α = 0 to ½ the test error falls by {without:.3f} ± {se0:.3f} without "
            f"and {with_:.3f} ± {se1:.3f} with a free constant, a ratio of {ratio:.2f} ± {se:.2f}."
        )
    checks = compare(results["networks"], results["uniform"], ("train", "test"))
    return Drawing(figure, checks, (), " ".join(lines))
