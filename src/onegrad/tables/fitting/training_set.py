"""The rows that first layers are learned from: a sample as numbers, part of it held out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from onegrad.arrays import Floats, Ops, get_ops
from onegrad.exceptions import InvalidInput
from onegrad.ridge import NormalEquations
from onegrad.tables.first_layer.layer import Layer
from onegrad.tables.first_layer.scaling import FEATURE_BLOCK_ROWS, ScaledRows, Scaling
from onegrad.tables.fitting.fit_progress import FitProgress
from onegrad.tables.model.targets import LearningTask, NumericTargets, Targets
from onegrad.tables.rows.encoding import Encoding, encode, input_names
from onegrad.tables.rows.likely_mistakes import warn_of_few_digits, warn_of_lone_values
from onegrad.tables.rows.sample import RowKeys, Sample, effective_rows, in_own_unit
from onegrad.tables.rows.table import is_table

METRIC_GRADIENTS = 4000  # gradients that a metric is the mean of, where there are several outputs
# effective rows from which members hold out different ones: of fewer, with uneven weights, a member
# may have nothing to hold out
MIN_ROWS_FOR_TURNS = 50
# equal rows from which one of them is as good as new, whoever saw the others. Counted once each,
# rows that are repeated often gave intervals of 90 % a coverage of 45 %
MIN_REPEATS = 10
MAX_SCALED_INPUT = 20.0  # standard deviations beyond which even the linear skip clips its inputs


Mask = np.ndarray[Any, np.dtype[np.bool_]]


@dataclass(frozen=True)
class CalibrationRows:
    """Rows to be left out of the readout, one at a time: they say how far predictions lie off.

    Equal rows are kept once. Each of them counts in a quantile, and leaving one of them out leaves
    the others in: a new row may well be one more of them.
    """

    rows: ScaledRows  # with the weights with which they count
    keys: RowKeys
    left_out: Floats  # (m,) weight that leaves the sums with each: its own, or that of one copy
    copies: Floats  # (m,) number of equal rows that each stands for

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


@dataclass(frozen=True)
class TrainingSet:
    """A sample of rows as numbers, and how the numbers were made."""

    update: ScaledRows  # of the first-layer update
    fit: ScaledRows  # of the readout: the same, unless it is to be fitted on fresh ones
    held_out: ScaledRows
    scaling: Scaling  # x -> z
    targets: Targets  # y -> t, and its loss
    keys: RowKeys  # of all rows of the sample, in order, those held out last
    calibration: CalibrationRows
    step_rows_end: int  # key below which rows are left out of the final model's readout, too
    threads: int  # that add up moments
    progress: FitProgress
    ops: Ops  # of the device on which sums over rows are made

    @property
    def inputs(self) -> int:
        """Number d of encoded inputs."""
        return int(self.update.z.shape[1])

    def first(self, rows: int) -> TrainingSet:
        """Return the training set of so many rows of the sample at most, random ones."""
        share = rows / len(self.keys)
        if share >= 1:
            return self
        learned, held = (max(int(share * len(part)), 1) for part in (self.update, self.held_out))
        update = self.update[:learned]
        fit = update if self.fit is self.update else self.fit[:learned]
        return replace(self, update=update, fit=fit, held_out=self.held_out[:held])

    def on_scale(self, number: int) -> TrainingSet:
        """Return the training set whose inputs are on one of several scales alone."""
        if self.scaling.copies == 1:
            return self
        d = self.scaling.columns
        columns = slice(number * d, (number + 1) * d)

        def on_columns(rows: ScaledRows) -> ScaledRows:
            return replace(rows, z=np.ascontiguousarray(rows.z[:, columns]))

        return replace(self._with_rows(on_columns), scaling=self.scaling.copy_number(number))

    def losses(self, predicted: Floats) -> Floats:
        """Return the (m,) losses of held-out rows, for predictions (m, K) of scaled targets."""
        return self.targets.loss(predicted, self.held_out.t, self.held_out.w)

    def score(self, losses: Floats) -> float:
        """Return the mean loss of the held-out rows: the lower, the better."""
        w = self.held_out.w
        return float(w @ losses / w.sum()) if len(w) else np.nan

    def with_grid(self, layer: Layer) -> Layer:
        """Return the layer with the grid of its features on the readout's first rows."""
        return layer.with_grid(self.fit.z[:FEATURE_BLOCK_ROWS])

    @property
    def without_held_out(self) -> TrainingSet:
        """The training set that learns from all rows of the sample, and holds none out."""
        parts = self.update, self.held_out
        rows = ScaledRows(*(np.concatenate([vars(part)[name] for part in parts]) for name in "ztw"))
        return replace(self, update=rows, fit=rows, held_out=self.held_out[:0])

    @cached_property
    def on_device(self) -> TrainingSet:
        """The training set with its rows on the device."""
        return self._with_rows(lambda rows: rows.on(self.ops))

    @cached_property
    def in_single(self) -> TrainingSet:
        """The training set with its rows in single precision, on the host, weights in a unit."""
        single = get_ops("cpu", "float32")
        return self._with_rows(lambda rows: replace(rows, w=in_own_unit(rows.w)).on(single))

    def _with_rows(self, change: Callable[[ScaledRows], ScaledRows]) -> TrainingSet:
        update, held_out = change(self.update), change(self.held_out)
        fit = update if self.fit is self.update else change(self.fit)
        return replace(self, update=update, fit=fit, held_out=held_out)

    def equations(self, layer: Layer, intercept: bool) -> NormalEquations:
        """Return the normal equations of the readout's rows, for a layer with a grid.

        One without is in single precision, on the host.
        """
        threads = self.threads if self.ops.device == "cpu" else 1
        if layer.step is None:
            moments = layer.scaled_moments(self.in_single.fit, threads)
        else:
            moments = layer.on(self.ops).scaled_moments(self.on_device.fit, threads)
        return NormalEquations.of(moments, intercept, overwrite=True)


