"""Regression and classification: what differs in targets and predictions."""

from datetime import date
from numbers import Real
from types import MappingProxyType
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import column_or_1d

from onegrad.arrays import Floats
from onegrad.exceptions import InvalidInput
from onegrad.pictures.model_plots import draw_calibration, draw_intervals, draw_predictions
from onegrad.tables.model.fitted import Fitted
from onegrad.tables.model.intervals import interval_width, local_widths
from onegrad.tables.model.targets import (
    LABEL_KINDS,
    REGRESSION,
    ClassTargets,
    LearningTask,
    MultilabelTargets,
    NumericTargets,
    classification,
)
from onegrad.tables.sklearn_api.base import FeatureLearner


class Interval(NamedTuple):
    """Lower and upper ends, in the shape of predictions."""

    low: Floats
    high: Floats


class Regression(RegressorMixin, FeatureLearner):  # type: ignore[misc]
    """Numbers, one or several per row."""

    _target_kinds = (NumericTargets,)
    _target_checks = MappingProxyType({"multi_output": True, "y_numeric": True})

    def _task(self) -> LearningTask:
        return REGRESSION

    def _as_targets(self, y: Any) -> Floats:
        """Return numbers; refuse dates and durations, which have no unit yet."""
        y = np.asarray(y)
        if y.dtype.kind in "mM":
            raise InvalidInput("y", str(y.dtype), "numbers, in a unit of your choice")
        return np.asarray(y, dtype=np.float64)

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Return predictions; with `return_std`, also the standard deviation of a new target.

        The standard deviation is that of Bayesian ridge regression.
        """
        if not return_std:
            return self._targets.decode(self._scores(X))
        blocks = [(self.fitted_.predict(x), self.fitted_.variance(x)) for x in self._inputs(X)]
        targets = self._targets
        deviation = np.sqrt(np.concatenate([v for _, v in blocks])) * targets.scale
        if not np.isfinite(deviation).all():  # only a forged model gets here
            problem = "its numbers are so large that deviations overflow"
            raise InvalidInput("model", problem=problem)
        mean = targets.decode(np.concatenate([t for t, _ in blocks]))
        return mean, deviation[:, 0] if targets.single else deviation

    def predict_interval(self, X: Any, coverage: float = 0.9, *, local: bool = False) -> Interval:
        """Return split-conformal intervals: predictions plus and minus a quantile of residuals.

        The residuals are those of the held-out rows, which no first-layer update saw, each also
        left out of the readout. They have the weights of their rows; equal rows count each time.
        With m residuals, a new row from the same distribution is covered with probability at least
        `coverage`, up to the effect of one row on the fit, and at most 1/(m + 1) more.

        Parameters
        ----------
        coverage : fraction of new targets that the intervals should cover.
        local : whether intervals are wider where rows with similar predictions have larger
            residuals, as when the noise grows with the target; otherwise all have the same width.
        """
        if not 0 < coverage < 1:
            raise InvalidInput("coverage", coverage, "between 0 and 1")
        # first of all that needs a fit: it says so where there was none
        scores = self._scores(X)
        statistics, changes = self.fitted_.statistics, self.fitted_.changes
        if changes:
            problem = (
                f"intervals describe the {statistics.rows:,} rows of the fit; {changes}: "
                "calibrate(X, y) with new rows first"
            )
            raise InvalidInput("model", problem=problem)
        residuals, w = statistics.residuals, statistics.residual_weights
        rows, targets = statistics.effective_rows, self._targets
        half = interval_width(residuals, w, rows, coverage) + np.zeros_like(scores)
        if local:
            at = targets.clipped(scores)
            half = local_widths(at, statistics.predicted, residuals, w, rows, coverage)
        half *= targets.scale
        if targets.single:
            half = half[:, 0]
        mean = targets.decode(scores)
        return Interval(mean - half, mean + half)

    def _draw_predicted(self, ax: Any, X: Any, y: Any) -> Any:
        return draw_predictions(ax, np.ravel(self.predict(X)), np.ravel(y))

    def _draw_intervals(self, ax: Any, X: Any, y: Any) -> Any:
        low, high = self.predict_interval(X)
        return draw_intervals(ax, *map(np.ravel, (self.predict(X), low, high, y)))

    _pictures = MappingProxyType({"predicted": _draw_predicted, "intervals": _draw_intervals})

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


def _is_missing(label: Any) -> bool:
    """Return whether a label is None, NaN, unequal to itself, or NA, which does not say."""
    same = label == label
    return label is None or not isinstance(same, bool | np.bool_) or not same


class Classification(ClassifierMixin, FeatureLearner):  # type: ignore[misc]
    """Labels of any type.

    Parameters
    ----------
    class_weight : None, "balanced", or a dict of weights per label; multiplies `sample_weight`.
    """

    class_weight: Any
    _target_kinds = (ClassTargets, MultilabelTargets)

    def _task(self) -> LearningTask:
        return classification(self.class_weight)

    def _plain_targets(self, y: Any) -> Any:
        """Return dates as such; refuse labels that are missing, mixed, or equal to NumPy alone."""
        array = np.asarray(y) if hasattr(y, "dtype") else None
        if array is not None and array.dtype.kind in "iub":
            return array  # of pandas, whose own types scikit-learn makes floats
        objects = isinstance(y, list | tuple) or (array is not None and array.dtype == "O")
        values = list(y) if objects and np.ndim(y) == 1 else []
        if any(map(_is_missing, values)):
            raise InvalidInput("y", problem="some labels are missing; drop those rows first")
        if values and all(isinstance(label, date) for label in values):
            if any(getattr(label, "tzinfo", None) is not None for label in values):
                problem = "its labels are dates with a time zone; give text, or dates without one"
                raise InvalidInput("y", problem=problem)
            return np.array(values, "datetime64")
        types = sorted({"number" if isinstance(v, Real) else type(v).__name__ for v in values})
        if len(types) > 1:
            problem = f"its labels are of several types, {' and '.join(types)}; make them one"
            raise InvalidInput("y", problem=problem)
        if any(isinstance(label, str) and label.endswith("\0") for label in values):
            problem = "a label ends with a zero character, which NumPy drops"
            raise InvalidInput("y", problem=problem)
        return y

    def _as_targets(self, y: Any) -> Any:
        """Return one label per row, or a matrix of 0 and 1 with a column for each of several."""
        if np.asarray(y).dtype.kind in "SO" and any(isinstance(v, bytes) for v in np.ravel(y)):
            raise InvalidInput("y", problem="its labels are bytes; give text, numbers or dates")
        check_classification_targets(y)
        kind = type_of_target(y)
        if kind == "multilabel-indicator":
            return np.asarray(y)
        if kind == "multiclass-multioutput":
            problem = "it has several columns; several labels per row are 0 and 1, one column each"
            raise InvalidInput("y", problem=problem)
        y = column_or_1d(y, warn=True)
        if y.dtype.kind not in LABEL_KINDS:
            raise InvalidInput("y", str(y.dtype), "labels that are numbers, text or dates")
        if y.dtype.kind == "M" and np.isnat(y).any():
            raise InvalidInput("y", problem="some labels are missing; drop those rows first")
        return y

    def _publish(self, fitted: Fitted) -> Self:
        super()._publish(fitted)
        self.classes_ = self._targets.values
        return self

    def partial_fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, classes: Any = None
    ) -> Self:
        """Add rows; the first call learns the first layer and may name all classes."""
        if hasattr(self, "fitted_") or classes is None:
            return super().partial_fit(X, y, sample_weight)
        labels = np.unique(self._plain_targets(classes))
        declared = classification(self.class_weight, labels)
        return self._fit(declared, X, y, sample_weight)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the mean accuracy."""
        return float(super().score(X, self._plain_targets(y), sample_weight))

    def decision_function(self, X: Any) -> Floats:
        """Return scores, near +1 for a row's class: (n,) for two classes, else (n, classes)."""
        scores = self._scores(X)
        single = self._targets.outputs == 1 and isinstance(self._targets, ClassTargets)
        return scores[:, 0] if single else scores

    def predict(self, X: Any) -> Any:
        """Return the most likely classes."""
        return self._targets.decode(self._scores(X))

    def predict_proba(self, X: Any) -> Floats:
        """Return the softmax of the scores times a slope fitted on held-out rows.

        With m held-out rows, a probability of 1/(m + 2) is divided equally among the classes: so
        few rows do not support a probability closer to 0 or 1. If rows have several labels, return
        (n, labels): the probability of each label on its own.
        """
        return np.exp(self.predict_log_proba(X))

    def predict_log_proba(self, X: Any) -> Floats:
        """Return the logarithm of `predict_proba`."""
        scores = self._scores(X)
        self._warn_of_changes("probabilities")
        return self._targets.log_probabilities(scores, self.fitted_.statistics.link)

    def _draw_calibration(self, ax: Any, X: Any, y: Any) -> Any:
        p = self.predict_proba(X)
        if isinstance(self._targets, MultilabelTargets):
            confidence, correct = np.maximum(p, 1 - p), (p > 0.5) == (y == 1)
            return draw_calibration(ax, confidence.ravel(), np.ravel(correct))
        return draw_calibration(ax, p.max(1), self.classes_[p.argmax(1)] == y)

    _pictures = MappingProxyType({"calibration": _draw_calibration})

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags
