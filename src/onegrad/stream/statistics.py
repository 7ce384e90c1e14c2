r"""Moments: all that ridge regression needs to know of a set of rows. Sets add and subtract.

Features and targets are rounded to a binary grid before they are multiplied (:func:`grid`,
:func:`rounded`): every product is then a whole number of grid units, and as long as a sum stays
below 2^53 units it is *exact*. The moments of a set of rows therefore do not depend, to the last
bit, on how the rows were cut into blocks, in which order they came or how many workers added them,
and removing rows leaves what would have been there without them. Beyond 2^53 units (tens of
millions of rows), or with weights that are not whole numbers, the sums carry ordinary rounding.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from onegrad._xp import Array, namespace
from onegrad.errors import InvalidInput

Floats = np.ndarray[Any, np.dtype[np.float64]]

FEATURE_BITS = 14  # grid of a feature: 2^-14 of its root mean square
TARGET_BITS = 18  # grid of a target


@dataclass(frozen=True)
class Moments:
    r"""Weighted sums over rows (f_i, y_i, w_i).

    .. math:: n,\ \sum w_i,\ \sum w_i f_i,\ \sum w_i y_i,\ \sum w_i f_i f_i^\top,\
              \sum w_i f_i y_i^\top,\ \sum w_i y_i^2

    Parameters
    ----------
    rows : number of rows.
    weight : sum of the weights.
    F1, y1 : (N,) and (K,) weighted sums of features and targets.
    FtF, Fty, yty : (N, N), (N, K) and (K,) weighted sums of products.
    """

    rows: int
    weight: float
    F1: Array
    y1: Array
    FtF: Array
    Fty: Array
    yty: Array

    def __add__(self, other: Moments) -> Moments:
        return self._combined(other, 1)

    def __sub__(self, other: Moments) -> Moments:
        if other.rows > self.rows:
            raise InvalidInput(f"cannot remove {other.rows} rows from {self.rows}")
        return self._combined(other, -1)

    def _combined(self, other: Moments, sign: int) -> Moments:
        if self.Fty.shape != other.Fty.shape:
            raise InvalidInput(
                f"moments of {tuple(other.Fty.shape)} features and targets do not match "
                f"{tuple(self.Fty.shape)}"
            )
        return Moments(
            self.rows + sign * other.rows,
            self.weight + sign * other.weight,
            self.F1 + sign * other.F1,
            self.y1 + sign * other.y1,
            self.FtF + sign * other.FtF,
            self.Fty + sign * other.Fty,
            self.yty + sign * other.yty,
        )


def moments(F: Array, y: Array, w: Array | None = None) -> Moments:
    """The moments of one block: F (n, N) features, y (n, K) targets, w (n,) weights."""
    xp = namespace(F)
    with_one = xp.concatenate([y, xp.ones_like(y[:, :1])], 1)  # sums ride along with products
    if w is None:
        # F.T @ F on one array is a symmetric rank-k update: half the work of a product
        FtF, Fty, yt1 = F.T @ F, F.T @ with_one, with_one.sum(0)
        yty = (y * y).sum(0)
    else:
        Fw, yw = F * w[:, None], with_one * w[:, None]
        FtF, Fty, yt1 = Fw.T @ F, Fw.T @ with_one, yw.sum(0)
        yty = (yw[:, :-1] * y).sum(0)
    return Moments(len(F), float(yt1[-1]), Fty[:, -1], yt1[:-1], FtF, Fty[:, :-1], yty)


def grid(values: Array, bits: int) -> Array:
    """The grid of each column: the power of two nearest its root mean square, times 2^-bits."""
    xp = namespace(values)
    rms = xp.sqrt((values * values).mean(0))
    rms = xp.where(rms > 0, rms, xp.ones_like(rms))
    return 2.0 ** (xp.round(xp.log2(rms)) - bits)


def rounded(values: Array, step: Array) -> Array:
    """values moved to the nearest multiple of step, column by column; in place."""
    xp = namespace(values)
    values *= 1.0 / step  # exact: steps are powers of two
    xp.round(values, out=values)  # halves to even, on every backend
    values *= step
    return values
