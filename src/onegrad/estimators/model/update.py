"""What came and went since a fit, and which rows describe a model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np

from onegrad.data.encoding import Encoding, encode
from onegrad.data.partition_sum import add_optional
from onegrad.data.partitions import Partition, RowBlock
from onegrad.data.sample import row_keys
from onegrad.data.tally import Tally, add_tallies
from onegrad.estimators.model.fitted import CommitteeMoments, Fitted
from onegrad.estimators.model.row_sums import MomentsPass, checked, targets_of
from onegrad.estimators.model.targets import Numbers, Targets
from onegrad.exceptions import InvalidInput
from onegrad.layers.gradient import gradient_outer_product
from onegrad.layers.rows import ScaledRows
from onegrad.parallel import thread_map


@dataclass(frozen=True)
class Counted:
    """Moments of rows, which rows they are where that is kept, and targets that widen the bounds.

    Predictions stay between the bounds of the targets.
    """

    moments: CommitteeMoments
    tally: Tally | None
    targets: Targets

    def __add__(self, other: Counted) -> Counted:
        tally = add_tallies(self.tally, other.tally)
        return Counted(self.moments + other.moments, tally, wider(self.targets, other.targets))


@dataclass(frozen=True)
class CountedPass:
    """partition -> Counted; `seed` is that of the rows' keys, None where no tally is kept."""

    sums: MomentsPass
    seed: int | None

    def __call__(self, partition: Partition) -> Counted | None:
        return reduce(add_optional, thread_map(self.block, checked(partition.blocks())), None)

    def block(self, block: RowBlock) -> Counted:
        targets, y = self.sums.targets, targets_of(block)
        moments = self.sums.block(block)
        if isinstance(targets, Numbers):
            y = y.reshape(len(y), -1)
            targets = targets.widened(y.min(0), y.max(0))
        return Counted(moments, self._tally(block), targets)

    def _tally(self, block: RowBlock) -> Tally | None:
        if self.seed is None:
            return None
        y, encoding = targets_of(block), self.sums.encoding
        X = block.X if encoding is None else encoding.select(block.X)
        w = np.ones(len(y)) if block.w is None else np.asarray(block.w, np.float64)
        counts = w > 0
        return Tally.of(row_keys(X, y, self.seed)[counts], w[counts], self.seed)


def wider(a: Targets, b: Targets) -> Targets:
    """The first, with bounds that include the second's."""
    both = isinstance(a, Numbers) and isinstance(b, Numbers)
    return a.widened(b.low, b.high) if both else a  # type: ignore[union-attr]


def added(fitted: Fitted, rows: Counted) -> Fitted:
    """The state with more rows."""
    n = rows.moments.rows
    tally = add_tallies(fitted.tally, rows.tally)
    came = replace(fitted.changes, added=fitted.changes.added + n)
    grown = fitted.with_moments(fitted.moments + rows.moments)
    targets = wider(fitted.targets, rows.targets)
    return replace(grown, targets=targets, tally=tally, changes=came)


def removed(fitted: Fitted, rows: Counted) -> Fitted:
    """The state without some of its rows; rows that are not in it are refused where it is known."""
    n = rows.moments.rows
    moments = fitted.moments - rows.moments
    known = fitted.tally is not None and rows.tally is not None
    tally = fitted.tally - rows.tally if known else None  # type: ignore[operator]
    went = replace(fitted.changes, removed=fitted.changes.removed + n)
    return replace(fitted.with_moments(moments), tally=tally, changes=went)


def emptied(fitted: Fitted) -> Fitted:
    """The same first layers and no rows."""
    tally = None if fitted.tally is None else fitted.tally - fitted.tally
    went = replace(fitted.changes, removed=fitted.changes.removed + fitted.moments.rows)
    return replace(fitted.with_moments(fitted.moments - fitted.moments), tally=tally, changes=went)


def described_by(fitted: Fitted, blocks: Iterator[RowBlock], encoding: Encoding | None) -> Fitted:
    """The state with importances, residuals and slope of these rows, which are not in it."""
    scaling, targets = fitted.layers[0].scaling, fitted.targets
    pieces: list[tuple[Any, ...]] = []
    for block in checked(blocks):
        x, y = encode(block.X, encoding), targets_of(block)
        w = np.ones(len(y)) if block.w is None else np.asarray(block.w, np.float64)
        weights = targets.weighted(y, w)
        predicted = fitted.predict(x)
        if isinstance(targets, Numbers):
            predicted = targets.clipped(predicted)
        pieces.append((scaling(x), targets.encode(y), weights, predicted))
    if not pieces:
        raise InvalidInput("X", problem="the table is empty")
    z, t, w, predicted = map(np.concatenate, zip(*pieces, strict=True))
    rows = ScaledRows(z, t, w)
    members = ((m.layer, m.second.readout.coef) for m in fitted.members)
    at_fit = replace(
        fitted.at_fit,
        metric=gradient_outer_product(rows, *members),
        residuals=t - predicted,
        slope=targets.slope(predicted, t, w),
        choice={
            **fitted.at_fit.choice,
            "held_out_rows": len(rows),
            "measures": targets.measures(predicted, t, w),
        },
        rows=fitted.moments.rows,
    )
    return replace(fitted, at_fit=at_fit, changes=type(fitted.changes)())
