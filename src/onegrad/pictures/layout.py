"""The layout of a grid of problems in a picture: one field along x, a series per other value."""

from __future__ import annotations

import numbers
from collections.abc import Collection
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from onegrad.arrays import Floats
from onegrad.pictures.style import mark_thresholds
from onegrad.problem import FIELDS, Problem

MIN_LOG_RATIO = 20.0  # an axis whose largest and smallest value differ by more is logarithmic
MAX_LEGEND_CHARACTERS = 24  # of one value in the legend


@dataclass(frozen=True)
class Layout:
    """The place of every point of a grid.

    Parameters
    ----------
    name : field along x; None for a single problem.
    values : values of that field.
    series : name of each series in the legend.
    order : axes of the grid, with the one along x last.
    """

    name: str | None
    values: list[Any]
    series: list[str]
    order: tuple[int, ...]

    @classmethod
    def of(cls, axes: dict[str, list[Any]]) -> Layout:
        """Put the first axis of numbers along x, or the first axis if none has numbers."""
        if not axes:
            return cls(None, [], [""], ())
        names = list(axes)
        along = next((name for name in names if _are_numbers(axes[name])), names[0])
        others = [name for name in names if name != along]
        letters = [FIELDS[name].symbol or name for name in others]
        series = [
            ", ".join(
                f"{x} = {_short_text(value)}" for x, value in zip(letters, point, strict=True)
            )
            for point in product(*(axes[name] for name in others))
        ]
        order = tuple(names.index(name) for name in (*others, along))
        return cls(along, list(axes[along]), series, order)

    @property
    def x(self) -> Floats:
        """Positions along x: the numbers themselves, or 0, 1, ... for names."""
        if self.name is None or not _are_numbers(self.values):
            return np.arange(len(self.values), dtype=float)
        return np.array(self.values, dtype=float)

    def lines(self, values: Any) -> Floats:
        """Reshape an array of shape (..., *grid) to (..., series, along x)."""
        array = np.asarray(values, dtype=float)
        lead = array.ndim - len(self.order)
        moved = array.transpose(*range(lead), *(lead + i for i in self.order))
        return moved.reshape(*array.shape[:lead], len(self.series), len(self.values))

    def format_x_axis(self, ax: Any) -> None:
        """Set label and scale of the x axis, and mark the thresholds if it is that of alpha."""
        if self.name is None:
            return
        field = FIELDS[self.name]
        ax.set_xlabel(field.label)
        if not _are_numbers(self.values):
            ax.set_xticks(self.x, [_short_text(value) for value in self.values])
            return
        positive = self.x[self.x > 0]
        if field.logarithmic and len(positive) and self.x.max() > MIN_LOG_RATIO * positive.min():
            if self.x.min() < 0 or len(positive) < len(self.x):  # eta = 0, the untrained network
                ax.set_xscale("symlog", linthresh=float(positive.min()))
            else:
                ax.set_xscale("log")
        if self.name == "alpha":
            mark_thresholds(ax, low=self.x.min() - 1e-9, high=self.x.max() + 1e-9)


def choose_y_scale(ax: Any) -> None:
    """Make the y axis logarithmic if the errors are positive and span orders of magnitude."""
    curves = [line.get_ydata(orig=False) for line in ax.get_lines() if line.get_gid() == "error"]
    values = np.concatenate([np.ravel(y) for y in curves]) if curves else np.ones(1)
    values = values[np.isfinite(values)]
    if len(values) and values.min() > 0 and values.max() > MIN_LOG_RATIO * values.min():
        ax.set_yscale("log")


def field_text(value: Any) -> str:
    """Return the value of a field as a reader sees it: numbers short, functions by name."""
    if isinstance(value, numbers.Real | np.number) and not isinstance(value, bool):
        return f"{float(value):.6g}"
    if isinstance(value, tuple) and value and callable(value[0]):
        value = value[0]  # a function with its derivative
    return str(getattr(value, "name", None) or getattr(value, "__name__", None) or value)


def fixed_fields(problem: Problem, axes: Collection[str]) -> dict[str, Any]:
    """Return the fields that differ from their defaults and are the same all over the grid."""
    step_fields = {"alpha", "eta"}
    varied = set(axes) | (step_fields if step_fields & set(axes) else set())
    return {name: value for name, value in problem.changed().items() if name not in varied}


def _are_numbers(values: list[Any]) -> bool:
    kinds = (numbers.Real, np.number)
    return all(isinstance(v, kinds) and not isinstance(v, bool) for v in values)


def _short_text(value: Any) -> str:
    return field_text(value)[:MAX_LEGEND_CHARACTERS]
