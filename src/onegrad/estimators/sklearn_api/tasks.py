"""Regression, classification, features: what differs in targets and predictions."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import (
    ClassifierMixin,
    ClassNamePrefixFeaturesOutMixin,
    RegressorMixin,
    TransformerMixin,
)
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import _check_y, check_is_fitted, column_or_1d, validate_data

from onegrad.arrays import Floats
from onegrad.estimators.fitting.task import Goal, any_targets, class_targets, number_targets
from onegrad.estimators.model.fitted import Fitted
from onegrad.estimators.model.targets import Classes
from onegrad.estimators.sklearn_api.incremental import Incremental
from onegrad.estimators.sklearn_api.inputs import numeric_blocks
from onegrad.exceptions import InvalidInput


class Predictor(Incremental):
    """Inputs of any kind, as blocks of numbers, and their scores."""

    def _inputs(self, X: Any) -> Iterator[Floats]:
        """Blocks of numeric inputs."""
        check_is_fitted(self)
        return numeric_blocks(self, X)

    @property
    def _targets(self) -> Any:
        """Numbers or Classes, as the kind of estimator is."""
        check_is_fitted(self)
        return self.fitted_.targets

    def _scores(self, X: Any) -> Floats:
        """(n, K) predictions on the scale of the targets."""
        return np.concatenate([self.fitted_.predict(x) for x in self._inputs(X)])


class Interval(NamedTuple):
    """Lower and upper ends, in the shape of predictions."""

    low: Floats
    high: Floats


class Regression(RegressorMixin, Predictor):  # type: ignore[misc]
    """Numbers, one or several a row."""

    @property
    def _goal(self) -> Goal:
        return Goal(number_targets)

    def _validated(self, X: Any, y: Any, reset: bool) -> tuple[Floats, Any]:
        X, y = validate_data(
            self, X, y, reset=reset, dtype=np.float64, multi_output=True, y_numeric=True
        )
        return X, _numbers(y)

    def _targets_of(self, y: Any) -> Any:
        return _numbers(_check_y(y, multi_output=True, y_numeric=True, estimator=self))

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Predictions; with `return_std`, also the standard deviation of a new target.

        The deviation is that of the Bayesian reading of ridge (see SecondLayer.variance).
        """
        if not return_std:
            return self._targets.decode(self._scores(X))
        blocks = [(self.fitted_.predict(x), self.fitted_.variance(x)) for x in self._inputs(X)]
        targets = self._targets
        deviation = np.sqrt(np.concatenate([v for _, v in blocks])) * targets.scale
        mean = targets.decode(np.concatenate([t for t, _ in blocks]))
        return mean, deviation[:, 0] if targets.single else deviation

    def predict_interval(self, X: Any, coverage: float = 0.9) -> Interval:
        """Split-conformal intervals: prediction plus and minus a quantile of held-out residuals.

        The residuals are those of rows that no first-layer update saw, each left out of the
        readout too. With m of them the chance that a new row of the same law is covered is at
        least `coverage` up to the effect of one row on the fit, and at most 1/(m + 1) more.
        """
        if not 0 < coverage < 1:
            raise InvalidInput("coverage", coverage, "between 0 and 1")
        mean = self.predict(X)
        if self.fitted_.changes:
            problem = (
                f"intervals describe the {self.fitted_.at_fit.rows:,} rows of the fit; "
                f"{self.fitted_.changes}: calibrate(X, y) with new rows first"
            )
            raise InvalidInput("model", problem=problem)
        residuals = self.fitted_.at_fit.residuals
        m = len(residuals)
        rank = int(np.ceil(coverage * (m + 1)))
        if rank > m:
            problem = f"it needs more than the {m} held-out rows of this fit"
            raise InvalidInput("coverage", coverage, problem=problem)
        width = np.sort(np.abs(residuals), axis=0)[rank - 1] * self._targets.scale
        if self._targets.single:
            width = width[0]
        return Interval(mean - width, mean + width)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


class Classification(ClassifierMixin, Predictor):  # type: ignore[misc]
    """Labels of any type."""

    class_weight: Any

    @property
    def _goal(self) -> Goal:
        return Goal(partial(class_targets, class_weight=self.class_weight), labels="all")

    def _validated(self, X: Any, y: Any, reset: bool) -> tuple[Floats, Any]:
        X, y = validate_data(self, X, y, reset=reset, dtype=np.float64, multi_output=True)
        return X, _labels(y)

    def _targets_of(self, y: Any) -> Any:
        return _labels(_check_y(y, multi_output=True, estimator=self))

    def _publish(self, fitted: Fitted) -> None:
        super()._publish(fitted)
        self.classes_ = self._targets.values

    def partial_fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, classes: Any = None
    ) -> Self:
        """Add rows; the first call learns the first layer and may name all classes."""
        if hasattr(self, "fitted_") or classes is None:
            return super().partial_fit(X, y, sample_weight)
        known = {"declared": np.unique(classes), "class_weight": self.class_weight}
        goal = Goal(partial(class_targets, **known), labels="all")
        return self._fit(X, y, sample_weight, goal)

    def decision_function(self, X: Any) -> Floats:
        """Fitted scores: (n,) for two classes, else (n, classes); plus one is the class itself."""
        t = self._scores(X)
        single = self._targets.outputs == 1 and isinstance(self._targets, Classes)
        return t[:, 0] if single else t

    def predict(self, X: Any) -> Any:
        """The most likely class."""
        return self._targets.decode(self._scores(X))

    def predict_proba(self, X: Any) -> Floats:
        """Softmax of the scores, with the slope that fits the held-out rows best.

        Of several labels a row, (n, labels): of each by itself.
        """
        return np.exp(self.predict_log_proba(X))

    def predict_log_proba(self, X: Any) -> Floats:
        """Logarithm of `predict_proba`."""
        scores, slope = self._scores(X), self.fitted_.at_fit.slope
        self._say_changes("probabilities")
        return np.asarray(self._targets.log_probabilities(scores, slope))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags


def _numbers(y: Any) -> Floats:
    """Targets as numbers; dates and durations would be counts of a unit that nobody said."""
    y = np.asarray(y)
    if y.dtype.kind in "mM":
        raise InvalidInput("y", str(y.dtype), "numbers, in a unit of your choice")
    return np.asarray(y, dtype=np.float64)


def _labels(y: Any) -> Any:
    """One label a row, or a matrix of 0 and 1 with a column for each of several."""
    check_classification_targets(y)
    kind = type_of_target(y)
    if kind == "multilabel-indicator":
        return np.asarray(y)
    if kind == "multiclass-multioutput":
        problem = "it has several columns; several labels per row are 0 and 1, one column each"
        raise InvalidInput("y", problem=problem)
    return column_or_1d(y, warn=True)


class Features(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Predictor):  # type: ignore[misc]
    """The learned features themselves, for any model on top."""

    @property
    def _goal(self) -> Goal:
        return Goal(any_targets, labels="text")

    def _validated(self, X: Any, y: Any, reset: bool) -> tuple[Floats, Any]:
        X, y = validate_data(self, X, y, reset=reset, dtype=np.float64, multi_output=True)
        return X, self._targets_of(y)

    def _targets_of(self, y: Any) -> Any:
        y = _check_y(y, multi_output=True, estimator=self)
        return y if y.dtype.kind in "fiub" else y.astype(str)

    def transform(self, X: Any) -> Floats:
        """(n, features)."""
        return np.concatenate([self.fitted_.features(x) for x in self._inputs(X)])

    @property
    def _n_features_out(self) -> int:
        return self.fitted_.width

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags
