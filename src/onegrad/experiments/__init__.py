"""The sweep engine: grids of cells, a store that survives kills, verification, one report."""

from onegrad.experiments.cell import Cell as Cell
from onegrad.experiments.checks import Check as Check
from onegrad.experiments.checks import check as check
from onegrad.experiments.checks import compare_results as compare_results
from onegrad.experiments.checks import comparison_of as comparison_of
from onegrad.experiments.checks import outlier_accuracy as outlier_accuracy
from onegrad.experiments.grid import cells_of as cells_of
from onegrad.experiments.grid import shard as shard
from onegrad.experiments.measure import Measure as Measure
from onegrad.experiments.results import Point as Point
from onegrad.experiments.results import Points as Points
from onegrad.experiments.results import Results as Results
from onegrad.experiments.runner import run_cells as run_cells
from onegrad.experiments.spec import parse_spec as parse_spec
from onegrad.experiments.spec import read_spec as read_spec
from onegrad.experiments.store import Store as Store
from onegrad.experiments.store_file import StoreError as StoreError
