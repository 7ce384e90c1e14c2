"""Regression, classification, features: what differs in targets and predictions."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import (
    ClassifierMixin,
    ClassNamePrefixFeaturesOutMixin,
    RegressorMixin,
    TransformerMixin,
)
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from onegrad.arrays import Floats
from onegrad.data.sample import Sample
from onegrad.errors import InvalidInput
from onegrad.estimators.base import Network
from onegrad.estimators.targets import Classes, Numbers, Targets


class Interval(NamedTuple):
    """Lower and upper ends, in the shape of predictions."""

    low: Floats
    high: Floats


class Regression(RegressorMixin, Network):  # type: ignore[misc]
    """Numbers, one or several a row."""

    def _validated(self, X: Any, y: Any, reset: bool) -> tuple[Floats, Any]:
        X, y = validate_data(
            self, X, y, reset=reset, dtype=np.float64, multi_output=True, y_numeric=True
        )
        return X, np.asarray(y, dtype=np.float64)

    def _targets(self, sample: Sample) -> Targets:
        if sample.y.dtype.kind not in "fiub":
            raise InvalidInput("the target is text: use a classifier")
        return Numbers.of(sample.y, sample.w, getattr(self, "inputs", "standard") == "standard")

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Predictions; with `return_std`, also the standard deviation of a new target.

        The deviation is that of the Bayesian reading of ridge (see Fitted.variance).
        """
        if not return_std:
            return self._numbers.decode(self._predict_targets(X))
        blocks = [(self.fitted_.predict(x), self.fitted_.variance(x)) for x in self._inputs(X)]
        targets = self._numbers
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
            raise InvalidInput(f"coverage must be between 0 and 1; got {coverage!r}")
        mean = self.predict(X)
        residuals = self.fitted_.residuals
        m = len(residuals)
        rank = int(np.ceil(coverage * (m + 1)))
        if rank > m:
            raise InvalidInput(
                f"coverage {coverage:g} needs more than the {m} held-out rows of this fit"
            )
        width = np.sort(np.abs(residuals), axis=0)[rank - 1] * self._numbers.scale
        if self._numbers.single:
            width = width[0]
        return Interval(mean - width, mean + width)

    @property
    def _numbers(self) -> Numbers:
        check_is_fitted(self)
        targets = self.fitted_.targets
        assert isinstance(targets, Numbers)
        return targets

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


class Classification(ClassifierMixin, Network):  # type: ignore[misc]
    """Labels of any type."""

    @property
    def _collects_labels(self) -> bool:
        return True

    def _validated(self, X: Any, y: Any, reset: bool) -> tuple[Floats, Any]:
        X, y = validate_data(self, X, y, reset=reset, dtype=np.float64)
        check_classification_targets(y)
        return X, column_or_1d(y)

    def _targets(self, sample: Sample) -> Targets:
        labels = getattr(self, "_declared", None)
        self.classes_ = np.array(sorted(sample.labels)) if labels is None else labels
        if len(self.classes_) < 2:
            raise InvalidInput(
                f"classification needs at least 2 classes; the data have {len(self.classes_)} class"
            )
        return Classes(self.classes_)

    def partial_fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, classes: Any = None
    ) -> Self:
        """Add rows; the first call learns the first layer and may name all classes."""
        if not hasattr(self, "fitted_") and classes is not None:
            self._declared = np.unique(classes)
        try:
            return super().partial_fit(X, y, sample_weight)
        finally:
            self.__dict__.pop("_declared", None)

    def decision_function(self, X: Any) -> Floats:
        """Fitted scores: (n,) for two classes, else (n, classes); plus one is the class itself."""
        t = self._predict_targets(X)
        return t[:, 0] if self._labels.outputs == 1 else t

    def predict(self, X: Any) -> Any:
        """The most likely class."""
        t = self._predict_targets(X)
        return self._labels.decode(t)

    def predict_proba(self, X: Any) -> Floats:
        """Softmax of the scores, with the slope that fits the held-out rows best."""
        return np.exp(self.predict_log_proba(X))

    def predict_log_proba(self, X: Any) -> Floats:
        """Logarithm of `predict_proba`."""
        t = self._predict_targets(X)
        return self._labels.log_probabilities(t, self.fitted_.slope)

    @property
    def _labels(self) -> Classes:
        check_is_fitted(self)
        targets = self.fitted_.targets
        assert isinstance(targets, Classes)
        return targets


class Features(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Network):  # type: ignore[misc]
    """The learned features themselves, for any model on top."""

    def _validated(self, X: Any, y: Any, reset: bool) -> tuple[Floats, Any]:
        X, y = validate_data(self, X, y, reset=reset, dtype=np.float64, multi_output=True)
        return X, y

    def _targets(self, sample: Sample) -> Targets:
        if sample.y.dtype.kind in "fiub":
            return Numbers.of(sample.y, sample.w, getattr(self, "inputs", "standard") == "standard")
        return Classes(np.unique(sample.y))

    def transform(self, X: Any) -> Floats:
        """(n, features)."""
        return np.concatenate([self.fitted_.layer(x) for x in self._inputs(X)])

    @property
    def _n_features_out(self) -> int:
        return self.fitted_.layer.width

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags
