"""The measures that there are, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from onegrad.exceptions import InvalidInput
from onegrad.experiments.cell import Cell

Values = Mapping[str, Any]


@dataclass(frozen=True)
class Measure:
    """A measure.

    Parameters
    ----------
    function : (cell, device) -> arrays by name; a seeded one has seeds as the first axis.
    seeded : whether it is random, so that a grid asks it for seeds.
    options : names of the options it reads.
    """

    function: Callable[[Cell, str], Values]
    seeded: bool
    options: tuple[str, ...] = ()


MEASURES: dict[str, Measure] = {}


def register(name: str, *, seeded: bool, options: tuple[str, ...] = ()) -> Callable[..., Any]:
    """Make a function available as a measure under a name."""

    def keep(function: Callable[[Cell, str], Values]) -> Callable[[Cell, str], Values]:
        if name in MEASURES:
            raise InvalidInput(f"measure {name!r} is taken")
        MEASURES[name] = Measure(function, seeded, options)
        return function

    return keep


def asked(cell: Cell) -> dict[str, Any]:
    """Step sizes, penalties and options, as arguments."""
    return {"eta": list(cell.etas), "ridge": list(cell.ridges), **dict(cell.options)}


def seeds_of(cell: Cell) -> range:
    return range(cell.first_seed, cell.first_seed + cell.seeds)
