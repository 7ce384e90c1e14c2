"""Errors and spectra for step exponents from a half to one."""

from __future__ import annotations

import numpy as np

from onegrad.experiments.checks import compare
from onegrad.experiments.results import Curve, Results
from onegrad.studies.drawing import Drawing, style


def draw(results: Results) -> Drawing:
    figure, axes = style.panels(3, width=3.9, height=3.8)
    lines = []
    for i, name in enumerate(dict.fromkeys(p.problem.activation for p in results["networks"])):
        networks, theory = (results[k].where(activation=name) for k in ("networks", "uniform"))
        for ax, quantity in zip(axes[0], ("test", "train"), strict=False):
            style.markers(ax, networks.curve("alpha", quantity), i, f"{name}, networks")
            style.line(ax, theory.curve("alpha", quantity), i, f"{name}, theory")
        top = [(p.problem.alpha, p.values["F"][:, 0]) for p in
               results["spectrum"].where(activation=name).ordered("alpha")]  # fmt: skip
        x, values = np.array([a for a, _ in top]), np.array([v.mean() for _, v in top])
        style.markers(axes[0, 2], Curve(x, values, 0 * x), i, name, linestyle="-")
        lines.append(said(name, networks.curve("alpha", "test"), theory.curve("alpha", "test")))
    for ax, label in zip(axes[0], ("test error", "training objective", "largest eigenvalue"),
                         strict=True):  # fmt: skip
        ax.axvline(0.5, color="#888888", linewidth=0.8, linestyle=":")
        ax.set(xlabel="step exponent α", ylabel=label)
        style.legend(ax, 2)
    axes[0, 2].set_yscale("log")
    checks = compare(results["networks"], results["uniform"], ("train", "test"))
    return Drawing(figure, checks, (), " ".join(lines))


def said(name: str, networks: Curve, theory: Curve) -> str:
    half = int(np.argmin(np.abs(networks.x - 0.5)))
    best = int(np.argmin(networks.y))
    off = np.abs(theory.y / networks.y - 1)
    return (
        f"{name}: the test error is lowest at α = {networks.x[best]:.2f} "
        f"({networks.y[best]:.3f} ± {networks.se[best]:.3f}; {networks.y[half]:.3f} at ½, "
        f"{networks.y[-1]:.3f} ± {networks.se[-1]:.3f} at 1); the uniform theory is off by at most "
        f"{off[: half + 1].max():.1%} up to ½ and {off[half:].max():.1%} beyond."
    )
