"""The sweep engine: grids of cells, a store that survives kills, verification, one report."""

from onegrad.experiments.cell import Cell
from onegrad.experiments.checks import (
    Check,
    check,
    compare_results,
    comparison_of,
    outlier_accuracy,
)
from onegrad.experiments.grid import cells_of, shard
from onegrad.experiments.measure import Measure
from onegrad.experiments.results import Point, Points, Results
from onegrad.experiments.runner import run_cells
from onegrad.experiments.spec import parse_spec, read_spec
from onegrad.experiments.store import Store
from onegrad.experiments.store_file import StoreError

__all__ = [
    "Cell",
    "Check",
    "Measure",
    "Point",
    "Points",
    "Results",
    "Store",
    "StoreError",
    "cells_of",
    "check",
    "compare_results",
    "comparison_of",
    "outlier_accuracy",
    "parse_spec",
    "read_spec",
    "run_cells",
    "shard",
]
