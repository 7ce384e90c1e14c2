"""The families of estimators are one table, for model files and the command line.

A new family is

1. a module of `first_layer` with the parameters of its estimators and what a fit asks of it
   (:class:`~onegrad.tables.fitting.settings.FirstLayerFamily`);
2. its scikit-learn classes, which name that module (`sklearn_api`);
3. one row of `FAMILIES`: `load` and `onegrad fit --estimator` find it there.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from onegrad.tables.model.files import read_model
from onegrad.tables.sklearn_api.alternating_estimators import (
    AlternatingClassifier,
    AlternatingRegressor,
)
from onegrad.tables.sklearn_api.one_step_estimators import (
    OneStepClassifier,
    OneStepFeatures,
    OneStepRegressor,
)


@dataclass(frozen=True)
class Family:
    """Estimators that learn their first layer in the same way, by task."""

    regressor: type[Any]
    classifier: type[Any]
    others: tuple[type[Any], ...] = ()  # which the command line does not offer
    options: tuple[str, ...] = ()  # that the command line sets, besides those of every family

    @property
    def estimators(self) -> tuple[type[Any], ...]:
        return (self.regressor, self.classifier, *self.others)


# by name on the command line; the first is the default
FAMILIES: Mapping[str, Family] = {
    "alternating": Family(AlternatingRegressor, AlternatingClassifier, (), ("members", "budget")),
    "one-step": Family(OneStepRegressor, OneStepClassifier, (OneStepFeatures,)),
}


def load(path: str | Path) -> Any:
    """Return the fitted estimator in a file written by `save`; refuse a damaged or foreign file.

    Examples
    --------
    >>> import tempfile
    >>> import onegrad as og
    >>> from onegrad.tables import load
    >>> X = [[float(i), float(i % 7)] for i in range(60)]
    >>> model = og.OneStepRegressor(width=10, eta=0.0, random_state=0).fit(X, [x[0] for x in X])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(f"{folder}/line.model")
    ...     again = load(f"{folder}/line.model")
    >>> bool((again.predict(X) == model.predict(X)).all())
    True
    """
    estimators = [kind for family in FAMILIES.values() for kind in family.estimators]
    return read_model(path, {kind.__name__: kind for kind in estimators})
