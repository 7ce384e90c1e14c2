"""Curves and panels that several studies draw."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from onegrad.arrays import Floats, standard_error
from onegrad.experiments.results import Points
from onegrad.pictures import Curve


def with_a_step(points: Points) -> Points:
    """Return the points whose step is not zero, which have an exponent."""
    return Points([p for p in points if p.problem.step > 0])


def with_gaps(curve: Curve) -> Curve:
    """Return a staircase with a gap at each jump, so that no slope joins two steps."""
    jumps = np.flatnonzero(np.diff(curve.y) != 0) + 1
    return Curve(*(np.insert(values, jumps, np.nan) for values in (curve.x, curve.y, curve.se)))


def best_penalty(points: Points) -> Curve:
    """Return the lowest mean test error over the penalties against the step exponent."""
    x, y, se = [], [], []
    for alpha in points.levels("alpha"):
        best = min(points.where(alpha=alpha), key=lambda p: p.mean("test"))
        x.append(alpha)
        y.append(best.mean("test"))
        se.append(best.se("test"))
    return Curve(np.array(x), np.array(y), np.array(se))


def relative_difference(points: Points, other: Points, along: str, quantity: str) -> Curve:
    """Return mean(other) / mean(points) - 1 against a field, both on the same seeds.

    What a seed does to both cancels in the standard error, which is that of a ratio of means.
    """
    a, b = (np.array([p.values[quantity] for p in q.ordered(along)]) for q in (points, other))
    ratio = b.mean(1) / a.mean(1)
    linear = (b - ratio[:, None] * a) / a.mean(1)[:, None]  # deviation of the ratio seed by seed
    x = np.array([p.field(along) for p in points.ordered(along)], dtype=float)
    return Curve(x, ratio - 1, np.asarray(standard_error(linear, axis=1)))


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
