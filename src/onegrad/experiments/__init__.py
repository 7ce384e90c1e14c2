"""The sweep engine: grids of cells, a store that survives kills, verification, one report."""

from __future__ import annotations

from onegrad.experiments.cell import Cell
from onegrad.experiments.grid import cells_of, shard
from onegrad.experiments.measure import Measure
from onegrad.experiments.results import Point, Results
from onegrad.experiments.runner import run_cells
from onegrad.experiments.spec import parse_spec, read_spec
from onegrad.experiments.store import Store
from onegrad.experiments.store_file import StoreError

__all__ = [
    "Cell",
    "Measure",
    "Point",
    "Results",
    "Store",
    "StoreError",
    "cells_of",
    "parse_spec",
    "read_spec",
    "run_cells",
    "shard",
]
