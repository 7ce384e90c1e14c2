r"""The map from a row to its features: scaled inputs, one layer of neurons, a linear skip.

.. math:: z = (x - m)/s, \qquad f(x) = \big(z,\ \sigma(W\,\mathrm{clip}_c(z) + b)\big)

The neurons see inputs clip at c (a few standard deviations); the skip sees them clip only
beyond the range of the rows, so that a linear trend in a heavy-tailed input is not lost.

Everything here is fixed before the pass over the data: a layer is a pure function of a row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from functools import reduce
from operator import add

import numpy as np

from onegrad.arrays import Array, Ops, namespace
from onegrad.functions import Function
from onegrad.layers.rows import FEATURE_BLOCK_ROWS, ScaledRows, row_slices
from onegrad.layers.scaling import Scaling, clip
from onegrad.parallel import thread_map
from onegrad.ridge import FEATURE_BITS, Moments, grid_step, sum_moments

CACHE_ROWS = 64  # rows of elementwise work on them
RESTING = (
    1 / 16
)  # of a neuron's spread before sigma: about what it has if one row of 100 turns it on
ROUNDING = 2.0**-30  # of the largest value: what is smaller is no more than rounding


@dataclass(frozen=True)
class Layer:
    """x -> (z, sigma(W clip(z) + b)); the skip z only where asked.

    Parameters
    ----------
    scaling : x -> z.
    W, b : (N, d) and (N,).
    activation : sigma and its derivative.
    skip : whether z itself is among the features.
    bound : where the inputs of the neurons are clip.
    step : grid of each feature (see onegrad.ridge.moments), or None before it is known.
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
        return self.features(self.scaling(x))

    def features(self, z: Array) -> Array:
        """Features of rows that are scaled already."""
        F = np.empty((len(z), self.width))
        skip = self.width - len(self.W)
        F[:, :skip] = z[:, :skip]
        h = F[:, skip:]
        np.matmul(clip(z, self.bound), self.W.T, out=h)
        h += self.b
        self.activation(h, out=h)
        return F

    def preactivations(self, z: Array) -> Array:
        """(n, N) values W clip(z) + b."""
        h = clip(z, self.bound) @ self.W.T
        h += self.b
        return h

    def with_grid(self, z: Array) -> Layer:
        """The same layer with the grid of its features, by some rows that are scaled already.

        A neuron that hardly one of them turns on may be on elsewhere. In units of what it showed
        here its sums would leave the whole numbers: it counts as RESTING of its spread at least.
        """
        rest = np.zeros(self.width - len(self.W))
        least = np.concatenate([rest, RESTING * self.preactivations(z).std(0)])
        size = np.concatenate([rest + 1, np.abs(self.W).sum(1) + np.abs(self.b)])
        return replace(self, step=grid_step(self.features(z), FEATURE_BITS, least, ROUNDING * size))

    def moments(self, x: Array, y: Array, w: Array | None = None) -> Moments:
        """Moments of the rows x, a bounded number of rows at a time."""
        return self._moments(lambda rows: self.scaling(x[rows]), y, w)

    def scaled_moments(self, rows: ScaledRows, threads: int = 1) -> Moments:
        """Moments of rows that are scaled already; the sums are exact on any number of threads."""
        weighted = not (rows.w == 1).all()

        def part(piece: slice) -> Moments:
            z, t, w = rows.z[piece], rows.t[piece], rows.w[piece] if weighted else None
            return self._moments(lambda some: z[some], t, w)

        pieces = row_slices(len(rows), -(-max(len(rows), 1) // threads))
        return reduce(add, thread_map(part, pieces, threads))

    def _moments(self, z: Callable[[slice], Array], y: Array, w: Array | None) -> Moments:
        blocks = ((A, None if w is None else w[rows]) for rows, A in self._blocks(z, y))
        return sum_moments(blocks, self.width).in_units(self.step)

    def _blocks(self, z: Callable[[slice], Array], y: Array) -> Iterator[tuple[slice, Array]]:
        """(f, y, 1) of some rows at a time, f in whole numbers of grid units.

        The next block overwrites the last one: memory that is warm already.
        """
        assert self.step is not None
        N, n = self.width, len(y)
        skip = N - len(self.W)
        per_step = 1.0 / self.step
        W = np.concatenate([self.W, self.b[:, None]], 1)
        if self.activation.homogeneous:  # weights can carry the units: one pass less
            W *= per_step[skip:, None]
            per_step = per_step[:skip]
        A = np.ones((min(n, FEATURE_BLOCK_ROWS), N + y.shape[1] + 1))
        x = np.ones((len(A), W.shape[1]))
        for rows in row_slices(n):
            count = rows.stop - rows.start
            block, scaled = A[:count], z(rows)
            F, h = block[:, :N], block[:, skip:N]
            x[:count, :-1] = clip(scaled, self.bound)
            np.matmul(x[:count], W.T, out=h)
            F[:, :skip] = scaled[:, :skip]
            block[:, N:-1] = y[rows]
            for some in row_slices(count, CACHE_ROWS):  # few rows at a time stay in cache
                self.activation(h[some], out=h[some])
                F[some, : len(per_step)] *= per_step
                np.rint(F[some], out=F[some])
            yield rows, block


class DeviceLayer(Layer):
    """A layer on another device: whole expressions instead of loops over warm memory."""

    @classmethod
    def of(cls, layer: Layer, there: Ops) -> DeviceLayer:
        """The layer, on a device."""
        scaling, put = layer.scaling, there.asarray
        return cls(
            Scaling(*(put(getattr(scaling, part.name)) for part in fields(scaling))),
            put(layer.W),
            put(layer.b),
            layer.activation,
            layer.skip,
            layer.bound,
            put(layer.step),
        )

    def features(self, z: Array) -> Array:
        h = self.activation(self.preactivations(z))
        return namespace(z).concatenate([z, h], 1) if self.skip else h

    def _blocks(self, z: Callable[[slice], Array], y: Array) -> Iterator[tuple[slice, Array]]:
        xp = namespace(y)
        for rows in row_slices(len(y)):
            f = xp.round(self.features(z(rows)) / self.step)
            yield rows, xp.concatenate([f, y[rows], xp.ones_like(y[rows][:, :1])], 1)
