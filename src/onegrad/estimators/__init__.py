"""scikit-learn estimators: feature learning in two passes over any amount of data."""

from pathlib import Path
from typing import Any

from onegrad.estimators import loading
from onegrad.estimators.alternating import AlternatingClassifier, AlternatingRegressor
from onegrad.estimators.one_step import OneStepClassifier, OneStepFeatures, OneStepRegressor
from onegrad.estimators.saving import save

__all__ = [
    "AlternatingClassifier",
    "AlternatingRegressor",
    "OneStepClassifier",
    "OneStepFeatures",
    "OneStepRegressor",
    "load",
    "save",
]

KINDS = (
    AlternatingClassifier,
    AlternatingRegressor,
    OneStepClassifier,
    OneStepFeatures,
    OneStepRegressor,
)


def load(path: str | Path) -> Any:
    """The fitted estimator in a file written by `save`; a damaged or foreign file is refused.

    Examples
    --------
    >>> import tempfile
    >>> import onegrad as og
    >>> from onegrad.estimators import load
    >>> X = [[float(i), float(i % 7)] for i in range(60)]
    >>> model = og.OneStepRegressor(width=10, eta=0.0, random_state=0).fit(X, [x[0] for x in X])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(f"{folder}/line.model")
    ...     again = load(f"{folder}/line.model")
    >>> bool((again.predict(X) == model.predict(X)).all())
    True
    """
    return loading.load(path, {kind.__name__: kind for kind in KINDS})
