"""Inputs on a common scale, and held within bounds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from onegrad.arrays import Array, Floats, namespace
from onegrad.errors import InvalidInput

LARGEST = 1e300  # of an input: means and differences are numbers, too


@dataclass(frozen=True)
class Scaling:
    """x -> clip((x - centre) / scale, -bound, bound), column by column."""

    centre: Array
    scale: Array
    bound: float

    def __call__(self, x: Array) -> Array:
        return clipped((x - self.centre) / self.scale, self.bound)

    @classmethod
    def standard(cls, x: Floats, w: Floats, bound: float) -> Scaling:
        """Weighted mean and standard deviation.

        A constant column is zero, for ever: nothing was learned of what it does when it changes.
        """
        if np.abs(x).max(initial=0.0) > LARGEST:
            raise InvalidInput(f"inputs must be at most {LARGEST:g} in size; found larger ones")
        unit = unit_of(x)
        centre = w @ (x / unit) / w.sum() * unit
        deviation = np.sqrt(w @ (x / unit - centre / unit) ** 2 / w.sum()) * unit
        constant = deviation <= 1e-10 * np.maximum(np.abs(centre), np.finfo(float).tiny)
        return cls(centre, np.where(constant, np.inf, deviation), bound)

    @classmethod
    def identity(cls, columns: int) -> Scaling:
        return cls(np.zeros(columns), np.ones(columns), np.inf)


def unit_of(x: Floats) -> Floats:
    """Of each column, one, or a power of two near its largest entry where squares would overflow.

    Dividing by it is exact.
    """
    largest = np.abs(x).max(0, initial=0.0)
    extreme = (largest > 1e100) | ((largest < 1e-100) & (largest > 0))
    return np.where(extreme, 2.0 ** np.floor(np.log2(np.where(extreme, largest, 1.0))), 1.0)


def clipped(z: Array, bound: float) -> Array:
    """z held between -bound and bound."""
    return z if bound == np.inf else namespace(z).clip(z, -bound, bound)
