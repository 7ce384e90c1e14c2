r"""The map from a row to its features, and gradients of what a readout makes of them.

.. math:: z = (x - m)/s, \qquad f(x) = \big(z,\ \sigma(W\,\mathrm{clip}_c(z) + b)\big)

The neurons see inputs clipped at c (a few standard deviations). The skip sees inputs clipped only
beyond the range of the rows, so that a linear trend in a heavy-tailed input is not lost.

A layer is fixed before the pass over the data: it is a pure function of a row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from onegrad.arrays import Array, Ops, namespace, ops_of
from onegrad.functions import Function
from onegrad.parallel.threads import thread_map
from onegrad.ridge import FEATURE_BITS, Moments, grid_step, sum_moments
from onegrad.tables.first_layer.scaling import (
    DEVICE_BLOCK_ROWS,
    FEATURE_BLOCK_ROWS,
    ScaledRows,
    Scaling,
    clip,
    row_slices,
)

CACHE_ROWS = 64  # rows of elementwise work that stay in cache: half a megabyte at width 1000
# Rows whose sums in single precision one thread makes. Rounded sums depend on how rows are cut:
# they are cut in the same way on any number of threads.
SINGLE_ROWS = 4096
# Of a neuron's deviation before sigma: about what a ReLU has after it if one row of 100 activates
# it. The grid of its features is part of what a model is: another value gives other last digits.
MIN_RELATIVE_FEATURE = 1 / 16
RELATIVE_ROUNDING = 2.0**-30  # of the largest value: what is smaller is rounding


@dataclass(frozen=True)
class Layer:
    """x -> (z, sigma(W clip(z) + b)), without z where there is no skip."""

    scaling: Scaling  # x -> z
    W: Array  # (N, d)
    b: Array  # (N,)
    activation: Function  # sigma and its derivative
    skip: bool  # whether z itself is among the features
    bound: float = np.inf  # c, where the inputs of the neurons are clipped
    # (width,) grid of each feature (see onegrad.ridge.moments); None before it is known, and in
    # single precision
    step: Array | None = None

    @property
    def width(self) -> int:
        """Number of features."""
        return int(self.W.shape[0] + (self.W.shape[1] if self.skip else 0))

    def on(self, ops: Ops) -> Layer:
        """Return the layer on the device of these operations."""
        return self if ops.device == "cpu" else DeviceLayer.of(self, ops)

    def in_single(self) -> Layer:
        """Return the layer in single precision, without a grid: half the time, for comparisons."""
        W, b = (np.asarray(x, np.float32) for x in (self.W, self.b))
        return replace(self, W=W, b=b, step=None)

    def __call__(self, x: Array) -> Array:
        """(n, width) features of the rows x."""
        return self.features(self.scaling(x))

    def features(self, z: Array) -> Array:
        """(n, width) features of rows that are scaled already."""
        F = np.empty((len(z), self.width), self.W.dtype)
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
        """Return the layer with the grid of its features, from some rows that are scaled already.

        A neuron that hardly one of these rows activates may be active elsewhere. In units of what
        it showed here its sums would leave the whole numbers: it counts as MIN_RELATIVE_FEATURE of
        its deviation at least.
        """
        skip = np.zeros(self.width - len(self.W))
        least = np.concatenate([skip, MIN_RELATIVE_FEATURE * self.preactivations(z).std(0)])
        size = np.concatenate([skip + 1, np.abs(self.W).sum(1) + np.abs(self.b)])
        step = grid_step(self.features(z), FEATURE_BITS, least, RELATIVE_ROUNDING * size)
        return replace(self, step=step)

    def on_grid(self, F: Array) -> Array:
        """Return features rounded to their grid, as moments sum them."""
        assert self.step is not None
        return np.rint(F / self.step) * self.step

    def moments(self, x: Array, y: Array, w: Array | None = None) -> Moments:
        """Sum the moments of the rows x, a bounded number of rows at a time."""
        return self._moments(lambda rows: self.scaling(x[rows]), y, w)

    def scaled_moments(self, rows: ScaledRows, threads: int = 1) -> Moments:
        """Sum the moments of rows that are scaled already: the same on any number of threads."""
        weighted = not (rows.w == 1).all()

        def moments(share: slice) -> Moments:
            z, t, w = rows.z[share], rows.t[share], rows.w[share] if weighted else None
            return self._moments(lambda block: z[block], t, w)

        size = SINGLE_ROWS if self.step is None else -(-max(len(rows), 1) // threads)
        return reduce(add, thread_map(moments, row_slices(len(rows), size), threads))

    def _moments(self, z: Callable[[slice], Array], y: Array, w: Array | None) -> Moments:
        blocks = ((A, None if w is None else w[rows]) for rows, A in self._blocks(z, y))
        moments = sum_moments(blocks, self.width)
        return moments if self.step is None else moments.in_units(self.step)

    def _blocks(self, z: Callable[[slice], Array], y: Array) -> Iterator[tuple[slice, Array]]:
        """Yield rows with their (f, y, 1), f in whole numbers of grid units, a block at a time.

        Each block overwrites the one before: that memory is in cache already.
        """
        N, n = self.width, len(y)
        skip = N - len(self.W)
        per_step = None if self.step is None else 1.0 / self.step
        W = np.concatenate([self.W, self.b[:, None]], 1)
        if per_step is not None and self.activation.homogeneous:
            W *= per_step[skip:, None]  # the weights can carry the units: one pass less
            per_step = per_step[:skip]
        A = np.ones((min(n, FEATURE_BLOCK_ROWS), N + y.shape[1] + 1), W.dtype)
        x = np.ones((len(A), W.shape[1]), W.dtype)
        for rows in row_slices(n):
            count = rows.stop - rows.start
            block, scaled = A[:count], z(rows)
            F, h = block[:, :N], block[:, skip:N]
            x[:count, :-1] = clip(scaled, self.bound)
            np.matmul(x[:count], W.T, out=h)
            F[:, :skip] = scaled[:, :skip]
            block[:, N:-1] = y[rows]
            for cached in row_slices(count, CACHE_ROWS):
                self.activation(h[cached], out=h[cached])
                if per_step is not None:
                    F[cached, : len(per_step)] *= per_step
                    np.rint(F[cached], out=F[cached])
            yield rows, block


class DeviceLayer(Layer):
    """A layer on another device: whole expressions instead of loops over cached memory."""

    @classmethod
    def of(cls, layer: Layer, ops: Ops) -> DeviceLayer:
        """Copy a layer to the device of these operations."""
        host = layer.scaling
        scaling = Scaling.of_arrays(map(ops.asarray, host.arrays), host.copies)
        W, b, step = map(ops.asarray, (layer.W, layer.b, layer.step))
        return cls(scaling, W, b, layer.activation, layer.skip, layer.bound, step)

    def features(self, z: Array) -> Array:
        h = self.activation(self.preactivations(z))
        return namespace(z).concatenate([z, h], 1) if self.skip else h

    def _blocks(self, z: Callable[[slice], Array], y: Array) -> Iterator[tuple[slice, Array]]:
        xp = namespace(y)
        for rows in row_slices(len(y), DEVICE_BLOCK_ROWS):
            f = xp.round(self.features(z(rows)) / self.step)
            yield rows, xp.concatenate([f, y[rows], xp.ones_like(y[rows][:, :1])], 1)


def gradient_outer_product(
    rows: ScaledRows, *networks: tuple[Layer, Array], by_column: bool = False
) -> Array:
    r"""(d, d) :math:`M = \frac1{\sum w}\sum_i w_i \sum_k \nabla f_k(z_i)\nabla f_k(z_i)^\top`.

    .. math:: \nabla f_k(z) = W^\top\big(\sigma'(Wz+b)\odot a_{h,k}\big) + a_{z,k}

    with the coefficients (a_z, a_h) of the skip and of the neurons. f is the mean of the networks,
    each a layer with its coefficients. The clip of the inputs counts as the identity: a clipped
    input still says where f grows. An input that is constant has no slope: what f would do
    along it is chance. `by_column` takes gradients in the columns of x, on their first scale, where
    they are inputs on several.
    """
    scaling = networks[0][0].scaling
    folds = by_column and scaling.copies > 1
    d = scaling.columns if folds else rows.z.shape[1]
    M = ops_of(rows.z).zeros(d, d)
    constant = (rows.z == rows.z[:1]).all(0)
    outputs = range(networks[0][1].shape[1])
    for block in rows.blocks():
        chain = scaling.slopes(block.z) if folds else None
        slopes = [n.activation.derivative(n.preactivations(block.z)) for n, _ in networks]
        for k in outputs:
            g = sum(_slope(n, s, a[:, k]) for (n, a), s in zip(networks, slopes, strict=True))
            g *= namespace(g).sqrt(block.w)[:, None] / len(networks)
            g[:, constant] = 0.0
            if folds:
                g *= chain
                g = g.reshape(len(g), scaling.copies, scaling.columns).sum(1)
            M += g.T @ g
    M /= rows.w.sum()
    return M


def _slope(layer: Layer, slopes: Array, a: Array) -> Any:
    """(m, d) gradients of one output with coefficients a, from the neurons' slopes (m, N)."""
    skip = layer.width - len(layer.W)
    g = (slopes * a[skip:]) @ layer.W
    if skip:
        g += a[:skip]
    return g
