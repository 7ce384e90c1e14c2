"""Errors and spectra for step exponents from a half to one."""

from __future__ import annotations

from typing import Any

import numpy as np

from onegrad.experiments.checks import Check, compare_results
from onegrad.experiments.results import Results
from onegrad.pictures import Curve, style
from onegrad.studies.text import Estimate, Facts


def draw(results: Results) -> Any:
    """Draw both errors and the largest eigenvalue against the step exponent."""
    figure, axes = style.panels(3, width=3.9, height=3.8)
    for i, name in enumerate(results["networks"].distinct("activation")):
        networks, theory = (results[k].where(activation=name) for k in ("networks", "uniform"))
        for ax, quantity in zip(axes[0], ("test", "train"), strict=False):
            style.markers(ax, networks.curve("alpha", quantity), i, f"{name}, networks")
            style.line(ax, theory.curve("alpha", quantity), i, f"{name}, theory")
        spectra = results["spectrum"].where(activation=name).ordered("alpha")
        x = np.array([p.problem.alpha for p in spectra])
        largest = np.array([p.values["F"][:, 0].mean() for p in spectra])
        style.markers(axes[0, 2], Curve(x, largest, 0 * x), i, name, linestyle="-")
    labels = ("test error", "training objective", "largest eigenvalue")
    for ax, label in zip(axes[0], labels, strict=True):
        ax.axvline(0.5, color="#888888", linewidth=0.8, linestyle=":")
        ax.set(xlabel="step exponent α", ylabel=label)
        style.legend(ax, 2)
    axes[0, 2].set_yscale("log")
    return figure


def checks(results: Results) -> list[Check]:
    """Compare both errors with the uniform theory."""
    return compare_results(results["networks"], results["uniform"], ("train", "test"))


def facts(results: Results) -> Facts:
    """Return for each activation the best exponent and the largest differences from theory."""
    activations = []
    for name in results["networks"].distinct("activation"):
        networks, theory = (
            results[k].where(activation=name).curve("alpha", "test")
            for k in ("networks", "uniform")
        )
        half = int(np.argmin(np.abs(networks.x - 0.5)))
        best = int(np.argmin(networks.y))
        difference = np.abs(theory.y / networks.y - 1)
        activations.append(
            {
                "activation": name,
                "best_alpha": networks.x[best],
                "best": Estimate.at(networks, best),
                "at_half": networks.y[half],
                "at_one": Estimate.at(networks, -1),
                "difference_below": difference[: half + 1].max(),
                "difference_beyond": difference[half:].max(),
            }
        )
    return {"activations": activations}
