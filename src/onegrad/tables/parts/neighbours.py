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

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np

from onegrad.arrays import Floats
from onegrad.exceptions import InvalidInput
from onegrad.tables.first_layer.layer import gradient_outer_product
from onegrad.tables.first_layer.scaling import row_slices
from onegrad.tables.fitting.training_set import TrainingSet, metric_rows
from onegrad.tables.parts.learner import Learner, PartFit, Trial
from onegrad.tables.parts.part import KEYS, ArraySpec, NamedArrays, RowPart
from onegrad.tables.rows.sample import WEIGHT_ROUNDING, KeyedRows, RowKeys

MAX_NEIGHBOUR_ROWS = 50_000  # rows that are kept, which bounds files and time; not tuned
NEAREST = 32  # rows that can have a part in a prediction
SLACK = 8  # further ones whose distance is computed: the first ranking is in single precision
QUERY_BLOCK = 256  # rows whose distances to all others are held at once
MIN_KERNEL = 1e-9  # where all are equally far, all count the same
COUNTS = (1, 2, 4, 8, 16)  # neighbours whose distance is tried as width of the kernel
MAX_DIRECTIONS = 64  # leading directions of the metric in which distances are measured
MIN_DIRECTION = 1e-4  # share of the metric below which a direction does not count


@dataclass(frozen=True)
class NearbyRows(KeyedRows):
    """Rows that can be neighbours: keys in increasing order, points (m, r), targets, weights.

    Points are inputs times R, in single precision.
    """

    by_row = ("keys", "points", "t", "w")
    summed = ("w",)
    points: Floats
    t: Floats
    w: Floats

    def __add__(self, other: NearbyRows) -> NearbyRows:
        return self.joined(other).nearby()

    def __sub__(self, other: NearbyRows) -> NearbyRows:
        """Return the rows without others; those that are not among them do not matter."""
        common = other[np.isin(other.keys, self.keys)]
        signed = (replace(common, w=sign * common.w) for sign in (-1.0, 1.0))
        rest, total = (self.joined(rows).distinct() for rows in signed)
        return rest[rest.w > WEIGHT_ROUNDING * total.w].nearby()

    def nearby(self) -> NearbyRows:
        """Return the rows with the smallest keys, equal ones as one with the sum of weights."""
        rows = self.distinct()
        return rows[np.flatnonzero(rows.w > 0)[:MAX_NEIGHBOUR_ROWS]]


@dataclass(frozen=True)
class Neighbours(RowPart):
    """The rows near which predictions are corrected, and how."""

    root: Floats  # (d, r) R, which takes scaled inputs to points
    count: int  # k, the neighbour whose distance is the width of the kernel
    share: float  # what the mean target of the neighbours counts in the prediction
    rows: NearbyRows  # those that are in the model now

    def __call__(self, z: Floats, keys: RowKeys | None = None) -> Floats:
        near = nearest(points(z, self.root), self.rows, keys)
        return self.share * np.concatenate([kernel_means(n, self.rows, self.count) for n in near])

    def scaled(self, factor: float) -> Neighbours:
        return replace(self, share=factor * self.share)

    @property
    def products_per_row(self) -> int:
        return self.rows.points.size + self.root.size

    def rows_of(self, keys: RowKeys, z: Floats, t: Floats, w: Floats) -> NearbyRows:
        """Return rows that can be neighbours, of scaled inputs, targets and weights."""
        return NearbyRows(keys, points(z, self.root), t, w).nearby()

    def with_rows(self, rows: NearbyRows) -> Neighbours:
        return replace(self, rows=rows)

    @property
    def facts(self) -> dict[str, Any]:
        return {"count": self.count, "share": self.share}

    @classmethod
    def specs(cls, _: Mapping[str, Any]) -> dict[str, ArraySpec]:
        return {
            "root": ArraySpec("inputs directions"),
            "keys": KEYS,
            "points": ArraySpec("rows directions", np.float32),
            "t": ArraySpec("rows outputs"),
            "w": ArraySpec("rows"),
        }

    def arrays(self) -> NamedArrays:
        return {"root": self.root, **vars(self.rows)}

    @classmethod
    def from_arrays(cls, arrays: NamedArrays, facts: Mapping[str, Any], _: int, /) -> Self:
        rows = NearbyRows(*(arrays[name] for name in ("keys", "points", "t", "w")))
        count, share = int(facts["count"]), float(facts["share"])
        if not count > 0 or not np.isfinite(share):
            raise InvalidInput("neighbours", problem="their number and share must be positive")
        return cls(arrays["root"], count, share, rows)


