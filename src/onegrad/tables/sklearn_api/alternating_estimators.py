"""The alternating family: rounds of first-layer updates with the trained readout."""

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

from onegrad.exceptions import named_arguments
from onegrad.tables.first_layer import alternating
from onegrad.tables.first_layer.alternating import SAMPLE_ROWS, AlternatingParameters
from onegrad.tables.sklearn_api.base import FeatureLearner
from onegrad.tables.sklearn_api.docstrings import with_shared_sections
from onegrad.tables.sklearn_api.tasks import Classification, Regression


@named_arguments
@dataclass(eq=False, repr=False)
class _Alternating(AlternatingParameters, FeatureLearner):
    _family: ClassVar[Any] = alternating

    def _sample_rows(self) -> int | None:
        return SAMPLE_ROWS[self.budget] if self.sample_rows is None else self.sample_rows


@with_shared_sections
class AlternatingRegressor(_Alternating, Regression):
    """Regressor for tables that learns its features in a few rounds.

    Each round updates the first layer with the trained readout and fits ridge again. Held-out rows
    choose the round and the penalty.

    Examples
    --------
    >>> import numpy as np
    >>> import onegrad as og
    >>> X = np.random.default_rng(0).standard_normal((400, 5))
    >>> y = np.maximum(X[:, 0] + X[:, 1], 0)
    >>> model = og.AlternatingRegressor(width=100, random_state=0).fit(X[:300], y[:300])
    >>> bool(model.score(X[300:], y[300:]) > 0.95)
    True
    >>> np.sort(np.argsort(model.feature_importances_)[-2:])  # the inputs that matter
    array([0, 1])
    >>> low, high = model.predict_interval(X[300:], coverage=0.9)
    >>> model = og.AlternatingRegressor(width=100, random_state=0)
    >>> model = model.fit(X[:300], y[:300], learn_from=range(200))
    >>> model.remove(X[200:210], y[200:210]).n_rows_  # forget ten rows: they leave no trace
    290
    """


@with_shared_sections
@named_arguments
@dataclass(eq=False, repr=False)
class AlternatingClassifier(_Alternating, Classification):
    """Classifier for tables that learns its features in a few rounds.

    Each round updates the first layer with the trained readout and fits ridge again. Held-out rows
    choose the round and the penalty.

    Examples
    --------
    >>> import numpy as np
    >>> import onegrad as og
    >>> X = np.random.default_rng(0).standard_normal((400, 5))
    >>> y = np.maximum(X[:, 0] + X[:, 1], 0)
    >>> label = np.where(y > 0, "on", "off")
    >>> model = og.AlternatingClassifier(width=100, random_state=0).fit(X[:300], label[:300])
    >>> bool(model.score(X[300:], label[300:]) > 0.9)
    True
    >>> model.predict_proba(X[300:]).shape
    (100, 2)
    """

    _: KW_ONLY
    class_weight: Any = None
