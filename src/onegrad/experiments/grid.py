"""From a grid in the spec's words to the list of cells it means."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from onegrad.exceptions import InvalidInput, subject
from onegrad.experiments.cell import Cell
from onegrad.experiments.measures import MEASURES
from onegrad.experiments.spec import CONVENTIONS, STEP_KEYS, Grid, Spec
from onegrad.problem import Problem

MOST_CELLS = MOST_POINTS = 1_000_000  # of a spec; of a grid, its steps and penalties counted


def problems_of(grid: Grid) -> list[tuple[Problem, tuple[float, ...], tuple[float, ...]]]:
    """Each problem of the grid once, with the step sizes and the penalties asked of it.

    The problem carries the first of each.
    """
    convention = CONVENTIONS[grid.convention]
    steps = {k: v for k, v in grid.problem.items() if k in STEP_KEYS}
    others = {k: v for k, v in grid.problem.items() if k not in STEP_KEYS}
    found = []
    for fields in _product(others):
        try:
            variants = [convention(**fields, **step) for step in _product(steps)]
        except (InvalidInput, TypeError) as error:
            joint = "." if subject(error) in grid.problem else ": "
            raise InvalidInput(f"{grid.where}.problem{joint}{error}") from None
        etas = tuple(dict.fromkeys(p.step for p in variants))
        ridges = tuple(dict.fromkeys(p.ridge for p in variants))
        found.append((variants[0].replace(eta=etas[0]), etas, ridges))
    return found


def count_cells(grid: Grid) -> int:
    """How many cells a grid has, counted before any is made; refuses what nobody could finish."""
    blocks = -(-grid.seeds // grid.seeds_per_cell) if MEASURES[grid.measure].seeded else 1
    steps = math.prod(len(v) for k, v in _lists(grid.problem).items() if k in STEP_KEYS)
    problems = math.prod(len(v) for k, v in _lists(grid.problem).items() if k not in STEP_KEYS)
    if problems * steps > MOST_POINTS:
        counted = f"{problems} problems of {steps} steps and penalties each"
        raise InvalidInput(f"{grid.where}.problem: {counted}; at most {MOST_POINTS} are allowed")
    if problems * blocks > MOST_CELLS:
        counted = f"{problems} problems times {blocks} blocks of seeds"
        raise InvalidInput(f"{grid.where}: {counted}; at most {MOST_CELLS} cells are allowed")
    return problems * blocks


def cells_of(grid: Grid) -> list[Cell]:
    """All cells of a grid: its problems times its blocks of seeds."""
    count_cells(grid)
    blocks = [(0, 0)]
    if MEASURES[grid.measure].seeded:
        size = grid.seeds_per_cell
        blocks = [(s, min(size, grid.seeds - s)) for s in range(0, grid.seeds, size)]
    options = tuple(sorted(grid.options.items()))
    return [
        Cell(grid.measure, problem, etas, ridges, first, count, options, grid.dtype)
        for problem, etas, ridges in problems_of(grid)
        for first, count in blocks
    ]


def all_cells(spec: Spec) -> dict[str, list[Cell]]:
    """The cells of each grid of a spec, by the grid's name."""
    total = sum(map(count_cells, spec.grids))
    if total > MOST_CELLS:
        raise InvalidInput(f"grid: {total} cells together; at most {MOST_CELLS} are allowed")
    return {grid.name: cells_of(grid) for grid in spec.grids}


def shard(cells: Iterable[Cell], which: str | None) -> list[Cell]:
    """Part i of k (`"i/k"`, i from 1): a split by key, so it does not depend on any order."""
    cells = list(cells)
    if which is None:
        return cells
    i, k = parse_shard(which)
    return [cell for cell in cells if int(cell.key[:12], 16) % k == i - 1]


def parse_shard(which: str) -> tuple[int, int]:
    """`"2/8"` as (2, 8)."""
    match = re.fullmatch(r"(\d{1,6})/(\d{1,6})", which)
    i, k = (int(match[1]), int(match[2])) if match else (0, 0)
    if not 1 <= i <= k:
        raise InvalidInput(f"--shard must be i/k with 1 <= i <= k, such as 2/8; got {which!r:.40}")
    return i, k


def part_of(which: str | None) -> str:
    """The name of the store's file that a shard writes."""
    return "cells" if which is None else "cells-{}-of-{}".format(*parse_shard(which))


def _product(values: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [
        dict(zip(values, point, strict=True))
        for point in itertools.product(*_lists(values).values())
    ]


def _lists(values: Mapping[str, Any]) -> dict[str, Sequence[Any]]:
    """Every field's values, a single one as a list of one."""
    return {k: v if isinstance(v, list | tuple) else [v] for k, v in values.items()}