@dataclass(frozen=True)
class ScaledSample:
    """A sample of rows as numbers, in the order of their keys, and how the numbers were made."""

    rows: ScaledRows  # with weights that include those of classes
    sample: Sample  # the same rows as they came
    encoding: Encoding | None  # table -> x; None for matrices
    scaling: Scaling  # x -> z
    targets: Targets  # y -> t, and its loss

    def training_set(
        self,
        member: int,
        *,
        hold_out: float,
        step_share: float | None,
        threads: int,
        ops: Ops,
        progress: FitProgress,
    ) -> TrainingSet:
        """Return the training set of one member of a committee: each holds out other rows.

        `step_share` of the rows make the first-layer update and nothing else; None: all make both.
        """
        rows, w, keys = self.rows, self.sample.w, self.sample.keys
        held = held_rows(w, hold_out, member)
        update = readout = ~held
        step_rows_end = 0
        if step_share is not None:
            middle = np.cumsum(w) - 0.5 * w  # weight below the middle of each row
            before = middle < step_share * w.sum()
            update, readout = before & ~held, ~before & ~held
            step_rows_end = int(keys[before.argmin()])  # the first row that is not before
        if not update.any() or not readout.any():
            problem = f"needs at least 2 rows besides those held out; there are {(~held).sum()}"
            raise InvalidInput("rows", "fresh", problem=problem)
        if isinstance(self.targets, NumericTargets):
            calibration = CalibrationRows.choose(rows, keys, self.sample.copies, held, readout)
        else:
            # as they are, equal ones left out together: a weight is a number of rows
            one = np.ones(held.sum())
            calibration = CalibrationRows(rows[held], keys[held], rows.w[held], one)
        learned = rows[update]
        return TrainingSet(
            learned,
            learned if readout is update else rows[readout],
            rows[held],
            self.scaling,
            self.targets,
            np.concatenate([keys[~held], keys[held]]),
            calibration,
            step_rows_end,
            threads,
            progress,
            ops,
        )


def scale_sample(sample: Sample, task: LearningTask, scale: str) -> ScaledSample:
    """Encode, scale and code a sample.

    `scale` is "standard" or "robust" (see Scaling), "both" side by side, or "raw": inputs and
    targets as they are.
    """
    targets = task.targets(sample, scale != "raw")
    t = targets.encode(sample.y)
    encoding = None
    if is_table(sample.X):
        encoding = Encoding.learn(sample.X, t, sample.w, sample.seed)
    # contiguous: one order of sums for all sources
    x = np.ascontiguousarray(encode(sample.X, encoding, sample.seed))
    names = input_names(encoding, x.shape[1])
    warn_of_lone_values(x, names)
    scaling = Scaling.identity(x.shape[1])
    if scale == "standard":
        scaling = Scaling.standard(x, sample.w, MAX_SCALED_INPUT)
        warn_of_few_digits(scaling.centre, scaling.scale, names)
    elif scale == "robust":
        scaling = Scaling.robust(x, sample.w)
    elif scale == "both":
        scaling = Scaling.standard(x, sample.w, MAX_SCALED_INPUT) + Scaling.robust(x, sample.w)
    rows = ScaledRows(scaling(x), t, targets.weighted(t, sample.w))
    return ScaledSample(rows, sample, encoding, scaling, targets)


def held_rows(w: Floats, share: float, member: int = 0) -> Mask:
    """Return a mask of the rows that a member of a committee holds out; never all rows.

    Their weights make up `share`. The first member holds out the last rows, the next one those
    before them, and so on, until all rows had their turn; where rows are few, or a few of them have
    most of the weight, all members hold out the last ones. Rows are in the order of their keys,
    which are hashes: these are random rows that depend on nothing else.
    """
    above = np.cumsum(w[::-1])[::-1] - 0.5 * w  # weight above the middle of each row
    held = share * w.sum()
    few = effective_rows(w) < MIN_ROWS_FOR_TURNS
    turn = 0 if few or not share else member % max(round(1 / share), 1)
    mask = (above >= turn * held) & (above < (turn + 1) * held)
    # a single row, or a first one with most of the weight: without it nothing may be left to learn
    mask[0] &= turn > 0
    return mask


def metric_rows(rows: ScaledRows) -> ScaledRows:
    """Return the rows whose gradients a metric is the mean of; each has one for every output."""
    outputs, inputs = rows.t.shape[1], rows.z.shape[1]
    return rows if outputs == 1 else rows[: max(METRIC_GRADIENTS // outputs, inputs)]
