"""Which degrees are learned when, outliers of the weights after two steps, reused batches."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from onegrad.arrays import Floats, standard_error
from onegrad.experiments.checks import Check
from onegrad.experiments.results import Curve, Point, Points, Results
from onegrad.studies.drawing import Drawing, style

PRINTED = (0.4917, 0.4202, 0.3859, 0.3683, 0.3587, 0.3534, 0.3504)
PRINTED_OVERLAP = (0.0, 0.063, 0.102, 0.128, 0.146, 0.161, 0.173)
PRINTED_SE = 0.0006
NEAR = 0.15  # how far a measured exponent may be from one that it confirms
TOP = 4  # singular values whose growth is followed


@dataclass(frozen=True)
class Growth:
    """How the leading squared singular values of the weights grow after two steps."""

    first: float
    second: float
    slopes: Floats  # (networks, TOP)

    @property
    def measured(self) -> Floats:
        return np.asarray(self.slopes.mean(0))

    @property
    def predicted(self) -> Floats:
        """The k-th outlier of the second step has the size n^(alpha_2 - k (1/2 - alpha_1)).

        The one with k = 0 lies where the first step's own is.
        """
        found = 2 * (self.second - np.arange(TOP) * (0.5 - self.first))
        found[0] = 2 * max(self.first, self.second)
        return np.asarray(found)

    @property
    def preprint(self) -> int:
        """Outliers that the second step adds."""
        return math.floor(self.second / (0.5 - self.first) + 1e-9)


def draw(results: Results) -> Drawing:
    figure, axes = style.panels(3, width=4.1, height=4.0)
    degrees(axes[0, 0], results["degrees"])
    counted = outliers(axes[0, 1], results["outliers"])
    checks = reused(axes[0, 2], Points([*results["reused"], *results["not-reused"]]))
    for ax in axes[0]:
        style.legend(ax, 2)
    notes = [
        f"α₁ = {g.first:g}, α₂ = {g.second:g}: exponents "
        f"{', '.join(f'{v:.2f}' for v in g.measured)}, predicted "
        f"{', '.join(f'{v:.2f}' for v in g.predicted)}; ⌊α₂/(½ − α₁)⌋ = {g.preprint}."
        for g in counted
    ]
    return Drawing(figure, checks, notes, finding(results, counted) + against(checks))


def against(checks: list[Check]) -> str:
    """How the printed numbers are met; nothing at other sizes."""
    if not checks:
        return ""
    worst = max(checks, key=lambda c: abs(c.z))
    step = worst.where.split(" ", 2)[2]
    return (
        f" Of the {len(checks)} errors and overlaps that Dandi et al. 2024 print for two neurons "
        f"and a reused batch, {sum(c.holds for c in checks)} are met within three standard errors "
        f"({worst.seeds} networks; the furthest is the {worst.quantity} at {step}, "
        f"{worst.simulated:.4f} for {worst.theory:g}, a normal score of {worst.z:+.1f})."
    )


def degrees(ax: Any, points: Points) -> None:
    for j, batches in enumerate(("fresh", "same")):
        at = points.where(batches=batches).ordered("steps")
        x = np.array([p.problem.steps for p in at], dtype=float)
        for k in range(3):
            y = np.array([p.values["share"][:, k].mean() for p in at])
            se = np.array([standard_error(p.values["share"][:, k]) for p in at])
            label = f"degree {k + 1}, {batches}"
            style.markers(ax, Curve(x, y, se), k, label, linestyle=("-", "--")[j], linewidth=0.9)
    ax.set(xlabel="steps", ylabel="share of the degree that is learned")


def outliers(ax: Any, points: Points) -> list[Growth]:
    """Exponents of n by which the leading squared singular values grow, for pairs of exponents."""
    found = []
    for a, b in sorted({exponents(p) for p in points}):
        at = [p for p in points if exponents(p) == (a, b)]
        size = np.log([p.problem.n for p in at])
        ratio = np.array(
            [np.log(p.values["after"] / p.values["before"][:, None])[:, :TOP] for p in at]
        )  # (sizes, networks, TOP)
        slopes = np.polyfit(size, ratio.reshape(len(size), -1), 1)[0]
        found.append(Growth(a, b, slopes.reshape(ratio.shape[1:])))
    for k in range(TOP):
        x = np.array([g.predicted[k] for g in found])
        y = np.array([g.measured[k] for g in found])
        ax.plot(x, y, style.MARKERS[k], color=style.SERIES[k], label=f"value {k + 1}")
    lowest = min(g.predicted.min() for g in found)
    highest = max(g.predicted.max() for g in found)
    ax.plot([lowest, 0, highest], [0, 0, highest], color="#555555", linewidth=1, label="predicted")
    ax.set(xlabel="predicted exponent (below zero: no outlier)", ylabel="measured exponent of n")
    return found


def exponents(point: Point) -> tuple[float, float]:
    """Of the first and of the second step."""
    p = point.problem
    return round(math.log(p.step) / math.log(p.n), 6), float(p.later_alpha)


def reused(ax: Any, points: Points) -> list[Check]:
    for i, batches in enumerate(("same", "fresh")):
        values = points.where(batches=batches)[0].values["error"]
        x = np.arange(values.shape[1], dtype=float)
        curve = Curve(x, values.mean(0), np.asarray(standard_error(values)))
        style.markers(ax, curve, i, f"{batches} batch", linestyle="-", linewidth=0.8)
    ax.plot(range(len(PRINTED)), PRINTED, "x", color=style.BLACK, label="Dandi et al. 2024")
    ax.set(xlabel="steps", ylabel="half mean square error")
    point = points.where(batches="same")[0]
    if point.problem.d != 5000:
        return []
    checks = []
    for name, printed in (("error", PRINTED), ("overlap", PRINTED_OVERLAP)):
        for k, value in enumerate(printed):
            found = point.values[name][:, k]
            se = float(np.hypot(standard_error(found), PRINTED_SE))
            where = f"d=5000 n=15000 step {k}"
            checks.append(
                Check(name, where, "published", value, float(found.mean()), se, len(found), 0.0)
            )
    return checks


def where(points: Points) -> str:
    """The exact setting of a statement that differs from print."""
    sizes, p = points.levels("n"), points[0].problem
    return (
        f"After two steps (n = {', '.join(map(str, sizes))}, d = {p.phi:g} n, {p.activation}, "
        f"teacher {p.teacher}, networks a point: {points[0].seeds})"
    )


def finding(results: Results, counted: list[Growth]) -> str:
    def at_last(name: str, batches: str, k: int) -> str:
        p = results[name].where(batches=batches).ordered("steps")[-1]
        values = p.values["share"][:, k]
        return f"{values.mean():.2f} ± {float(standard_error(values)):.2f}"

    k = np.tile(np.arange(TOP), len(counted))
    predicted = np.concatenate([g.predicted for g in counted])
    off = np.concatenate([g.measured for g in counted]) - np.maximum(predicted, 0)
    first, second = (k == 1) & (predicted > 0.3), (k >= 2) & (predicted > 0.05)
    two = [at_last("information-two", batches, 1) for batches in ("fresh", "same")]
    three = [at_last("information-three", batches, 2) for batches in ("fresh", "same")]
    error = float(np.mean([standard_error(g.slopes) for g in counted]))
    still = off[(k >= 1) & (predicted < 0)].max()
    return (
        f"{where(results['outliers'])} the first outlier that the second adds "
        f"{'grows' if np.abs(off[first]).max() < NEAR else 'does not grow'} as predicted, "
        f"n^(2α₂ − 1 + 2α₁) (measured exponents off by {off[first].mean():+.2f} on average, "
        f"{np.abs(off[first]).max():.2f} at most); {'nothing' if still < NEAR else 'a value'} "
        f"grows where the prediction is negative ({still:.2f} at most); further ones, which "
        f"⌊α₂/(½ − α₁)⌋ counts too, {'are' if off[second].mean() > -NEAR else 'are not'} visible "
        f"at these sizes (exponents off by {off[second].mean():+.2f} on average; the standard "
        f"error of one exponent is {error:.2f} on average). "
        "After ten steps of n^½ the share that is learned of a purely quadratic teacher "
        f"is {two[0]} with fresh batches and {two[1]} with one reused batch; of a purely cubic one "
        f"{three[0]} and {three[1]}."
    )
