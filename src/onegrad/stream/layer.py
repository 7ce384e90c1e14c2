r"""The map from a row to its features: scaled inputs, one layer of neurons, a linear skip.

.. math:: z = (x - m)/s, \qquad f(x) = \big(z,\ \sigma(W\,\mathrm{clip}_c(z) + b)\big)

The neurons see inputs clipped at c (a few standard deviations); the skip sees them clipped only far
out, so that a linear trend in a heavy-tailed input is not lost.

Everything here is fixed before the pass over the data: a layer is a pure function of a row.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from onegrad._xp import Array, Backend, is_torch, namespace
from onegrad.activations import Function
from onegrad.stream.statistics import FEATURE_BITS, Floats, Moments, grid, moments, rounded

GRAM_ROWS, CACHE_ROWS = 2048, 256  # rows of a product, and of elementwise work before it
BLOCK_ROWS = 1024  # rows whose features are held at once: 9 MB at width 1000, which malloc reuses


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


@dataclass(frozen=True)
class Layer:
    """x -> (z, sigma(W clip(z) + b)); the skip z only where asked.

    Parameters
    ----------
    scaling : x -> z.
    W, b : (N, d) and (N,).
    activation : sigma and its derivative.
    skip : whether z itself is among the features.
    bound : where the inputs of the neurons are clipped.
    step : grid of each feature (see onegrad.stream.statistics), or None before it is known.
    """

    scaling: Scaling
    W: Array
    b: Array
    activation: Function
    skip: bool
    bound: float = np.inf
    step: Array | None = None

    @property
    def width(self) -> int:
        """Number of features."""
        return int(self.W.shape[0] + (self.W.shape[1] if self.skip else 0))

    def __call__(self, x: Array) -> Array:
        """Features of the rows x, shape (n, width)."""
        return self.of_scaled(self.scaling(x))

    def of_scaled(self, z: Array) -> Array:
        """Features of rows that are scaled already."""
        h = self.activation(self.preactivations(z))
        return namespace(z).concatenate([z, h], 1) if self.skip else h

    def preactivations(self, z: Array) -> Array:
        """(n, N) values W clip(z) + b."""
        h = clipped(z, self.bound) @ self.W.T
        h += self.b
        return h

    def gradients(self, z: Array, coef: Array) -> Iterator[Array]:
        r"""For each output, (n, d) gradients :math:`W^\top(\sigma'(Wz+b)\odot a_h) + a_z`.

        The clip counts as the identity: a clipped input still says in which direction f grows.
        """
        slopes = self.activation.derivative(self.preactivations(z))
        split = self.width - len(self.W)  # coefficients of the skip come first
        for k in range(coef.shape[1]):
            g = (slopes * coef[split:, k]) @ self.W
            yield g + coef[:split, k] if split else g

    def on(self, there: Backend) -> Layer:
        """The same layer with its arrays on another device."""
        scaling = replace(
            self.scaling,
            centre=there.asarray(self.scaling.centre),
            scale=there.asarray(self.scaling.scale),
        )
        W, b, step = there.asarray(self.W), there.asarray(self.b), there.asarray(self.step)
        return replace(self, scaling=scaling, W=W, b=b, step=step)

    def with_grid(self, F: Array) -> Layer:
        """The same layer with the grid of its features F on some rows."""
        return replace(self, step=grid(F, FEATURE_BITS))

    def moments(self, x: Array, y: Array, w: Array | None = None) -> Moments:
        """Moments of the rows x, a bounded number of rows at a time."""
        return self.scaled_moments(self.scaling(x), y, w)

    def on_grid(self, z: Array) -> Array:
        """Features of scaled rows on the grid; few rows at a time: temporaries stay in cache."""
        if is_torch(z):
            return rounded(self.of_scaled(z), self.step)
        F = np.empty((len(z), self.width))
        skip = self.width - len(self.W)
        for rows in row_blocks(len(z), CACHE_ROWS):
            F[rows, skip:] = self.activation(self.preactivations(z[rows]))
            F[rows, :skip] = z[rows, :skip]
            rounded(F[rows], self.step)
        return F

    def scaled_moments(self, z: Array, y: Array, w: Array | None = None) -> Moments:
        """Moments of rows that are scaled already."""
        total = None
        for rows in row_blocks(len(z), GRAM_ROWS):
            F = self.on_grid(z[rows])
            block = moments(F, y[rows], None if w is None else w[rows])
            total = block if total is None else total + block
        assert total is not None
        return total


def clipped(z: Array, bound: float) -> Array:
    """z held between -bound and bound."""
    return z if bound == np.inf else namespace(z).clip(z, -bound, bound)


def row_blocks(n: int, size: int = BLOCK_ROWS) -> Iterator[slice]:
    """Slices of at most `size` rows that cover 0..n; one empty slice for n = 0."""
    return (slice(i, min(i + size, n)) for i in range(0, max(n, 1), size))
