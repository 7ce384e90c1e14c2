"""Inputs on a common scale, and held within bounds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from onegrad.arrays import Array, Floats, namespace


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
        """Weighted mean and standard deviation; a constant column is not divided by ~0."""
        centre = w @ x / w.sum()
        deviation = np.sqrt(w @ (x - centre) ** 2 / w.sum())
        constant = deviation <= 1e-10 * np.maximum(np.abs(centre), np.finfo(float).tiny)
        return cls(centre, np.where(constant, 1.0, deviation), bound)

    @classmethod
    def identity(cls, columns: int) -> Scaling:
        return cls(np.zeros(columns), np.ones(columns), np.inf)


def clipped(z: Array, bound: float) -> Array:
    """z held between -bound and bound."""
    return z if bound == np.inf else namespace(z).clip(z, -bound, bound)
