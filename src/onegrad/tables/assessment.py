"""Scores of a fitted model on the rows that were held out, beside a baseline.

The sample of a fit follows from its rows and its seed alone: it is drawn again, and the rows that
were held out are known with all their columns.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.utils import check_random_state

from onegrad.arrays import Floats
from onegrad.exceptions import InvalidInput
from onegrad.io.progress import Progress
from onegrad.tables.fitting.pipeline import sample_partition
from onegrad.tables.fitting.training_set import MIN_REPEATS, held_rows
from onegrad.tables.model.intervals import interval_width
from onegrad.tables.model.targets import ClassTargets, NumericTargets
from onegrad.tables.rows.encoding import encode
from onegrad.tables.rows.partitions import sum_over_partitions
from onegrad.tables.rows.sample import Sample, effective_rows
from onegrad.tables.rows.sources import Source
from onegrad.tables.rows.table import Values, is_table, take_rows
from onegrad.tables.sklearn_api.base import FeatureLearner

BASELINE = "gradient boosting"  # scikit-learn's, with default settings
CONSTANT = "a constant"
MAX_BASELINE_NUMBERS = 10**7  # inputs times rows that the baseline sees; not tuned


@dataclass(frozen=True)
class WorstRow:
    """A held-out row that is predicted badly."""

    inputs: Mapping[str, Any]  # values of columns, by name
    true: Any
    predicted: Any
    off: float  # the difference, or the probability that the model gave to the true class


@dataclass(frozen=True)
class Assessment:
    """Predictions of held-out rows, each left out of the readout, and scores beside a baseline.

    Intervals have coverage 0.9; classes and few rows have none.
    """

    true: Values  # (m,) or (m, K)
    predicted: Values
    scores: Mapping[str, Mapping[str, float]]  # R2 and RMSE, or accuracy, by method: ours first
    training_rows: int  # that the baseline was fitted to
    width: float | None = None  # half of an interval's
    covered: float | None = None  # share of one half of the rows by the width of the other half
    confidence: Floats | None = None  # probabilities of the predicted classes
    correct: Values | None = None  # whether these are right
    worst: Sequence[WorstRow] = ()  # ten at most


def assess(
    estimator: FeatureLearner, data: Source, *, client: Any = None, progress: Progress | None = None
) -> Assessment | None:
    """Assess a model by the rows of its fit that were held out; None where there are none.

    Parameters
    ----------
    estimator : fitted to the data with a whole number as random_state.
    data : all rows, which are read once more.
    client, progress : as in `fit`.
    """
    statistics, targets = estimator.fitted_.statistics, estimator.fitted_.targets
    if not statistics.choice["held_out_rows"] or data.single_pass:
        return None
    sample = _draw_again(estimator, data, client, progress)
    members = range(len(estimator.fitted_.members))
    held_by = [held_rows(sample.w, estimator.hold_out, member) for member in members]
    repeated = np.zeros(len(sample.w), bool)
    if isinstance(targets, NumericTargets):
        repeated = sample.copies >= MIN_REPEATS  # as CalibrationRows.choose
    if len(statistics.residuals) != sum((mask | repeated).sum() for mask in held_by):
        return None
    held = held_by[0]  # the first member's: the baseline learns from one set of rows
    first = held[held | repeated]
    residuals, w = statistics.residuals[: len(first)][first], sample.w[held]
    t = targets.encode(sample.y[held])
    scores = {"this model": _scores(targets, t - residuals, t, w)}
    training = np.flatnonzero(~held)
    for name, predicted in _baselines(estimator, sample, held).items():
        scores[name] = _scores(targets, targets.encode(predicted), t, w)
    rows = take_rows(sample.X, np.flatnonzero(held))
    facts: dict[str, Any] = {}
    if isinstance(targets, NumericTargets):
        off = np.abs(residuals * targets.scale).max(1)
        facts = _interval_facts(residuals, w, targets) if targets.outputs == 1 else {}
    elif isinstance(targets, ClassTargets):
        p = np.exp(targets.log_probabilities(t - residuals, statistics.link))
        index = targets.index(sample.y[held])
        off = p[np.arange(len(p)), index]
        facts = {"confidence": p.max(1), "correct": p.argmax(1) == index}
    else:
        off = np.zeros(len(t))
    decoded = targets.decode(t - residuals)
    order = np.argsort(off if facts.get("correct") is not None else -off, kind="stable")
    worst = [
        WorstRow(_named_values(estimator, rows, i), sample.y[held][i], decoded[i], float(off[i]))
        for i in order[:10]
        if decoded.ndim == 1
    ]
    return Assessment(sample.y[held], decoded, scores, len(training), worst=worst, **facts)


def _draw_again(
    estimator: FeatureLearner, data: Source, client: Any, progress: Progress | None
) -> Sample:
    seed = int(check_random_state(estimator.random_state).randint(2**31))
    size, labels = estimator._sample_rows(), estimator._task().labels
    draw = partial(sample_partition, size=size, seed=seed, labels=labels)
    partitions = data.aligned(estimator.categorical_features or ()).partitions
    jobs = estimator.n_jobs or 1
    return sum_over_partitions(draw, partitions, client=client, jobs=jobs, progress=progress)


def _scores(targets: Any, predicted: Floats, t: Floats, w: Floats) -> dict[str, float]:
    """Return R2 and the root mean squared error, or the accuracy."""
    if isinstance(targets, NumericTargets):
        return targets.measures(targets.clipped(predicted), t, w)
    return {"accuracy": float(w @ targets.correct(predicted, t) / w.sum())}


def _baselines(estimator: FeatureLearner, sample: Sample, held: Values) -> dict[str, Values]:
    """Return predictions of held-out rows from the others: of trees, and of a constant."""
    y, w, count = sample.y[~held], sample.w[~held], int(held.sum())
    targets = estimator.fitted_.targets
    if y.ndim > 1 or not isinstance(targets, NumericTargets | ClassTargets):
        return {}
    numeric = isinstance(targets, NumericTargets)
    if numeric:
        constant: Any = np.average(y.astype(float), weights=w)
    else:
        labels, index = np.unique(y, return_inverse=True)
        constant = labels[np.bincount(index, w).argmax()]
    predictions = {CONSTANT: np.full(count, constant)}
    x = encode(sample.X, estimator.fitted_.encoding, sample.seed)
    if len(np.unique(y)) > 1 and x.shape[1]:
        rows = np.flatnonzero(~held)[: max(MAX_BASELINE_NUMBERS // x.shape[1], 100)]
        kind = HistGradientBoostingRegressor if numeric else HistGradientBoostingClassifier
        trees = kind(random_state=0).fit(x[rows], sample.y[rows], sample.w[rows])
        predictions = {BASELINE: trees.predict(x[held])} | predictions
    return predictions


def _interval_facts(residuals: Floats, w: Floats, targets: NumericTargets) -> dict[str, float]:
    """Return the half-width of intervals, and their coverage of rows not used to choose it."""
    half = np.arange(len(w)) < len(w) // 2  # rows are in the order of hashes: random ones
    try:
        widths = [_width(residuals[those], w[those]) for those in (half, ~half)]
    except InvalidInput:  # too few rows
        return {}
    size = np.abs(residuals[:, 0])
    inside = np.where(half, size <= widths[1], size <= widths[0])
    width = _width(residuals, w) * float(targets.scale[0])
    return {"width": width, "covered": float(w @ inside / w.sum())}


def _width(residuals: Floats, w: Floats) -> float:
    return float(interval_width(residuals, w, effective_rows(w), coverage=0.9)[0])


def _value(column: Any, i: int) -> Any:
    """Return a value of an Arrow column; a date beyond those of Python as text."""
    try:
        return column[i].as_py()
    except (OverflowError, ValueError):
        return column.slice(i, 1).cast("string")[0].as_py()


def _named_values(estimator: FeatureLearner, rows: Any, i: int) -> dict[str, Any]:
    """Return the values of one row by column, the most important column first."""
    names = estimator.column_names_
    values = [_value(rows[name], i) for name in names] if is_table(rows) else rows[i].tolist()
    order = np.argsort(-estimator.fitted_.column_importances, kind="stable")
    return {names[j]: values[j] for j in order}
