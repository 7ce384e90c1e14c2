"""The cells of a grid: its problems times its blocks of seeds."""

import itertools
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from onegrad.exceptions import InvalidInput
from onegrad.experiments.cell import Cell
from onegrad.experiments.spec import CONVENTIONS, STEP_KEYS, Grid, Spec
from onegrad.problem import Problem

# A runner holds its cells in memory and sorts them out by key: more could never be finished.
MAX_CELLS = 1_000_000  # of all grids of a spec
MAX_GRID_POINTS = 1_000_000  # of a grid: problems times steps times penalties


class GridProblem(NamedTuple):
    """A problem of a grid, which carries the first of its step sizes and penalties."""

    problem: Problem
    etas: tuple[float, ...]
    ridges: tuple[float, ...]


def problems_of(grid: Grid) -> list[GridProblem]:
    """Return each problem of the grid once, with its step sizes and penalties."""
    convention = CONVENTIONS[grid.convention]
    steps = {k: v for k, v in grid.problem.items() if k in STEP_KEYS}
    others = {k: v for k, v in grid.problem.items() if k not in STEP_KEYS}
    problems = []
    for fields in _product(others):
        try:
            variants = [convention(**fields, **step) for step in _product(steps)]
        except InvalidInput as error:
            joint = "." if error.argument in grid.problem else ": "
            raise error.renamed(f"{grid.location}.problem{joint}{error.argument}") from error
        except TypeError as error:  # a field is missing
            raise InvalidInput(f"{grid.location}.problem", problem=str(error)) from error
        etas = tuple(dict.fromkeys(p.step for p in variants))
        ridges = tuple(dict.fromkeys(p.ridge for p in variants))
        # alpha gives way to eta: a cell is its step sizes, whatever exponents they were written as
        problems.append(GridProblem(variants[0].replace(eta=etas[0]), etas, ridges))
    return problems


def count_cells(grid: Grid) -> int:
    """Return the number of cells of a grid without making any.

    Raises
    ------
    InvalidInput : there are more than a sweep could ever finish.
    """
    blocks = -(-grid.seeds // grid.seeds_per_cell) if grid.seeded else 1
    steps = math.prod(len(v) for k, v in _lists(grid.problem).items() if k in STEP_KEYS)
    problems = math.prod(len(v) for k, v in _lists(grid.problem).items() if k not in STEP_KEYS)
    if problems * steps > MAX_GRID_POINTS:
        counted = f"{problems} problems of {steps} steps and penalties each"
        problem = f"{counted}; at most {MAX_GRID_POINTS} points are allowed"
        raise InvalidInput(f"{grid.location}.problem", problem=problem)
    if problems * blocks > MAX_CELLS:
        counted = f"{problems} problems times {blocks} blocks of seeds"
        problem = f"{counted}; at most {MAX_CELLS} cells are allowed"
        raise InvalidInput(grid.location, problem=problem)
    return problems * blocks


def cells_of(grid: Grid) -> list[Cell]:
    """Return all cells of a grid."""
    count_cells(grid)
    blocks = [(0, 0)]
    if grid.seeded:
        size = grid.seeds_per_cell
        blocks = [(s, min(size, grid.seeds - s)) for s in range(0, grid.seeds, size)]
    options = tuple(sorted(grid.options.items()))
    return [
        Cell(grid.measure, problem, etas, ridges, first, count, options, grid.dtype)
        for problem, etas, ridges in problems_of(grid)
        for first, count in blocks
    ]


def all_cells(spec: Spec) -> dict[str, list[Cell]]:
    """Return the cells of each grid of a spec, by the grid's name."""
    total = sum(map(count_cells, spec.grids))
    if total > MAX_CELLS:
        problem = f"{total} cells together; at most {MAX_CELLS} are allowed"
        raise InvalidInput("grid", problem=problem)
    return {grid.name: cells_of(grid) for grid in spec.grids}


def shard(cells: Iterable[Cell], part: str | None) -> list[Cell]:
    """Return part i of k (`"i/k"`, i from 1); a cell's part depends on its key alone."""
    cells = list(cells)
    if part is None:
        return cells
    i, k = parse_shard(part)
    return [cell for cell in cells if int(cell.key[:12], 16) % k == i - 1]


def parse_shard(part: str) -> tuple[int, int]:
    """Return the two numbers of a shard: `"2/8"` gives (2, 8)."""
    match = re.fullmatch(r"(\d{1,6})/(\d{1,6})", part)
    i, k = (int(match[1]), int(match[2])) if match else (0, 0)
    if not 1 <= i <= k:
        raise InvalidInput("shard", part, "i/k with 1 <= i <= k, such as 2/8")
    return i, k


def store_part(part: str | None) -> str:
    """Return the name of the store's file that a shard writes."""
    return "cells" if part is None else "cells-{}-of-{}".format(*parse_shard(part))


def _product(values: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [
        dict(zip(values, point, strict=True))
        for point in itertools.product(*_lists(values).values())
    ]


def _lists(values: Mapping[str, Any]) -> dict[str, Sequence[Any]]:
    """Return the values of every field, a single one as a list of one."""
    return {k: v if isinstance(v, list | tuple) else [v] for k, v in values.items()}
