"""Rows that come and go: the first layers stay, sums over rows are added and subtracted."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from onegrad.arrays import Floats, get_ops, to_numpy
from onegrad.exceptions import AssumptionWarning, InvalidInput, warn
from onegrad.parallel.threads import thread_map
from onegrad.ridge import Moments
from onegrad.tables.first_layer.layer import Layer, gradient_outer_product
from onegrad.tables.first_layer.scaling import ScaledRows
from onegrad.tables.model.fitted import Fitted, RowChanges
from onegrad.tables.model.permutation_importance import inputs_by_column, permutation_importances
from onegrad.tables.model.targets import NumericTargets, Targets
from onegrad.tables.parts.part import Part, RowPart
from onegrad.tables.parts.table import name_of
from onegrad.tables.rows.encoding import Encoding, encode
from onegrad.tables.rows.partitions import Partition, RowBlock, S, add_optional
from onegrad.tables.rows.sample import RowKeys, Tally, add_tallies, effective_rows, row_keys
from onegrad.tables.rows.table import is_table, take_rows

MAX_WEIGHT = 1e100  # its products with squares of anything scaled are finite


def sum_over_blocks(function: Callable[[RowBlock], S], partition: Partition) -> S | None:
    """Return the sum of a function over the checked blocks of a partition; None if it is empty."""
    total: S | None = None
    for value in thread_map(function, checked(partition.blocks())):
        total = add_optional(total, value)
    return total


@dataclass(frozen=True)
class MomentsPass:
    """partition -> moments of its rows under fixed layers, those of all members in one reading.

    Rows whose key is below `skip_below` do not count: the gradient step has used them up.
    """

    layers: tuple[Layer, ...]
    targets: Targets
    encoding: Encoding | None
    device: str = "cpu"
    seed: int = 0
    skip_below: int = 0

    def __call__(self, partition: Partition) -> RowSums | None:
        return sum_over_blocks(self.block, partition)

    def block(self, block: RowBlock) -> RowSums:
        """Return the sums over the rows of one block."""
        X, y, w = block.X, block_targets(block), block_weights(block)
        if self.skip_below:
            keep = np.flatnonzero(row_keys(X, y, self.seed) >= np.uint64(self.skip_below))
            X, y, w = take_rows(X, keep), y[keep], w[keep]
        t = self.targets.encode(y)
        x = encode(X, self.encoding, self.seed)
        return RowSums(self.moments(x, t, self.targets.weighted(t, w)))

    def moments(self, x: Floats, t: Floats, w: Floats) -> tuple[Moments, ...]:
        """Return the moments of encoded rows, computed on the device."""
        ops = get_ops(self.device)
        rows = [ops.asarray(values) for values in (x, t, w)]
        sums = (layer.on(ops).moments(*rows) for layer in self.layers)
        return tuple(Moments(m.rows, m.weight, *map(to_numpy, m.arrays)) for m in sums)


@dataclass(frozen=True)
class RowSums:
    """Moments of rows, one of each member, and what else a model takes of rows that come and go.

    Which rows they are, where that is kept; targets that widen the bounds, between which
    predictions stay. `learned` of the rows are among those that the model was learned from.
    `of_parts` is what each part that rows join knows of them.
    """

    moments: tuple[Moments, ...]
    tally: Tally | None = None
    targets: Any = None  # none at the fit
    learned: int = 0
    of_parts: tuple[Any, ...] = ()

    def __add__(self, other: RowSums) -> RowSums:
        return RowSums(
            tuple(map(operator.add, self.moments, other.moments)),
            add_tallies(self.tally, other.tally),
            widened(self.targets, other.targets),
            self.learned + other.learned,
            tuple(map(operator.add, self.of_parts, other.of_parts)),
        )


def sum_rows(partition: Partition, fitted: Fitted, device: str) -> RowSums | None:
    """Return the sums over a partition's rows for a fitted model; None if it is empty."""
    moments = MomentsPass(fitted.layers, fitted.targets, fitted.encoding, device)
    tally, learned_from = fitted.tally, fitted.learned_from

    def of_block(block: RowBlock) -> RowSums:
        targets, y, weights = fitted.targets, block_targets(block), block_weights(block)
        x, t = encode(block.X, fitted.encoding, fitted.seed), targets.encode(y)
        keys, w = block_keys(block, fitted), targets.weighted(t, weights)
        z = fitted.layers[0].scaling(x)
        tally_of_rows, weighty = None, weights > 0  # rows of weight zero do not exist
        if tally is not None:
            rows = (None, None) if tally.z is None else (z, t)
            every = Tally(keys, weights, np.ones(len(keys)), *rows)
            tally_of_rows = every[weighty].distinct()
        if isinstance(targets, NumericTargets) and weighty.any():
            own_keys = None if tally is None else keys[weighty]
            targets = targets.widened(y.reshape(len(y), -1)[weighty], own_keys)
        learned = len(keys)
        if learned_from is not None:
            learned = int(np.isin(keys, learned_from.keys).sum())
        of_parts = (part.rows_of(keys, z, t, w) for part in fitted.row_parts)
        return RowSums(moments.moments(x, t, w), tally_of_rows, targets, learned, tuple(of_parts))

    return sum_over_blocks(of_block, partition)


