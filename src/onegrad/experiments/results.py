"""Finished cells as points: one problem, one step, one penalty, all its seeds together."""

from __future__ import annotations

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
from onegrad.pictures import Curve as Curve
from onegrad.problem import Problem


@dataclass(frozen=True)
class Point:
    """Values at one point of a grid; a seeded measure has seeds along the first axis."""

    problem: Problem
    values: Mapping[str, Floats]
    seeded: bool

    def mean(self, name: str) -> float:
        return float(np.mean(self.values[name]))

    def se(self, name: str) -> float:
        """Standard error over seeds; 0 for a theory, NaN with a single seed."""
        return float(standard_error(self.values[name])) if self.seeded else 0.0

    def band(self, name: str) -> float:
        """How far a theory may be off, absolute; NaN where it does not say."""
        of = {"train": "train", "test": "test", "risk": "test"}.get(name, "")
        if self.seeded or f"{of}_accuracy" not in self.values:
            return math.nan
        return self.mean(f"{of}_accuracy") * self.mean(of)

    @property
    def seeds(self) -> int:
        return len(next(iter(self.values.values()))) if self.seeded else 0

    def field(self, name: str) -> Any:
        """A field or derived ratio of the problem, by name."""
        return getattr(self.problem, name)


class Points(Sequence[Point]):
    """Points of a grid, with the two questions that figures ask."""

    def __init__(self, points: Sequence[Point]) -> None:
        self._points = tuple(points)

    def __len__(self) -> int:
        return len(self._points)

    def __getitem__(self, index: Any) -> Any:
        return self._points[index]

    def where(self, **fields: Any) -> Points:
        """The points whose problem has these values (numbers up to rounding)."""
        return Points([p for p in self if all(_same(p.field(k), v) for k, v in fields.items())])

    def ordered(self, name: str) -> Points:
        """The points by increasing value of a field."""
        return Points(sorted(self, key=lambda p: p.field(name)))

    def levels(self, name: str) -> list[Any]:
        """The different values of a field, in order; numbers up to rounding."""
        found: list[Any] = []
        for value in sorted(p.field(name) for p in self):
            if not found or not _same(found[-1], value):
                found.append(value)
        return found

    def curve(self, x: str, y: str) -> Curve:
        """y against a field of the problem, in increasing order."""
        points = self.ordered(x)
        return Curve(
            np.array([p.field(x) for p in points], dtype=float),
            np.array([p.mean(y) for p in points]),
            np.array([p.se(y) for p in points]),
            np.array([p.band(y) for p in points]),
        )

    def ratio(self, size: str, y: str) -> Curve:
        """y against n/d or N/d."""
        return self.curve(size, y).divided(self[0].problem.d)


class Results(Mapping[str, Points]):
    """The finished points of a spec, by the names of its grids."""

    def __init__(self, spec: Spec, store: Store) -> None:
        self.spec, self._store = spec, store
        self._loaded: dict[str, Points] = {}

    def __getitem__(self, name: str) -> Points:
        if name not in self._loaded:
            self._loaded[name] = Points(list(_points(self.cells[name], self._store)))
        return self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter(grid.name for grid in self.spec.grids)

    def __len__(self) -> int:
        return len(self.spec.grids)

    @cached_property
    def cells(self) -> dict[str, list[Cell]]:
        """The cells of each grid."""
        return all_cells(self.spec)

    @cached_property
    def missing(self) -> int:
        """How many cells of the spec are not in the store."""
        done = self._store.done()
        return sum(cell.key not in done for cells in self.cells.values() for cell in cells)


def _points(cells: Sequence[Cell], store: Store) -> Iterator[Point]:
    """Points of a grid from those of its cells that are done: blocks of seeds are joined."""
    blocks: dict[Cell, list[Mapping[str, Floats]]] = {}
    for cell in cells:
        values = store.values(cell.key)
        if values is not None:
            one_block = replace(cell, first_seed=0, seeds=min(cell.seeds, 1))
            blocks.setdefault(one_block, []).append(values)
    for cell, parts in blocks.items():
        joined = parts[0]
        if cell.seeds:
            joined = {name: np.concatenate([part[name] for part in parts]) for name in joined}
        yield from points_of(cell, joined)


def points_of(cell: Cell, values: Mapping[str, Floats]) -> Iterator[Point]:
    """The points of one cell: its arrays are ([seeds,] etas, ridges, …), an axis of 1 is shared."""
    seeded = cell.seeds > 0
    for i, eta in enumerate(cell.etas):
        for j, ridge in enumerate(cell.ridges):
            at = {k: _at(np.asarray(v), i, j, seeded) for k, v in values.items()}
            yield Point(cell.problem.replace(eta=eta, ridge=ridge), at, seeded)


def _at(array: Floats, i: int, j: int, seeded: bool) -> Floats:
    lead = (slice(None),) if seeded else ()
    k = len(lead)
    if array.ndim < k + 2:
        return array
    index = (*lead, min(i, array.shape[k] - 1), min(j, array.shape[k + 1] - 1))
    return np.asarray(array[index])


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, int | float) and isinstance(b, int | float):
        return math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-12)
    return bool(a == b)
