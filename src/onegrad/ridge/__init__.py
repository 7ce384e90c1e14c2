"""Ridge regression from sums over rows: the only room that factors a Gram matrix."""

from onegrad.ridge.dual import solve_dual
from onegrad.ridge.equations import Fit, NormalEquations, Readout
from onegrad.ridge.moments import (
    FEATURE_BITS,
    TARGET_BITS,
    Moments,
    grid_step,
    round_to_grid,
    sum_moments,
)
from onegrad.ridge.shifted import Factor

__all__ = [
    "FEATURE_BITS",
    "TARGET_BITS",
    "Factor",
    "Fit",
    "Moments",
    "NormalEquations",
    "Readout",
    "grid_step",
    "round_to_grid",
    "solve_dual",
    "sum_moments",
]
