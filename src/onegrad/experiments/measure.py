"""A measure: what a cell computes, as a pure function of the cell.

A table of measures is an argument of the engine, so that the engine knows none of them. Each
function is importable by name: that is how worker processes and Dask workers get it.
"""

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from onegrad.experiments.cell import Cell, Option

CellValues = Mapping[str, Any]
OptionValue = TypeVar("OptionValue", bound=Option)


@dataclass(frozen=True)
class Measure:
    """The computation of a cell.

    Parameters
    ----------
    function : (cell, device) -> arrays by name; a seeded one has seeds as the first axis.
    seeded : True if it is random, so that a grid asks it for seeds.
    options : names of the options that it reads.
    device_record : (cell, device) -> the device as the store records it; None for its name.
    """

    function: Callable[[Cell, str], CellValues]
    seeded: bool = True
    options: tuple[str, ...] = ()
    device_record: Callable[[Cell, str], str] | None = None


Measures = Mapping[str, Measure]


def seeds_of(cell: Cell) -> range:
    """Return the seeds of a cell."""
    return range(cell.first_seed, cell.first_seed + cell.seeds)


def per_seed(function: Callable[[Cell, str, int], CellValues]) -> Callable[[Cell, str], CellValues]:
    """Make a measure of a function (cell, device, seed): its arrays are stacked over the seeds."""

    @functools.wraps(function)
    def measure(cell: Cell, device: str) -> CellValues:
        values = [function(cell, device, seed) for seed in seeds_of(cell)]
        return {name: np.stack([of_seed[name] for of_seed in values]) for name in values[0]}

    return measure


def option_of(cell: Cell, name: str, default: OptionValue) -> OptionValue:
    """Return an option of a cell in the type of its default."""
    return type(default)(dict(cell.options).get(name, default))


def arguments_of(cell: Cell) -> dict[str, Any]:
    """Return the step sizes, penalties and options of a cell as keyword arguments."""
    return {"eta": list(cell.etas), "ridge": list(cell.ridges), **dict(cell.options)}
