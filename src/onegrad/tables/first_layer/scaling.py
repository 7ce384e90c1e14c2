"""Inputs on a common scale, clipped to the range that was seen; rows of them, a block at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from onegrad.arrays import Array, Floats, Ops, is_torch, namespace
from onegrad.exceptions import InvalidInput

MAX_INPUT = 1e300  # sums and differences of two inputs are numbers, too
# Standard deviations that inputs may lie beyond the range that was seen: no measurement set it.
MARGIN = 1.0
# Deviations that robust inputs approach but do not reach, as in RealMLP (Holzmüller et al. 2024).
SQUASH = 3.0
# A column that varies less, relative to its mean, is constant: float64 rounds at 2e-16, and the
# sums of many rows add to that.
MIN_RELATIVE_DEVIATION = 1e-14
FEATURE_BLOCK_ROWS = 1024  # rows whose features are held at once: 8 MB at width 1000
DEVICE_BLOCK_ROWS = 8192  # the same on another device, which takes fewer and larger products


@dataclass(frozen=True)
class Scaling:
    """x -> clip(u, low, high) with u = (x - centre) / scale, column by column: arrays are (d,)."""

    centre: Array
    scale: Array
    low: Array
    high: Array
    # c, which pulls u in to u / sqrt(1 + (u/c)^2), less than c; infinite where it does not
    squash: Array | None = None  # None: nowhere
    copies: int = 1  # of the columns of x among the d inputs, each on another scale

    def __call__(self, x: Array) -> Array:
        xp = namespace(x)
        if self.copies > 1:
            x = xp.concatenate([x] * self.copies, 1)
        z = (x - self.centre) / self.scale
        if self.squash is not None:
            z = xp.clip(z, -1e150, 1e150)  # whose squares are numbers
            z = z / xp.sqrt(1.0 + (z / self.squash) ** 2)
        return xp.clip(z, self.low, self.high)

    @property
    def columns(self) -> int:
        """Number of columns of x."""
        return len(self.centre) // self.copies

    @property
    def arrays(self) -> tuple[Array, ...]:
        """Everything that has one entry per input, `squash` as numbers."""
        squash = np.full(len(self.centre), np.inf) if self.squash is None else self.squash
        return self.centre, self.scale, self.low, self.high, squash

    @classmethod
    def of_arrays(cls, arrays: Iterable[Array], copies: int = 1) -> Scaling:
        """Return the scaling of its arrays, in the order of `arrays`."""
        centre, scale, low, high, squash = arrays
        return cls(centre, scale, low, high, squash, copies)

    def __add__(self, other: Scaling) -> Scaling:
        """Return both scales of the same columns, side by side."""
        pairs = zip(self.arrays, other.arrays, strict=True)
        joined = [np.concatenate(pair) for pair in pairs]
        return Scaling.of_arrays(joined, self.copies + other.copies)

    def copy_number(self, number: int) -> Scaling:
        """Return the scale of one copy of the columns."""
        part = slice(number * self.columns, (number + 1) * self.columns)
        return Scaling.of_arrays(array[part] for array in self.arrays)

    def slopes(self, z: Floats) -> Floats:
        r"""(n, d) derivatives of all inputs in the first copy's input of the same column.

        .. math:: \frac{dz}{du} = \big(1 - (z/c)^2\big)^{3/2}, \qquad
                  \frac{du}{dz_1} = \frac{s_1}{s}\,\Big/\,\frac{dz_1}{du_1}
        """
        squash = self.arrays[-1]
        du = np.maximum(1.0 - (z / squash) ** 2, 0.0) ** 1.5
        first = slice(self.columns)
        constant = ~np.isfinite(self.scale)
        scale = np.where(constant, 1.0, self.scale)
        # a squashed input hardly moves far outside: its slope may be zero in float64
        per_first = np.tile(scale[first] / np.maximum(du[:, first], 1e-9), (1, self.copies))
        slopes = du * per_first / scale
        slopes[:, constant] = 0.0
        return slopes

    @classmethod
    def standard(cls, x: Floats, w: Floats, max_deviations: float) -> Scaling:
        """Scale by weighted mean and standard deviation; clip a little beyond the rows.

        One row far outside would decide a linear trend, and be decided by it: inputs are clipped
        at `max_deviations` at the latest. A constant column is zero, for ever: nothing was learned
        of what it does when it changes.
        """
        _check_size(x)
        centre, deviation = weighted_mean_and_deviation(x, w)
        scale = np.where(_is_constant(deviation, centre), np.inf, deviation)
        z = (x[w > 0] - centre) / scale
        low, high = z.min(0) - MARGIN, z.max(0) + MARGIN
        bound = max_deviations
        return cls(centre, scale, np.maximum(low, -bound), np.minimum(high, bound))

    @classmethod
    def robust(cls, x: Floats, w: Floats) -> Scaling:
        """Scale by weighted median and quartiles, and pull in what is far outside.

        A few values far outside neither set the scale nor stand apart. Where the quartiles are
        equal half the range takes their place; a constant column is zero, as in `standard`.
        """
        _check_size(x)
        x, w = x[w > 0], w[w > 0]
        low, centre, high = weighted_quantiles(x, w, (0.25, 0.5, 0.75))
        unit = _overflow_safe_unit(x)
        # the quartiles of a normal law are 1.349 standard deviations apart
        spread = (high / unit - low / unit) * unit / 1.349
        half_range = x.max(0) / 2 - x.min(0) / 2
        scale = np.where(spread > MIN_RELATIVE_DEVIATION * half_range, spread, half_range)
        scale = np.where(_is_constant(half_range, centre), np.inf, scale)
        bound = np.full(x.shape[1], SQUASH)
        scaling = cls(centre, scale, -bound, bound, bound)
        z = scaling(x)
        return replace(scaling, low=z.min(0) - MARGIN, high=z.max(0) + MARGIN)

    @classmethod
    def identity(cls, columns: int) -> Scaling:
        """Return the scaling that changes nothing."""
        bound = np.full(columns, np.inf)
        return cls(np.zeros(columns), np.ones(columns), -bound, bound)


def weighted_quantiles(x: Floats, w: Floats, shares: Sequence[float]) -> Floats:
    """(len(shares), d) values below which, with themselves, lie these shares of the weight."""
    order = np.argsort(x, axis=0, kind="stable")
    below = np.cumsum(w[order], axis=0)
    quantiles = np.empty((len(shares), x.shape[1]))
    for row, share in enumerate(shares):
        position = (below < share * below[-1]).sum(0)
        quantiles[row] = x[order[position, np.arange(x.shape[1])], np.arange(x.shape[1])]
    return quantiles


def _is_constant(spread: Floats, centre: Floats) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Return which columns vary by no more than the rounding of their centres."""
    size = np.maximum(np.abs(centre), np.finfo(float).tiny)
    return spread <= MIN_RELATIVE_DEVIATION * size


