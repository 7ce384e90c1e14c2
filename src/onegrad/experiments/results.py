"""Finished cells as points: one problem, one step, one penalty, all its seeds together."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from onegrad.arrays import Floats, standard_error
from onegrad.experiments.cell import Cell
from onegrad.experiments.grid import all_cells
from onegrad.experiments.spec import Spec
from onegrad.experiments.store import Store
from onegrad.pictures import Curve
from onegrad.problem import Problem


@dataclass(frozen=True)
class Point:
    """Values at one point of a grid; those of a seeded measure have seeds along the first axis."""

    problem: Problem
    values: Mapping[str, Floats]
    seeded: bool

    def mean(self, name: str) -> float:
        return float(np.mean(self.values[name]))

    def se(self, name: str) -> float:
        """Standard error over seeds; 0 for a theory, NaN with a single seed."""
        return float(standard_error(self.values[name])) if self.seeded else 0.0

    def band(self, name: str) -> float:
        """Half-width of the band that a prediction states for a quantity; NaN if it states none."""
        error = "test" if name == "risk" else name  # risk = test - noise^2
        if self.seeded or f"{error}_accuracy" not in self.values:
            return math.nan
        return self.mean(f"{error}_accuracy") * self.mean(error)

    def accuracy(self, name: str) -> float:
        """Relative accuracy that a prediction states for a quantity; 0 if it states none."""
        band, value = self.band(name), self.mean(name)
        return abs(band / value) if value and math.isfinite(band) else 0.0

    @property
    def seeds(self) -> int:
        return len(next(iter(self.values.values()))) if self.seeded else 0

    def field(self, name: str) -> Any:
        """Return a field of the problem, or a ratio of two such as n/d."""
        size, _, unit = name.partition("/")
        value = getattr(self.problem, size)
        return value / getattr(self.problem, unit) if unit else value


class Points(tuple[Point, ...]):
    """Points of a grid, with the selections and curves that drawings need."""

    __slots__ = ()

    def where(self, **fields: Any) -> "Points":
        """Return the points whose problem has these values (numbers up to rounding)."""
        return Points(p for p in self if all(_same(p.field(k), v) for k, v in fields.items()))

    def ordered(self, name: str) -> "Points":
        """Return the points by increasing value of a field."""
        return Points(sorted(self, key=lambda p: p.field(name)))

    def levels(self, name: str) -> list[Any]:
        """Return the different values of a field in increasing order (numbers up to rounding)."""
        values: list[Any] = []
        for value in sorted(p.field(name) for p in self):
            if not values or not _same(values[-1], value):
                values.append(value)
        return values

    def distinct(self, name: str) -> list[Any]:
        """Return the different values of a field in the order of the points."""
        return list(dict.fromkeys(p.field(name) for p in self))

    def curve(self, x: str, y: str) -> Curve:
        """Return y against a field of the problem or a ratio of two, in increasing order."""
        points = self.ordered(x)
        return Curve(
            np.array([p.field(x) for p in points], dtype=float),
            np.array([p.mean(y) for p in points]),
            np.array([p.se(y) for p in points]),
            np.array([p.band(y) for p in points]),
            np.array([p.seeds - 1 if p.seeded else math.inf for p in points]),
        )


class Results(Mapping[str, Points]):
    """The finished points of a spec, by the names of its grids."""

    def __init__(self, spec: Spec, store: Store) -> None:
        self.spec, self._store = spec, store
        self._loaded: dict[str, Points] = {}

    def __getitem__(self, name: str) -> Points:
        if name not in self._loaded:
            self._loaded[name] = Points(_points(self.cells[name], self._store))
        return self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter(grid.name for grid in self.spec.grids)

    def __len__(self) -> int:
        return len(self.spec.grids)

    def joined(self, *names: str) -> Points:
        """Return the points of several grids together."""
        return Points(point for name in names for point in self[name])

    @cached_property
    def cells(self) -> dict[str, list[Cell]]:
        return all_cells(self.spec)

    @cached_property
    def missing(self) -> int:
        """Number of cells of the spec that the store does not hold."""
        done = self._store.done()
        return sum(cell.key not in done for cells in self.cells.values() for cell in cells)


def _points(cells: Sequence[Cell], store: Store) -> Iterator[Point]:
    """Yield the points of the finished cells of a grid, blocks of seeds joined."""
    blocks: dict[Cell, list[Mapping[str, Floats]]] = {}
    for cell in cells:
        values = store.values(cell.key)
        if values is not None:
            # cells that differ in their seeds alone are blocks of the same points
            one_block = replace(cell, first_seed=0, seeds=min(cell.seeds, 1))
            blocks.setdefault(one_block, []).append(values)
    for cell, parts in blocks.items():
        joined = parts[0]
        if cell.seeds:
            joined = {name: np.concatenate([part[name] for part in parts]) for name in joined}
        yield from points_of(cell, joined)


def points_of(cell: Cell, values: Mapping[str, Floats]) -> Iterator[Point]:
    """Yield the points of one cell: its arrays are ([seeds,] etas, ridges, …), 1 is shared."""
    seeded = cell.seeds > 0
    for i, eta in enumerate(cell.etas):
        for j, ridge in enumerate(cell.ridges):
            entries = {k: _entry(np.asarray(v), i, j, seeded) for k, v in values.items()}
            yield Point(cell.problem.replace(eta=eta, ridge=ridge), entries, seeded)


def _entry(array: Floats, i: int, j: int, seeded: bool) -> Floats:
    k = int(seeded)  # the axis of step sizes
    if array.ndim < k + 2:
        return array
    i, j = min(i, array.shape[k] - 1), min(j, array.shape[k + 1] - 1)  # an axis of 1 is shared
    return np.asarray(array[:, i, j] if seeded else array[i, j])


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, int | float) and isinstance(b, int | float):
        return math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-12)
    return bool(a == b)
