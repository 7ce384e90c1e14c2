"""Moniri et al.: what the step gains in training objective and test error, paired by seed."""

from __future__ import annotations

import numpy as np

from onegrad.experiments.checks import Check, check, uniform_accuracy
from onegrad.experiments.results import Point, Points, Results
from onegrad.studies.drawing import Drawing, style
from onegrad.studies.papers.moniri_setting1 import broken

NAMES = {"train": "Δ: training objective", "test": "Λ: test error"}


def draw(results: Results) -> Drawing:
    figure, axes = style.panels(2, 2, width=4.6, height=3.2)
    checks: list[Check] = []
    for row, k in zip(axes, "12", strict=True):
        simulated = gains(results[f"simulation-{k}"], results[f"untrained-{k}"])
        uniform = gains(results[f"uniform-{k}"], results[f"uniform-untrained-{k}"])
        for ax, (quantity, label) in zip(row, NAMES.items(), strict=True):
            style.markers(ax, simulated.curve("alpha", quantity), 0, "networks, paired")
            style.line(ax, uniform.curve("alpha", quantity), 0, "uniform theory")
            for name, i, words in (("corrected", 1, "n → ∞"), ("printed", 2, "as printed")):
                stairs = gains(results[f"{name}-{k}"], results[f"limit-{k}"])
                curve = broken(stairs.curve("alpha", quantity))
                dash = style.DOTS if name == "printed" else style.LONG_DASHES
                style.line(ax, curve, i, f"staircase, {words}", dash=dash)
            ax.axhline(0, color="black", linewidth=0.8)
            ax.set(xlabel="step exponent α,  η = n^α", ylabel=f"gain in the {label[3:]}")
            style.heading(ax, f"Setting {k}: {label[0]}", "left")
            style.mark_thresholds(ax, low=-1.0)
        checks += _checks(simulated, results[f"simulation-{k}"], uniform)
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=4)
    return Drawing(figure, checks, [_note(results, k) for k in "12"])


def gains(points: Points, start: Points) -> Points:
    """Errors before the step less those after it, of the same seed or theory."""
    before = start[0].values
    return Points(
        [
            Point(p.problem, {q: before[q] - p.values[q] for q in NAMES}, p.seeded)
            for p in points
            if p.problem.step > 0
        ]
    )


def _checks(simulated: Points, levels: Points, uniform: Points) -> list[Check]:
    """Gains of alpha >= 0 against the uniform theory's, whose stated accuracy is of the levels."""
    theory = {round(p.problem.alpha or 0.0, 9): p for p in uniform}
    found = []
    for p, level in zip(simulated, (p for p in levels if p.problem.step > 0), strict=True):
        alpha = round(p.problem.alpha or 0.0, 9)
        if alpha < 0 or alpha not in theory:
            continue
        for q in NAMES:
            expected = theory[alpha].mean(q)
            stated = uniform_accuracy(p.problem) * level.mean(q) / abs(expected or 1.0)
            values = p.problem, p.values[q], expected
            found.append(check(f"gain, {q}", *values, "uniform, of the level", stated))
    return found


def _note(results: Results, k: str) -> str:
    """The limits of the gains in numbers."""
    words = []
    for name, label in (("corrected", "corrected"), ("printed", "as printed")):
        stairs = gains(results[f"{name}-{k}"], results[f"limit-{k}"])
        curve = stairs.curve("alpha", "test")
        first, second = (float(np.interp(a, curve.x, curve.y)) for a in (0.1, 0.29))
        values = [
            f"Λ₁ = {first:.3f}",
            *([f"Λ₂ = {second:.3f}"] if abs(second - first) > 1e-6 else []),
        ]
        words.append(f"{', '.join(values)} {label}")
    return f"Setting {k}, n → ∞: {'; '.join(words)}."
