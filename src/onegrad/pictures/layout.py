"""How a grid of problems becomes a picture: what runs along x, and a series for everything else."""

from __future__ import annotations

import numbers
from collections.abc import Collection
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from onegrad.arrays import Floats
from onegrad.pictures.style import thresholds
from onegrad.problem import FIELDS, Problem

FACTOR = 20.0  # an axis that spans more than this is read in factors
LETTERS = 24  # of a value in the legend


@dataclass(frozen=True)
class Layout:
    """The field along x with its values (none: a single problem), and the names of the series.

    order : the grid's axes, the one along x last.
    """

    name: str | None
    values: list[Any]
    series: list[str]
    order: tuple[int, ...]

    @classmethod
    def of(cls, axes: dict[str, list[Any]]) -> Layout:
        """The first axis of numbers is drawn along x; the first one where none has numbers."""
        if not axes:
            return cls(None, [], [""], ())
        names = list(axes)
        along = next((name for name in names if _are_numbers(axes[name])), names[0])
        others = [name for name in names if name != along]
        points = product(*(axes[name] for name in others))
        series = [
            ", ".join(_said(name, value) for name, value in zip(others, point, strict=True))
            for point in points
        ]
        order = tuple(names.index(name) for name in (*others, along))
        return cls(along, list(axes[along]), series, order)

    @property
    def x(self) -> Floats:
        """Places along x: the numbers themselves, or 0, 1, ... for names."""
        if self.name is None or not _are_numbers(self.values):
            return np.arange(len(self.values), dtype=float)
        return np.array(self.values, dtype=float)

    def lines(self, values: Any) -> Floats:
        """(..., grid) as (..., series, along x)."""
        array = np.asarray(values, dtype=float)
        lead = array.ndim - len(self.order)
        moved = array.transpose(*range(lead), *(lead + i for i in self.order))
        return moved.reshape(*array.shape[:lead], len(self.series), len(self.values))

    def dress(self, ax: Any) -> None:
        """Label and scale of the x axis; the thresholds where it is that of the exponent."""
        if self.name is None:
            return
        field = FIELDS[self.name]
        ax.set_xlabel(field.label)
        if not _are_numbers(self.values):
            ax.set_xticks(self.x, [f"{text_of(value):.{LETTERS}}" for value in self.values])
            return
        positive = self.x[self.x > 0]
        if field.logarithmic and len(positive) and self.x.max() > FACTOR * positive.min():
            if self.x.min() < 0 or len(positive) < len(self.x):
                ax.set_xscale("symlog", linthresh=float(positive.min()))
            else:
                ax.set_xscale("log")
        if self.name == "alpha":
            thresholds(ax, least=self.x.min() - 1e-9, most=self.x.max() + 1e-9)


def read_in_factors(ax: Any) -> None:
    """A logarithmic y axis where the curves are positive and span more than a factor."""
    drawn = [line.get_ydata(orig=False) for line in ax.get_lines() if line.get_gid() == "error"]
    values = np.concatenate([np.ravel(y) for y in drawn]) if drawn else np.ones(1)
    values = values[np.isfinite(values)]
    if len(values) and values.min() > 0 and values.max() > FACTOR * values.min():
        ax.set_yscale("log")


def _are_numbers(values: list[Any]) -> bool:
    kinds = (numbers.Real, np.number)
    return all(isinstance(v, kinds) and not isinstance(v, bool) for v in values)


def _said(name: str, value: Any) -> str:
    return f"{FIELDS[name].symbol or name} = {text_of(value):.{LETTERS}}"


def text_of(value: Any) -> str:
    """A value of a field as a reader sees it: numbers short, functions by name."""
    if isinstance(value, numbers.Real | np.number) and not isinstance(value, bool):
        return f"{float(value):.6g}"
    if isinstance(value, tuple) and value and callable(value[0]):
        value = value[0]  # a function with its derivative
    return str(getattr(value, "name", None) or getattr(value, "__name__", None) or value)


def fixed(problem: Problem, axes: Collection[str]) -> dict[str, Any]:
    """What is not at its default and the same at every point of a grid."""
    steps = {"alpha", "eta"}
    moved = set(axes) | (steps if steps & set(axes) else set())
    return {name: value for name, value in problem.changed().items() if name not in moved}
