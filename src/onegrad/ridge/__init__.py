"""Ridge regression from sums over rows: the only package that factors a Gram matrix."""

from onegrad.ridge.equations import Fit as Fit
from onegrad.ridge.equations import NormalEquations as NormalEquations
from onegrad.ridge.equations import Readout as Readout
from onegrad.ridge.equations import solve_dual as solve_dual
from onegrad.ridge.moments import FEATURE_BITS as FEATURE_BITS
from onegrad.ridge.moments import TARGET_BITS as TARGET_BITS
from onegrad.ridge.moments import Moments as Moments
from onegrad.ridge.moments import grid_step as grid_step
from onegrad.ridge.moments import round_to_grid as round_to_grid
from onegrad.ridge.moments import sum_moments as sum_moments
from onegrad.ridge.shifted import Factor as Factor