def block_keys(block: RowBlock, fitted: Fitted) -> RowKeys:
    """Return the keys of a block's rows, as those of the fit have them."""
    X = block.X if fitted.encoding is None else fitted.encoding.select(block.X)
    return row_keys(X, block_targets(block), fitted.seed)


def widened(targets: Any, other: Any) -> Any:
    """Return the targets with bounds that include those of the others."""
    if isinstance(targets, NumericTargets) and isinstance(other, NumericTargets):
        wide = targets.widened(np.stack([other.low, other.high]), None)
        return wide.widened(other.far_y.reshape(-1, other.outputs), other.far_keys)
    return targets


def block_targets(block: RowBlock) -> Any:
    """Return the targets of a block; raise InvalidInput where it has none."""
    if block.y is None:
        raise InvalidInput("y", problem="there is no target; name its column, or give y")
    return block.y


def block_weights(block: RowBlock) -> Any:
    """Return the weights of a block's rows, ones where it has none."""
    return np.ones(len(block)) if block.w is None else np.asarray(block.w, np.float64)


def checked(blocks: Iterator[RowBlock]) -> Iterator[RowBlock]:
    """Yield the blocks that have rows; raise InvalidInput where they are not consistent numbers."""
    for block in blocks:
        n = len(block)
        for name, values in (("y", block.y), ("weights", block.w)):
            if values is not None and len(values) != n:
                problem = f"a block has {n} rows of inputs and {len(values)} of {name}"
                raise InvalidInput(name, problem=problem)
            if values is not None and values.dtype.kind == "f" and not np.isfinite(values).all():
                raise InvalidInput(name, problem="it must be finite; found NaN or infinity")
        if not is_table(block.X):
            _check_matrix(block.X)
        if block.y is not None and block.y.dtype.kind == "S":
            raise InvalidInput("y", problem="its labels are bytes; give text, numbers or dates")
        if block.y is not None and block.y.ndim > 2:
            raise InvalidInput("y", f"{block.y.ndim} dimensions", "a vector or a matrix")
        if block.y is not None and block.y.dtype.kind == "c":
            raise InvalidInput("y", problem="it must be real; found complex numbers")
        if block.w is not None:
            _check_weights(block.w)
        if n:
            yield block


def _check_matrix(X: Any) -> None:
    if X.ndim != 2:
        raise InvalidInput("X", f"{X.ndim} dimensions", "a matrix")
    if X.dtype.kind not in "fiub":
        raise InvalidInput("X", str(X.dtype), "a matrix of real numbers")
    if not np.isfinite(X).all():
        raise InvalidInput("X", problem="inputs must be finite; found NaN or infinity")


def _check_weights(w: Any) -> None:
    if w.dtype.kind not in "fiub":
        raise InvalidInput("weights", str(w.dtype), "numbers")
    if w.ndim != 1 or (w < 0).any():
        raise InvalidInput("weights", allowed="one number per row, and not negative")
    if len(w) and w.max() > MAX_WEIGHT:
        raise InvalidInput("weights", w.max(), f"at most {MAX_WEIGHT:g}")


# -- models with more, fewer or other rows ---------------------------------------------------------


def with_rows(fitted: Fitted, rows: RowSums) -> Fitted:
    """Return the model with more rows; say so where its sums are no longer exact."""
    changes, before = fitted.changes, fitted.moments
    moments = tuple(map(operator.add, before, rows.moments))
    if are_exact(before, fitted) and not are_exact(moments, fitted):
        text = (
            "the sums over rows have grown beyond 2^53 units and are no longer exact: removing "
            "rows leaves rounding. Targets far outside those of the fit do that at once"
        )
        warn(AssumptionWarning("sums", "y", text))
    if fitted.learned_from is None or not fitted.learned_from.chosen:
        changes = replace(changes, added=changes.added + rows.moments[0].rows)
    return replace(
        fitted.with_moments(moments),
        targets=widened(fitted.targets, rows.targets),
        parts=_changed_parts(fitted, rows, operator.add),
        changes=changes,
    ).with_tally(add_tallies(fitted.tally, rows.tally))


