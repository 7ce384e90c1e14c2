r"""Sources of new neurons, and the choice of those that fit the residual best.

A neuron is :math:`\sigma(w\cdot z + b)` and switches at a point of the data. With
:math:`R = M^p` of a metric M, its direction is one of

* *any*: :math:`w = R g`, g standard normal;
* *axis*: one input, drawn by its importance :math:`M_{jj}`;
* *pair*: two inputs, drawn by the roots of their importance;
* *neighbours*: :math:`w = R\,(Rz_i - Rz_j)` for two rows that are near in the metric, switching
  between them;
* *rows*: :math:`w = z_i - z_j` for any two rows.

All are scaled to unit variance of w.z, so that one ridge is fair to all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from onegrad.arrays import Array, Floats, Ops, get_ops, is_torch, namespace, to_numpy
from onegrad.tables.first_layer.scaling import DEVICE_BLOCK_ROWS, ScaledRows, clip, row_slices
from onegrad.tables.rows.sample import in_own_unit

Indices = np.ndarray[Any, np.dtype[np.intp]]

MIN_EIGENVALUE = 1e-8  # smallest eigenvalue of a metric of trace d: no input is lost for good
NEIGHBOUR_CANDIDATES = 8  # rows among which the nearest counts as a neighbour
CACHE_ROWS_OF_ENTRANTS = 256  # rows whose features of entrants stay in cache


@dataclass(frozen=True)
class Neurons:
    """Directions W (N, d) and biases b (N,)."""

    W: Floats
    b: Floats

    def __getitem__(self, which: Any) -> Neurons:
        return Neurons(self.W[which], self.b[which])

    def __add__(self, other: Neurons) -> Neurons:
        return Neurons(np.concatenate([self.W, other.W]), np.concatenate([self.b, other.b]))


@dataclass(frozen=True)
class Metric:
    """M^p of an average gradient outer product M (d, d)."""

    M: Floats
    power: float

    @cached_property
    def importance(self) -> Floats:
        """(d,) diagonal of M, scaled to sum to one."""
        return np.diag(self.M) / np.trace(self.M)

    @cached_property
    def root(self) -> Floats:
        """M^p of the metric scaled to trace d; no eigenvalue is zero."""
        d = len(self.M)
        values, V = np.linalg.eigh(self.M * (d / np.trace(self.M)))
        root = (V * (np.maximum(values, 0.0) + MIN_EIGENVALUE) ** self.power) @ V.T
        root *= np.sqrt(d / (root * root).sum())
        return root


@dataclass(frozen=True)
class NeuronSampler:
    """Draws neurons from rows: inputs z (n, d) as neurons see them, and weights w (n,).

    ops : operations of the device on which entrants are compared.
    """

    z: Floats
    w: Floats
    ops: Ops = field(default_factory=get_ops)

    @classmethod
    def of(cls, rows: ScaledRows, bound: float, ops: Ops | None = None) -> NeuronSampler:
        return cls(clip(rows.z, bound), in_own_unit(rows.w), ops or get_ops())

    @cached_property
    def covariance(self) -> Floats:
        centred = self.z - self.w @ self.z / self.w.sum()
        return (centred * self.w[:, None]).T @ centred / self.w.sum()

    @cached_property
    def in_single(self) -> Array:
        """The inputs in single precision, on the device: enough to compare neurons."""
        return get_ops(self.ops.device, "float32").asarray(self.z)

    def draw_rows(self, u: Floats) -> Indices:
        """Return rows drawn by weight with uniform numbers u."""
        return _positions(self.w, u)

    def place(self, W: Floats, kinks: Floats) -> Neurons:
        """Return neurons of directions W, scaled, that switch at the points `kinks` (N, d)."""
        W = W / self.deviations(W)[:, None]
        return Neurons(W, -(W * kinks).sum(1))

    def deviations(self, W: Floats) -> Floats:
        """(N,) standard deviations of the preactivations of directions W; one where constant."""
        deviation = np.sqrt(np.maximum(((W @ self.covariance) * W).sum(1), 0.0))
        return np.where(deviation > 1e-12, deviation, 1.0)

    def draw(
        self, shares: Mapping[str, float], count: int, metric: Metric, rng: np.random.Generator
    ) -> Neurons:
        """Draw `count` neurons, of each kind its share, in random order."""
        kinds = rng.choice(len(shares), size=count, p=np.array([*shares.values()]))
        parts = [
            self.place(*NEURON_KINDS[kind](self, metric, int((kinds == k).sum()), rng))
            for k, kind in enumerate(shares)
        ]
        neurons = sum(parts[1:], parts[0])
        # they come kind by kind; the order of an order puts each at the place that it was drawn for
        return neurons[np.argsort(np.argsort(kinds, kind="stable"), kind="stable")]

    def best_entrants(self, entrants: Neurons, residual: Floats, per_place: int) -> Neurons:
        """Return of every `per_place` entrants the one whose ReLU fits the residual (n, K) best.

        The measure is what the neuron alone would take off the residual's sum of squares,
        sum_k Cov(h, r_k)^2 / Var(h).
        """
        with_one = np.column_stack([residual, np.ones(len(residual))])
        as_single = get_ops(self.ops.device, "float32").asarray
        W, b, right = map(as_single, (entrants.W, entrants.b, with_one * self.w[:, None]))
        sums = self.ops.zeros(len(W), right.shape[1])  # of w h r and w h
        squares = self.ops.zeros(len(W))
        xp = namespace(W)
        size = DEVICE_BLOCK_ROWS if is_torch(W) else CACHE_ROWS_OF_ENTRANTS
        for rows in row_slices(len(self.z), size):
            h = self.in_single[rows] @ W.T
            h += b
            xp.clip(h, 0, None, out=h)
            sums += h.T @ right[rows]
            h *= h
            squares += right[rows, -1] @ h
        first, square = to_numpy(sums), to_numpy(squares)
        total = self.w.sum()
        mean = first[:, -1] / total
        covariance = first[:, :-1] - mean[:, None] * (self.w @ residual)
        # where the two cancel, what is left is rounding of single precision, and may be negative
        variance = np.maximum(square - total * mean**2, 1e-9 * square + np.finfo(float).tiny)
        gain = (covariance**2).sum(1) / variance
        winners = gain.reshape(-1, per_place).argmax(1) + per_place * np.arange(len(W) // per_place)
        return entrants[winners]


Drawn = tuple[Floats, Floats]  # directions (N, d) and the points where they switch (N, d)


def _any(sampler: NeuronSampler, metric: Metric, count: int, rng: np.random.Generator) -> Drawn:
    g = rng.standard_normal((count, len(metric.M)))
    return g @ metric.root, sampler.z[sampler.draw_rows(rng.random(count))]


def _axis(sampler: NeuronSampler, metric: Metric, count: int, rng: np.random.Generator) -> Drawn:
    W = np.zeros((count, len(metric.M)))
    column = _positions(metric.importance, rng.random(count))
    W[np.arange(count), column] = rng.choice([-1.0, 1.0], size=count)
    return W, sampler.z[sampler.draw_rows(rng.random(count))]


def _pair(sampler: NeuronSampler, metric: Metric, count: int, rng: np.random.Generator) -> Drawn:
    W = np.zeros((count, len(metric.M)))
    for column in _positions(np.sqrt(metric.importance), rng.random((2, count))):
        W[np.arange(count), column] = rng.standard_normal(count) * np.diag(metric.root)[column]
    return W, sampler.z[sampler.draw_rows(rng.random(count))]


def _neighbours(
    sampler: NeuronSampler, metric: Metric, count: int, rng: np.random.Generator
) -> Drawn:
    u = sampler.z @ metric.root
    i = sampler.draw_rows(rng.random(count))
    others = sampler.draw_rows(rng.random((count, NEIGHBOUR_CANDIDATES)))
    square = np.stack([((u[j] - u[i]) ** 2).sum(1) for j in others.T], 1)
    nearest = np.where(square > 1e-12, square, np.inf).argmin(1)
    j = others[np.arange(count), nearest]
    between = rng.random((count, 1))
    kinks = (1 - between) * sampler.z[i] + between * sampler.z[j]
    return _directions(u[j] - u[i], rng) @ metric.root, kinks


def _rows(sampler: NeuronSampler, _: Metric, count: int, rng: np.random.Generator) -> Drawn:
    i, j, k = sampler.draw_rows(rng.random((3, count)))
    return _directions(sampler.z[j] - sampler.z[i], rng), sampler.z[k]


NEURON_KINDS: dict[str, Callable[[NeuronSampler, Metric, int, np.random.Generator], Drawn]] = {
    "any": _any,
    "axis": _axis,
    "pair": _pair,
    "neighbours": _neighbours,
    "rows": _rows,
}


def _positions(weight: Floats, u: Floats) -> Indices:
    """Return positions drawn by weight: where the share u of all weight lies below."""
    below = np.cumsum(weight)
    after = np.searchsorted(below, u * below[-1], side="right")
    return np.minimum(after, len(below) - 1)


def _directions(difference: Floats, rng: np.random.Generator) -> Floats:
    """Return differences scaled to length one; where rows are equal, any direction."""
    g = rng.standard_normal(difference.shape)
    length = np.linalg.norm(difference, axis=1, keepdims=True)
    unit = np.where(length > 1e-6, difference, g)
    return unit / np.linalg.norm(unit, axis=1, keepdims=True)