@dataclass(frozen=True)
class NeighbourSearch(Learner):
    """The metric of the network, and the best of several widths of the kernel."""

    # the best of several trials: with one standard error they are chosen on a line with noise
    min_errors: ClassVar[float] = 2.0
    # mean targets, not mean residuals: 0.959 of the error without neighbours against 0.975

    def trials(self, fit: PartFit) -> Iterator[Trial]:
        root = metric_root(fit)
        if not root.shape[1]:
            return
        for count, means in local_means(fit.judged, root, COUNTS).items():
            yield Trial(means, None, partial(self.neighbours, fit, root, count), count)

    def neighbours(self, fit: PartFit, root: Floats, count: int) -> list[Neighbours]:
        """Return the neighbours among all rows of the sample."""
        rows = fit.training_set.without_held_out.fit
        near = NearbyRows(fit.training_set.keys, points(rows.z, root), rows.t, rows.w)
        return [Neighbours(root, count, 1.0, near.nearby())]


def metric_root(fit: PartFit) -> Floats:
    """(d, r) root of the metric of a network: R R^T = M, its leading directions alone."""
    rows = metric_rows(fit.training_set.update)
    M = gradient_outer_product(rows, (fit.best.layer, fit.best.update_readout.coef))
    values, V = np.linalg.eigh(M)
    total = values.sum()
    if not total > 0:
        return np.zeros((len(M), 0))
    leading = np.flatnonzero(values > MIN_DIRECTION * total)[-MAX_DIRECTIONS:]
    return V[:, leading] * np.sqrt(values[leading] / total)


def local_means(
    training_set: TrainingSet, root: Floats, counts: Sequence[int]
) -> dict[int, Floats]:
    """Return, by count, the (m, K) mean targets near held-out rows of those that are not."""
    rows, keys = training_set.fit, training_set.keys[: len(training_set.fit)]
    near = NearbyRows(keys, points(rows.z, root), rows.t, rows.w)
    blocks = [*nearest(points(training_set.held_out.z, root), near)]
    return {
        count: np.concatenate([kernel_means(block, near, count) for block in blocks])
        for count in counts
    }


def points(z: Floats, root: Floats) -> Floats:
    """Return scaled inputs (n, d) in the learned metric: (n, r), in single precision."""
    return np.asarray(z @ root, np.float32)


Nearest = tuple[np.ndarray[Any, np.dtype[np.intp]], Floats]


def nearest(points: Floats, rows: NearbyRows, exclude: RowKeys | None = None) -> Iterator[Nearest]:
    """Yield positions (m, n) of the nearest rows of m points and their squared distances, in order.

    A block of points at a time. Which rows are near is found by products in single precision; the
    order among them by differences, which depend on the two rows alone and not on the others in
    their block.
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
        yield np.take_along_axis(positions, order, 1), np.take_along_axis(square, order, 1)


def kernel_means(near: Nearest, rows: NearbyRows, count: int) -> Floats:
    """Return the (m, K) kernel means of the targets of the nearest rows."""
    positions, square = near
    finite = np.isfinite(square)
    square = np.where(finite, square, 0.0)
    width = square[:, min(count, square.shape[1]) - 1, None] + 1e-12
    kernel = np.exp(-2 * square / width)
    kernel -= np.exp(-2 * square.max(1, keepdims=True) / width)
    weights = (kernel + MIN_KERNEL) * finite * rows.w[positions]
    total = np.maximum(weights.sum(1, keepdims=True), np.finfo(float).tiny)
    return np.einsum("mn,mnk->mk", weights / total, rows.t[positions])
