"""Means over independent repetitions, and how well they are known."""

from __future__ import annotations

from typing import Any

import numpy as np


def standard_error(values: Any, axis: int = 0) -> Any:
    r"""Of the mean of independent values along an axis: :math:`s/\sqrt k`. NaN for one value."""
    values = np.asarray(values, dtype=float)
    k = values.shape[axis]
    if k < 2:
        return np.full_like(values.mean(axis), np.nan)[()]
    return values.std(axis, ddof=1) / np.sqrt(k)
