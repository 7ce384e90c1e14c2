"""Widths of intervals, from the residuals of rows that were left out and their weights."""

from typing import Any

import numpy as np

from onegrad.arrays import Floats
from onegrad.exceptions import InvalidInput

LOCAL_SHARE, MIN_LOCAL_ROWS = 10, 20  # one in ten rows is near, and at least so many


def interval_width(residuals: Floats, w: Floats, rows: float, coverage: float) -> Floats:
    """Return the (K,) half-widths of split-conformal intervals.

    They are the weighted quantiles of the residuals' sizes (m, K), at a share of
    coverage (1 + 1/rows) of the weights: rows is their effective number.
    """
    # a new row makes m + 1 of them: their share that is asked for, in units of the m
    share = coverage * (1.0 + 1.0 / rows) if rows else np.inf
    if share > 1.0 + 1e-12:
        problem = f"it needs more than the {rows:.0f} held-out rows of this fit"
        raise InvalidInput("coverage", coverage, problem=problem)
    size = np.abs(residuals)
    order = np.argsort(size, axis=0, kind="stable")
    below = np.cumsum(w[order], axis=0) / w.sum()
    position = np.minimum((below < share - 1e-12).sum(0), len(size) - 1)
    columns = np.arange(size.shape[1])
    return size[order[position, columns], columns]


def nearby_sizes(size: Floats, w: Floats, position: Any, leave_out: bool = False) -> Floats:
    """Return how large residuals are near positions among rows in the order of predictions.

    The mean size of the residuals of the rows with the nearest predictions, one in ten of them all
    and at least 20, and a tenth of the mean size of all, for a window of zeros is luck.
    `leave_out`: the positions are those of all rows, each of which is left out of its own.
    """
    m = len(size)
    count = min(max(m // LOCAL_SHARE, MIN_LOCAL_ROWS), m)
    first = np.clip(position - count // 2, 0, m - count)
    sums = np.cumsum(np.stack([w * size, w]), axis=1)
    sums = np.concatenate([np.zeros((2, 1)), sums], 1)
    total, weight = sums[:, first + count] - sums[:, first]
    if leave_out:
        total, weight = total - w * size, weight - w
    overall = sums[0, -1] / sums[1, -1]
    local = total / np.maximum(weight, np.finfo(float).tiny)
    return local + overall / LOCAL_SHARE + np.finfo(float).tiny


def local_widths(
    at: Floats, predicted: Floats, residuals: Floats, w: Floats, rows: float, coverage: float
) -> Floats:
    """Return the (n, K) half-widths, larger where residuals near the predictions `at` are larger.

    They are those of `interval_width` for residuals in units of their size nearby.
    """
    widths = np.empty_like(at)
    for k in range(at.shape[1]):
        order = np.argsort(predicted[:, k], kind="stable")
        size, weights = np.abs(residuals[order, k]), w[order]
        relative = size / nearby_sizes(size, weights, np.arange(len(size)), leave_out=True)
        width = interval_width(relative[:, None], weights, rows, coverage)[0]
        position = np.searchsorted(predicted[order, k], at[:, k])
        widths[:, k] = width * nearby_sizes(size, weights, position)
    return widths
