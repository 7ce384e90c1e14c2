"""Inputs on a common scale, and clipped to the range that was seen."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from onegrad.arrays import Array, Floats, namespace
from onegrad.exceptions import InvalidInput

MAX_INPUT = 1e300  # sums and differences of two inputs are numbers, too
MARGIN = 1.0  # standard deviations that inputs may lie beyond the range that was seen
MIN_RELATIVE_DEVIATION = 1e-14  # a column that varies less, relative to its mean, is constant


@dataclass(frozen=True)
class Scaling:
    """x -> clip((x - centre) / scale, low, high), column by column."""

    centre: Array
    scale: Array
    low: Array
    high: Array

    def __call__(self, x: Array) -> Array:
        z = (x - self.centre) / self.scale
        return namespace(z).clip(z, self.low, self.high)

    @classmethod
    def standard(cls, x: Floats, w: Floats, max_deviations: float) -> Scaling:
        """Scale by weighted mean and standard deviation; clip a little beyond the rows.

        One row far outside would decide a linear trend, and be decided by it: inputs are clipped
        at `max_deviations` at the latest. A constant column is zero, for ever: nothing was learned
        of what it does when it changes.
        """
        if np.abs(x).max(initial=0.0) > MAX_INPUT:
            raise InvalidInput("inputs", problem=f"their size must be at most {MAX_INPUT:g}")
        centre, deviation = weighted_mean_and_deviation(x, w)
        size = np.maximum(np.abs(centre), np.finfo(float).tiny)
        scale = np.where(deviation <= MIN_RELATIVE_DEVIATION * size, np.inf, deviation)
        z = (x[w > 0] - centre) / scale
        low, high = z.min(0) - MARGIN, z.max(0) + MARGIN
        bound = max_deviations
        return cls(centre, scale, np.maximum(low, -bound), np.minimum(high, bound))

    @classmethod
    def identity(cls, columns: int) -> Scaling:
        """Return the scaling that changes nothing."""
        bound = np.full(columns, np.inf)
        return cls(np.zeros(columns), np.ones(columns), -bound, bound)


def weighted_mean_and_deviation(x: Floats, w: Floats) -> tuple[Floats, Floats]:
    """Return the weighted mean and standard deviation of each column, without overflow."""
    unit = _overflow_safe_unit(x)
    mean = w @ (x / unit) / w.sum() * unit
    deviation = np.sqrt(w @ (x / unit - mean / unit) ** 2 / w.sum()) * unit
    return mean, deviation


def _overflow_safe_unit(x: Floats) -> Floats:
    """Return 1 per column, or a power of two near its largest entry where squares would overflow.

    Dividing by a power of two is exact.
    """
    largest = np.abs(x).max(0, initial=0.0)
    extreme = (largest > 1e100) | ((largest < 1e-100) & (largest > 0))
    return np.where(extreme, 2.0 ** np.floor(np.log2(np.where(extreme, largest, 1.0))), 1.0)


def clip(z: Array, bound: float) -> Array:
    """Return z held between -bound and bound."""
    return z if bound == np.inf else namespace(z).clip(z, -bound, bound)
