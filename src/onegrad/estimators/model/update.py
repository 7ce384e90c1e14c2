"""Rows that come and go: the first layers stay, moments are added and subtracted."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from onegrad.data.encoding import encode
from onegrad.data.partitions import RowBlock
from onegrad.data.sample import add_tallies
from onegrad.estimators.model.fitted import Fitted, RowChanges
from onegrad.estimators.model.neighbours import NearbyRows, Neighbours
from onegrad.estimators.model.permutation_importance import (
    inputs_by_column,
    permutation_importances,
)
from onegrad.estimators.model.row_sums import (
    RowSums,
    block_keys,
    block_targets,
    block_weights,
    checked,
    widened,
)
from onegrad.exceptions import AssumptionWarning, InvalidInput, warn
from onegrad.layers.gradient import gradient_outer_product
from onegrad.layers.rows import ScaledRows


def with_rows(fitted: Fitted, rows: RowSums) -> Fitted:
    """Return the model with more rows; say so where its sums are no longer exact."""
    changes, before = fitted.changes, fitted.moments
    moments = before + rows.moments
    steps = [layer.step for layer in fitted.layers]
    if before.is_exact(steps, fitted.targets.step) and not moments.is_exact(
        steps, fitted.targets.step
    ):
        text = (
            "the sums over rows have grown beyond 2^53 units and are no longer exact: removing "
            "rows leaves rounding. Targets far outside those of the fit do that at once"
        )
        warn(AssumptionWarning("sums", "y", text))
    return replace(
        fitted.with_moments(moments),
        targets=widened(fitted.targets, rows.targets),
        tally=add_tallies(fitted.tally, rows.tally),
        neighbours=_with_nearby(fitted, rows, operator.add),
        changes=replace(changes, added=changes.added + rows.moments.rows),
    )


def without_rows(fitted: Fitted, rows: RowSums) -> Fitted:
    """Return the model without some rows; refuse rows that it does not have, where it can tell.

    A row of which some weight remains still counts as a row.
    """
    tally, removed = None, rows.moments
    if fitted.tally is not None and rows.tally is not None:
        tally = fitted.tally - rows.tally
        removed = removed.of_rows(fitted.tally.rows - tally.rows)
    changes = fitted.changes
    return replace(
        fitted.with_moments(fitted.moments - removed),
        tally=tally,
        neighbours=_with_nearby(fitted, rows, operator.sub),
        changes=replace(changes, removed=changes.removed + removed.rows),
    )


def _with_nearby(
    fitted: Fitted, rows: RowSums, change: Callable[[NearbyRows, NearbyRows], NearbyRows]
) -> tuple[Neighbours, ...]:
    """Return the neighbours of a model after rows came or went."""
    pairs = zip(fitted.neighbours, rows.nearby, strict=True)
    return tuple(replace(near, rows=change(near.rows, nearby)) for near, nearby in pairs)


def all_rows(fitted: Fitted) -> RowSums:
    """Return the sums over the rows that are in a model."""
    nearby = tuple(near.rows for near in fitted.neighbours)
    return RowSums(fitted.moments, fitted.tally, fitted.targets, nearby)


def same_first_layers(a: Fitted, b: Fitted) -> bool:
    """Return whether moments under the first layers of two models can be added."""

    def arrays(fitted: Fitted) -> list[Any]:
        return [
            array
            for layer in fitted.layers
            for array in (layer.W, layer.b, layer.step, layer.scaling.centre, layer.scaling.scale)
        ]

    return len(a.members) == len(b.members) and all(map(np.array_equal, arrays(a), arrays(b)))


def calibrate(fitted: Fitted, blocks: Iterator[RowBlock]) -> Fitted:
    """Return the model with the importances, residuals and slope of rows that are not in it."""
    targets, tally = fitted.targets, fitted.tally
    parts: list[tuple[Any, ...]] = []
    for block in checked(blocks):
        x, y = encode(block.X, fitted.encoding), block_targets(block)
        if tally is not None:
            in_model = np.isin(block_keys(block, fitted, tally.seed), tally.keys)
            if in_model.any():
                problem = f"{in_model.sum()} of its rows are in the model; give rows that are not"
                raise InvalidInput("X", problem=problem)
        weights = targets.weighted(y, block_weights(block))
        predicted = targets.clipped(fitted.predict(x))
        parts.append((fitted.layers[0].scaling(x), targets.encode(y), weights, predicted))
    if not parts:
        raise InvalidInput("X", problem="the table is empty")
    z, t, w, predicted = map(np.concatenate, zip(*parts, strict=True))
    if not w.sum() > 0:
        raise InvalidInput("weights", problem="all are zero; there are no rows to learn from")
    rows = ScaledRows(z, t, w)
    measures = targets.measures(predicted, t, w)
    statistics = replace(
        fitted.statistics,
        metric=gradient_outer_product(rows, *fitted.layers_and_coefs, by_column=True),
        column_importances=permutation_importances(
            rows,
            [(member.layer, member.readout) for member in fitted.members],
            inputs_by_column(fitted.encoding, fitted.layers[0].scaling),
            targets,
            fitted.fixed_parts,
        ),
        residuals=t - predicted,
        residual_weights=w,
        effective_rows=float(w.sum() ** 2 / (w @ w)),
        link=targets.link(predicted, t, w),
        choice={
            **fitted.statistics.choice,
            "held_out_rows": len(rows),
            "measures": measures,
            "held_out_score": measures.get("R2", measures.get("accuracy", np.nan)),
        },
        rows=fitted.rows,
        predicted=predicted,
    )
    return replace(fitted, statistics=statistics, changes=RowChanges())
