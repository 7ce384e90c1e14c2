"""Moniri et al.: what the step gains in training objective and test error, paired by seed."""

from typing import Any

from onegrad.experiments import Check, Results, check
from onegrad.pictures import style
from onegrad.studies.drawing import gains, values_at, with_gaps
from onegrad.studies.findings import Estimate, Facts

_SETTINGS = "12"
_LABELS = {"train": "training objective", "test": "test error"}
_SYMBOLS = {"train": r"$\Delta$", "test": r"$\Lambda$"}
STAIRCASES = {"corrected": r"$n\to\infty$", "printed": "as in the text we had"}
_FIRST_STAIR, _SECOND_STAIR = 0.1, 0.29  # exponents on the first and on the second stair


def draw(results: Results) -> Any:
    """Draw both gains against the step exponent, one row per setting."""
    figure, axes = style.panels(2, 2, width=4.6, height=3.2)
    for row, k in zip(axes, _SETTINGS, strict=True):
        simulated = gains(results.joined(f"simulation-{k}", f"untrained-{k}"), *_LABELS)
        uniform = gains(results.joined(f"uniform-{k}", f"uniform-untrained-{k}"), *_LABELS)
        for ax, (quantity, label) in zip(row, _LABELS.items(), strict=True):
            style.markers(ax, simulated.curve("alpha", quantity), 0, "networks, paired")
            style.line(ax, uniform.curve("alpha", quantity), 0, "uniform theory")
            for i, (name, words) in enumerate(STAIRCASES.items(), start=1):
                stairs = gains(results.joined(f"{name}-{k}", f"limit-{k}"), *_LABELS)
                curve = with_gaps(stairs.curve("alpha", quantity))
                dash = style.DOTS if name == "printed" else style.LONG_DASHES
                style.line(ax, curve, i, f"staircase, {words}", dash=dash)
            ax.axhline(0, color="black", linewidth=0.8)
            ax.set(xlabel=style.STEP_EXPONENT, ylabel=f"gain in the {label}")
            style.heading(ax, f"Setting {k}: {_SYMBOLS[quantity]}", "left")
            style.mark_thresholds(ax, low=-1.0)
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=4)
    return figure


def checks(results: Results) -> list[Check]:
    """Compare the gains at exponents >= 0 with the uniform theory.

    The accuracy of a gain is that of the error after the step.
    """
    rows = []
    for k in _SETTINGS:
        untrained = results[f"uniform-untrained-{k}"][0]
        simulated = gains(results.joined(f"simulation-{k}", f"untrained-{k}"), *_LABELS)
        for p in simulated:
            near = results[f"uniform-{k}"].where(alpha=p.problem.alpha)
            if (p.problem.alpha or 0.0) < 0 or not len(near):
                continue
            for q in _LABELS:
                expected = untrained.mean(q) - near[0].mean(q)
                accuracy = near[0].accuracy(q) * near[0].mean(q) / abs(expected or 1.0)
                claim = "uniform, of the level"
                rows.append(check(f"gain, {q}", p.problem, p.values[q], expected, claim, accuracy))
    return rows


def facts(results: Results) -> Facts:
    """Return the limits of the gain in test error on both stairs, by setting and staircase."""
    settings = []
    for k in _SETTINGS:
        limits = []
        for name, words in {"corrected": "corrected", "printed": "as printed"}.items():
            stairs = gains(results.joined(f"{name}-{k}", f"limit-{k}"), *_LABELS)
            first, second = values_at(stairs.curve("alpha", "test"), _FIRST_STAIR, _SECOND_STAIR)
            two = abs(second - first) > 1e-6
            limits.append({"formulas": words, "first": first, "second": second, "stairs": two})
        simulated = gains(results.joined(f"simulation-{k}", f"untrained-{k}"), *_LABELS)
        largest = max(simulated, key=lambda p: p.mean("test"))
        measured = Estimate.of(largest.values["test"])
        settings.append({"setting": k, "limits": limits, "measured": measured})
    return {"settings": settings}
