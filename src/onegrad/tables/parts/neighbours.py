r"""The local part of a prediction: mean targets of the nearest rows in the learned metric.

.. math:: q(z) = \frac{\sum_j w_j\,k_j\,t_j}{\sum_j w_j\,k_j}, \qquad
          k_j = e^{-2 D_j/D_{(k)}} - e^{-2 D_{\max}/D_{(k)}}, \qquad D_j = |R\,(z - z_j)|^2

over the nearest rows, with :math:`D_{(k)}` that of the k-th and :math:`D_{\max}` that of the
farthest among them, so that a row's weight goes to zero before it is left out. R is a power of the
metric in which the fitted function varies.

The rows are those of a model with the smallest keys (hashes of their contents), a bounded number.
Like moments they add and subtract: a row that is removed from the model is no neighbour any more.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from onegrad.arrays import Floats
from onegrad.tables.first_layer.scaling import row_slices
from onegrad.tables.rows.sample import MIN_WEIGHT, RowKeys

MAX_NEIGHBOUR_ROWS = 50_000  # rows that are kept, which bounds files and time; not tuned
NEAREST = 32  # rows that can have a part in a prediction
SLACK = 8  # further ones whose distance is computed: the first ranking is in single precision
QUERY_BLOCK = 256  # rows whose distances to all others are held at once
MIN_KERNEL = 1e-9  # where all are equally far, all count the same


@dataclass(frozen=True)
class NearbyRows:
    """Rows that can be neighbours: keys in increasing order, points (m, r), targets, weights.

    Points are inputs times R, in single precision.
    """

    keys: RowKeys
    points: Floats
    t: Floats
    w: Floats

    def __len__(self) -> int:
        return len(self.keys)

    def __add__(self, other: NearbyRows) -> NearbyRows:
        both = [np.concatenate(pair) for pair in zip(self.arrays, other.arrays, strict=True)]
        return NearbyRows(*both).distinct()

    def __sub__(self, other: NearbyRows) -> NearbyRows:
        """Return the rows without others; those that are not among them do not matter."""
        common = other[np.isin(other.keys, self.keys)]
        return self + replace(common, w=-common.w)

    def __getitem__(self, which: Any) -> NearbyRows:
        return NearbyRows(*(array[which] for array in self.arrays))

    @property
    def arrays(self) -> tuple[Any, ...]:
        return self.keys, self.points, self.t, self.w

    def distinct(self) -> NearbyRows:
        """Return the rows with the smallest keys, equal ones as one with the sum of weights."""
        keys, first, group = np.unique(self.keys, return_index=True, return_inverse=True)
        w = np.bincount(group, self.w, len(keys)).astype(np.float64)
        remaining = np.flatnonzero(w > MIN_WEIGHT)[:MAX_NEIGHBOUR_ROWS]
        return replace(self[first[remaining]], keys=keys[remaining], w=w[remaining])


@dataclass(frozen=True)
class Neighbours:
    """The rows near which predictions are corrected, and how."""

    root: Floats  # (d, r) R, which takes scaled inputs to points
    count: int  # k, the neighbour whose distance is the width of the kernel
    share: float  # what the mean target of the neighbours counts in the prediction
    rows: NearbyRows  # those that are in the model now
    seed: int  # of the keys of rows

    def rows_of(self, keys: RowKeys, z: Floats, t: Floats, w: Floats) -> NearbyRows:
        """Return rows that can be neighbours, of scaled inputs, targets and weights."""
        return NearbyRows(keys, points(z, self.root), t, w).distinct()

    def __call__(self, z: Floats, exclude: RowKeys | None = None) -> Floats:
        """Return the (n, K) mean targets of the rows near z (n, d).

        `exclude` (n,) are keys of rows that are not to be their own neighbours.
        """
        return np.concatenate(
            [
                kernel_means(near, self.rows, self.count)
                for near in nearest(points(z, self.root), self.rows, exclude)
            ]
        )


def points(z: Floats, root: Floats) -> Floats:
    """Return scaled inputs (n, d) in the learned metric: (n, r), in single precision."""
    return np.asarray(z @ root, np.float32)


@dataclass(frozen=True)
class Nearest:
    """The nearest rows of each of m points: positions (m, n) and squared distances, in order."""

    positions: np.ndarray[tuple[int, int], np.dtype[np.intp]]
    square: Floats


def nearest(points: Floats, rows: NearbyRows, exclude: RowKeys | None = None) -> Iterator[Nearest]:
    """Yield the nearest rows of the points, a block of them at a time.

    Which rows are near is found by products in single precision; the order among them by
    differences, which depend on the two rows alone and not on the others in their block.
    """
    candidates = min(NEAREST + SLACK + (exclude is not None), len(rows))
    square_length = (rows.points * rows.points).sum(1)
    for block in row_slices(len(points), QUERY_BLOCK):
        x = points[block]
        ranking = square_length - 2 * (x @ rows.points.T)
        if candidates < len(rows):
            positions = np.argpartition(ranking, candidates - 1, axis=1)[:, :candidates]
        else:
            positions = np.tile(np.arange(len(rows)), (len(x), 1))
        positions.sort(1)  # equally near rows in the order of their keys
        difference = rows.points[positions].astype(np.float64) - x[:, None]
        square = (difference * difference).sum(2)
        if exclude is not None:
            square[rows.keys[positions] == exclude[block, None]] = np.inf
        order = np.argsort(square, 1, kind="stable")[:, :NEAREST]
        yield Nearest(np.take_along_axis(positions, order, 1), np.take_along_axis(square, order, 1))


def kernel_means(near: Nearest, rows: NearbyRows, count: int) -> Floats:
    """Return the (m, K) kernel means of the targets of the nearest rows."""
    finite = np.isfinite(near.square)
    square = np.where(finite, near.square, 0.0)
    width = square[:, min(count, square.shape[1]) - 1, None] + 1e-12
    kernel = np.exp(-2 * square / width)
    kernel -= np.exp(-2 * square.max(1, keepdims=True) / width)
    weights = (kernel + MIN_KERNEL) * finite * rows.w[near.positions]
    total = np.maximum(weights.sum(1, keepdims=True), np.finfo(float).tiny)
    return np.einsum("mn,mnk->mk", weights / total, rows.t[near.positions])