def _check_size(x: Floats) -> None:
    if np.abs(x).max(initial=0.0) > MAX_INPUT:
        raise InvalidInput("inputs", problem=f"their size must be at most {MAX_INPUT:g}")


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


@dataclass(frozen=True)
class ScaledRows:
    """Scaled inputs z (m, d), coded targets t (m, K) and weights w (m,)."""

    z: Array
    t: Array
    w: Array

    def __len__(self) -> int:
        return len(self.z)

    def __getitem__(self, rows: Any) -> ScaledRows:
        return ScaledRows(self.z[rows], self.t[rows], self.w[rows])

    def on(self, ops: Ops) -> ScaledRows:
        """Return the rows on the device of these operations."""
        return ScaledRows(ops.asarray(self.z), ops.asarray(self.t), ops.asarray(self.w))

    def blocks(self) -> Iterator[ScaledRows]:
        """Yield a bounded number of rows at a time: features of all rows are never held at once."""
        size = DEVICE_BLOCK_ROWS if is_torch(self.z) else FEATURE_BLOCK_ROWS
        return (self[rows] for rows in row_slices(len(self), size))


def row_slices(n: int, size: int = FEATURE_BLOCK_ROWS) -> Iterator[slice]:
    """Yield slices of at most `size` rows that cover 0..n; one empty slice for n = 0."""
    return (slice(i, min(i + size, n)) for i in range(0, max(n, 1), size))