def are_exact(moments: Iterable[Moments], fitted: Fitted) -> bool:
    """Return whether the sums of all members are those of whole numbers, without rounding."""
    pairs = zip(moments, fitted.layers, strict=True)
    return all(sums.is_exact(layer.step, fitted.targets.step) for sums, layer in pairs)


def without_rows(fitted: Fitted, rows: RowSums) -> Fitted:
    """Return the model without some rows; refuse rows that it does not have, where it can tell.

    A row of which some weight remains still counts as a row.
    """
    tally, removed, targets = None, rows.moments, fitted.targets
    if fitted.tally is not None and rows.tally is not None:
        tally = fitted.tally - rows.tally
        count = fitted.tally.rows - tally.rows
        removed = tuple(replace(sums, rows=count) for sums in removed)
        if isinstance(targets, NumericTargets):
            targets = targets.narrowed(tally.keys)
    changes, learned_from = fitted.changes, fitted.learned_from
    count = removed[0].rows
    if learned_from is not None and learned_from.chosen:
        count = rows.learned
    return replace(
        fitted.with_moments(map(operator.sub, fitted.moments, removed)),
        targets=targets,
        tally=tally,
        parts=_changed_parts(fitted, rows, operator.sub),
        changes=replace(changes, removed=changes.removed + count),
    )


def warn_of_what_stays(fitted: Fitted, rows: RowSums) -> None:
    """Say what keeps what it learned of rows that are to be removed."""
    if not rows.learned:
        return
    parts = ["scaling", "first layer"]
    parts += dict.fromkeys(map(name_of, fitted.fixed_parts))
    text = (
        f"the model was learned from {rows.learned:,} of the rows that are removed: "
        f"{', '.join(parts)} and what was chosen on held-out rows stay as they are; rows beside "
        "fit(learn_from=...) leave no trace"
    )
    warn(AssumptionWarning("removal", "X", text))


def _changed_parts(
    fitted: Fitted, rows: RowSums, change: Callable[[Any, Any], Any]
) -> tuple[Part, ...]:
    """Return the parts of a model after rows came or went."""
    of_parts = iter(rows.of_parts)
    return tuple(
        part.with_rows(change(part.rows, next(of_parts))) if isinstance(part, RowPart) else part
        for part in fitted.parts
    )


def all_rows(fitted: Fitted) -> RowSums:
    """Return the sums over the rows that are in a model."""
    of_parts = tuple(part.rows for part in fitted.row_parts)
    learned = 0 if fitted.learned_from is None else len(fitted.learned_from.keys)
    return RowSums(fitted.moments, fitted.tally, fitted.targets, learned, of_parts)


def same_first_layers(a: Fitted, b: Fitted) -> bool:
    """Return whether moments under the first layers of two models can be added."""

    def arrays(fitted: Fitted) -> list[Any]:
        scaling = fitted.layers[0].scaling  # of all members
        of_layers = [array for layer in fitted.layers for array in (layer.W, layer.b, layer.step)]
        return [scaling.centre, scaling.scale, *of_layers]

    return len(a.members) == len(b.members) and all(map(np.array_equal, arrays(a), arrays(b)))


def calibrate(fitted: Fitted, blocks: Iterator[RowBlock]) -> Fitted:
    """Return the model with the importances, residuals and slope of rows that are not in it."""
    targets, tally = fitted.targets, fitted.tally
    parts: list[tuple[Any, ...]] = []
    for block in checked(blocks):
        x, t = encode(block.X, fitted.encoding), targets.encode(block_targets(block))
        if tally is not None:
            in_model = np.isin(block_keys(block, fitted), tally.keys)
            if in_model.any():
                problem = f"{in_model.sum()} of its rows are in the model; give rows that are not"
                raise InvalidInput("X", problem=problem)
        weights = targets.weighted(t, block_weights(block))
        predicted = targets.clipped(fitted.predict(x))
        parts.append((fitted.layers[0].scaling(x), t, weights, predicted))
    if not parts:
        raise InvalidInput("X", problem="the table is empty")
    z, t, w, predicted = map(np.concatenate, zip(*parts, strict=True))
    if not w.sum() > 0:
        raise InvalidInput("weights", problem="all are zero; there are no rows to learn from")
    rows = ScaledRows(z, t, w)
    measures = targets.measures(predicted, t, w)
    statistics = replace(
        fitted.statistics,
        metric=gradient_outer_product(
            rows, *((m.layer, m.readout.coef) for m in fitted.members), by_column=True
        ),
        column_importances=permutation_importances(
            rows,
            [(member.layer, member.readout) for member in fitted.members],
            inputs_by_column(fitted.encoding, fitted.layers[0].scaling),
            targets,
            fitted.fixed_parts,
        ),
        residuals=t - predicted,
        residual_weights=w,
        effective_rows=effective_rows(w),
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
