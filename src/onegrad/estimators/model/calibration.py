"""Rows that say how far predictions lie off: their residuals when left out, and their weights.

Equal rows are kept once. Each of them counts in a quantile, and leaving one of them out leaves the
others in: a new row may well be one more of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from onegrad.arrays import Floats
from onegrad.data.tally import RowKeys
from onegrad.exceptions import InvalidInput
from onegrad.layers.rows import ScaledRows

Mask = np.ndarray[Any, np.dtype[np.bool_]]

MIN_REPEATS = 10  # equal rows from which one of them is as good as new, whoever saw the others


@dataclass(frozen=True)
class CalibrationRows:
    """Rows to be left out of the readout, one at a time.

    Parameters
    ----------
    rows : inputs, targets, and the weights with which they count.
    keys : of the rows.
    left_out : (m,) weight that leaves the sums with each: its own, or that of one of its copies.
    copies : (m,) number of equal rows that each stands for.
    """

    rows: ScaledRows
    keys: RowKeys
    left_out: Floats
    copies: Floats

    @classmethod
    def choose(
        cls, rows: ScaledRows, keys: RowKeys, copies: Floats, held: Mask, readout: Mask
    ) -> CalibrationRows:
        """Choose held-out rows, and rows of the readout that are repeated often.

        A few rows that make up much of the weight would all be held out, or none of them. `held`
        and `readout` are masks. Rows that are repeated often count less, since all of them are
        here, and of the others only those held out.
        """
        repeated = (copies >= MIN_REPEATS) & (held | readout) & held.any()
        single = (held | readout) & ~repeated
        share = rows.w[held & single].sum() / max(rows.w[single].sum(), np.finfo(float).tiny)
        w = np.where(repeated & (share > 0), share, 1.0) * rows.w
        chosen = held | repeated
        weighted = ScaledRows(rows.z, rows.t, w)[chosen]
        return cls(weighted, keys[chosen], (rows.w / copies)[chosen], copies[chosen])

    @classmethod
    def held_out(cls, rows: ScaledRows, keys: RowKeys) -> CalibrationRows:
        """Take rows as they are, equal ones left out together: a weight is a number of rows."""
        return cls(rows, keys, rows.w, np.ones(len(rows)))

    @property
    def effective_rows(self) -> float:
        """Number of rows of equal weight that say as much: (sum w)^2 / sum w^2, copies apart."""
        w = self.rows.w
        return float(w.sum() ** 2 / (w**2 / self.copies).sum()) if len(w) else 0.0


def interval_width(residuals: Floats, w: Floats, rows: float, coverage: float) -> Floats:
    """Return the (K,) half-widths of split-conformal intervals.

    They are the weighted quantiles of the residuals' sizes (m, K), at a share of
    coverage (1 + 1/rows) of the weights: rows is their effective number.
    """
    share = coverage * (1.0 + 1.0 / rows) if rows else np.inf
    if share > 1.0 + 1e-12:
        problem = f"it needs more than the {rows:.0f} held-out rows of this fit"
        raise InvalidInput("coverage", coverage, problem=problem)
    size = np.abs(residuals)
    order = np.argsort(size, axis=0, kind="stable")
    below = np.cumsum(w[order], axis=0) / w.sum()
    position = np.minimum((below < share - 1e-12).sum(0), len(size) - 1)
    columns = np.arange(size.shape[1])
    return np.asarray(size[order[position, columns], columns])
