"""Experiments: grids of cells that survive anything, the papers' figures, one report."""

from __future__ import annotations

from onegrad.experiments.cell import Cell
from onegrad.experiments.grid import cells_of, shard
from onegrad.experiments.measure import Measure
from onegrad.experiments.results import Point, Results
from onegrad.experiments.runner import run
from onegrad.experiments.spec import parse_spec, read_spec
from onegrad.experiments.store import Store, StoreError

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
    "run",
    "shard",
]
