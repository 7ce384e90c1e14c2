"""Curves and panels that several studies draw."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from onegrad.arrays import Floats
from onegrad.experiments import Point, Points, Results
from onegrad.pictures import Curve, style
from onegrad.studies.findings import Estimate, paired_change

DISPLAY_NAMES = {"elu": "ELU", "relu": "ReLU"}  # of activations whose name is an acronym


def with_a_step(points: Points) -> Points:
    """Return the points whose step is not zero, which have an exponent."""
    return Points(p for p in points if p.problem.step > 0)


def with_legends(figure: Any, columns: int, theory: str | None = None) -> Any:
    """Return the figure with a legend above each panel, the line of a theory as its last entry."""
    for ax in figure.axes:
        if theory is not None:
            style.legend_entry(ax, theory)
        style.legend(ax, columns)
    return figure


def values_at(curve: Curve, *positions: float) -> list[float]:
    """Return the values of a curve at some positions, on lines between its points."""
    return [float(y) for y in np.interp(positions, curve.x, curve.y)]


def gains(points: Points, *errors: str) -> Points:
    """Return errors before the step minus those after it, of the same networks or theory."""
    untrained, gained = {p.problem.N: p.values for p in points if p.problem.step == 0}, []
    for p in with_a_step(points):
        before = untrained[p.problem.N]
        falls = {error: before[error] - p.values[error] for error in errors}
        gained.append(Point(p.problem, falls, p.seeded))
    return Points(gained)


def with_gaps(curve: Curve) -> Curve:
    """Return a staircase with a gap at each jump, so that no slope joins two steps."""
    jumps = np.flatnonzero(np.diff(curve.y) != 0) + 1
    return Curve(*(np.insert(values, jumps, np.nan) for values in (curve.x, curve.y, curve.se)))


def curve_through(x: Sequence[float], values: Sequence[tuple[float, ...]]) -> Curve:
    """Return the curve of means with standard errors at these positions."""
    means, errors, freedom = np.array([Estimate(*v) for v in values]).reshape(-1, 3).T
    return Curve(np.array(x, dtype=float), means, errors, freedom=freedom)


def seed_curve(points: Points, along: str, quantity: Callable[[Point], Floats]) -> Curve:
    """Return a quantity that has one value per seed of a point, against a field."""
    ordered = points.ordered(along)
    values = [Estimate.of(quantity(p)) for p in ordered]
    return curve_through([p.field(along) for p in ordered], values)


def joined(ax: Any, curve: Curve, i: int, label: str) -> None:
    """Draw simulated means as markers that thin lines join: there is no theory to draw."""
    style.markers(ax, curve, i, label, linestyle="-", linewidth=0.8)


def best_penalty(points: Points, quantity: str = "test") -> Curve:
    """Return the lowest mean of an error over the penalties against the step exponent."""
    alphas = points.levels("alpha")
    best = [min(points.where(alpha=a), key=lambda p: p.mean(quantity)) for a in alphas]
    return curve_through(alphas, [(p.mean(quantity), p.se(quantity)) for p in best])


def kernel_bound(uniform: Points) -> float:
    """Return the lower bound on the risk of every kernel method."""
    return float(uniform[0].mean("kernel_bound") - uniform[0].problem.noise ** 2)


def relative_difference(points: Points, other: Points, along: str, quantity: str) -> Curve:
    """Return mean(other) / mean(points) - 1 against a field, networks on the same seeds."""
    pairs = list(zip(points.ordered(along), other.ordered(along), strict=True))
    changes = [
        paired_change(b.values[quantity], a.values[quantity])
        if a.seeded
        else Estimate(b.mean(quantity) / a.mean(quantity) - 1, 0.0)
        for a, b in pairs
    ]
    return curve_through([a.field(along) for a, _ in pairs], changes)


def errors_against(
    ax: Any, field: str, error: str, grids: Sequence[Points], i: int, label: str, **where: Any
) -> None:
    """Draw an error against a field or a ratio such as n/d, where points have these fields.

    grids : the networks, drawn as markers, and their theory, a line.
    """
    networks, theory = (points.where(**where).curve(field, error) for points in grids)
    style.line(ax, theory, i)
    style.markers(ax, networks, i, label)


def draw_growing_theory(ax: Any, results: Results) -> None:
    """Draw the test error of the uniform theory at growing n, and its limit, the staircase."""
    growing = results["growing"]
    for i, n in enumerate(growing.levels("n")):
        curve = growing.where(n=n).curve("alpha", "test")
        style.line(ax, curve, i, f"uniform theory, $n = 10^{{{len(str(n)) - 1}}}$")
    stairs = with_gaps(results["corrected"].curve("alpha", "test"))
    style.line(ax, stairs, 6, r"staircase, $n\to\infty$", dash=style.LONG_DASHES)


def heat_map(
    ax: Any,
    values: Floats,
    rows: Sequence[str],
    columns: Sequence[str],
    dark: np.ndarray,
    **options: Any,
) -> Any:
    """Draw a table of numbers on their colours; where `dark` is True, in white."""
    ax.grid(visible=False)
    image = ax.imshow(values, aspect="auto", **options)
    for (i, j), value in np.ndenumerate(values):
        shade = "white" if dark[i, j] else "black"
        ax.annotate(f"{value:.2f}", (j, i), ha="center", va="center", fontsize=7, color=shade)
    ax.set_xticks(range(len(columns)), columns)
    ax.set_yticks(range(len(rows)), rows)
    return image
