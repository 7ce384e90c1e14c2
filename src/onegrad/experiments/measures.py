"""What a cell can measure: a name, a pure function of the cell, and the options it reads."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from onegrad.errors import InvalidInput
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


@register("rehearsal", seeded=True, options=("wait", "numbers"))
def rehearsal(cell: Cell, device: str) -> Values:
    """Normal numbers, one row a seed, after a wait: tries out a cluster before the real thing."""
    options = dict(cell.options)
    time.sleep(float(options.get("wait", 0.0)))
    count = int(options.get("numbers", 1))
    seeds = range(cell.first_seed, cell.first_seed + cell.seeds)
    size = (cell.problem.n, cell.problem.d, cell.problem.N)
    draws = [np.random.default_rng((*size, seed)).normal(size=count) for seed in seeds]
    return {"draw": np.stack(draws)}
