"""The alternating family: rounds of first-layer updates with the trained readout."""

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

from onegrad.exceptions import named_arguments
from onegrad.networks.cost import Cost
from onegrad.tables.first_layer import alternating
from onegrad.tables.first_layer.alternating import SAMPLE_ROWS, AlternatingSettings
from onegrad.tables.fitting.settings import settings_from
from onegrad.tables.sklearn_api.base import FeatureLearner
from onegrad.tables.sklearn_api.docstrings import with_shared_sections
from onegrad.tables.sklearn_api.tasks import Classification, Regression


@named_arguments
@dataclass(eq=False, repr=False)
class _Alternating(FeatureLearner):
    """Rounds of first-layer updates with the trained readout.

    Parameters
    ----------
    width : number of neurons N per member, scikit-learn's `hidden_layer_sizes`. None: set by the
        number of rows and the budget. More than 1,000 neurons are learned in several searches that
        share one readout.
    members : number of networks whose predictions are averaged, scikit-learn's `n_estimators`. Each
        has its own random numbers and holds out other rows; all share the passes over the data.
        None: set by the budget and the number of rows.
    rounds : maximum number of rounds of new neurons in a search, scikit-learn's `max_iter`. None:
        set by the budget.
    patience : number of rounds, or epochs of training, without improvement on held-out rows before
        stopping, scikit-learn's `n_iter_no_change`. None: 4 rounds, 10 epochs.
    budget : "fast", "default" or "best": how much time and memory to spend. Sets the parameters
        that are None.
    ridge : the ridge penalty, scikit-learn's `alpha` of Ridge; "auto" chooses a power of ten times
        the mean variance of the features, as RidgeCV would.
    clip : number of standard deviations at which the inputs of the neurons are clipped.
    inputs : "standard" scales columns by mean and standard deviation; "robust" scales by median and
        quartiles and compresses outliers; "both" uses every column on both scales. None: "both" for
        classifiers unless a width is given, otherwise "standard".
    corrections : "auto" adds, where it helps on held-out rows, logistic regression (for classifiers
        of few rows), networks on encodings of single inputs, boosted trees, and the mean target of
        the nearest rows in the learned metric. "none" does not. None: "auto" unless a width is
        given.
    hold_out : fraction of the sample, scikit-learn's `validation_fraction`, that is held out from
        all first-layer updates to choose the round and the ridge; 0 leaves the layer untrained.
    sample_rows : number of rows on which the first layer is learned, scikit-learn's `max_samples`;
        the readout is fitted on all rows. None: set by the budget.
    """

    width: int | None = None
    _: KW_ONLY
    members: int | None = None
    rounds: int | None = None
    patience: int | None = None
    budget: str = "default"
    sample_rows: int | None = None
    ridge: float | str = "auto"
    clip: float = 4.0
    inputs: str | None = None
    corrections: str | None = None

    _family: ClassVar[Any] = alternating

    def _settings(self) -> AlternatingSettings:
        return settings_from(AlternatingSettings, self, classes=isinstance(self, Classification))

    def _sample_rows(self) -> int | None:
        return SAMPLE_ROWS[self.budget] if self.sample_rows is None else self.sample_rows

    def estimate_cost(self, rows: int, columns: int, outputs: int = 1) -> Cost:
        """Estimate operations, memory and processor seconds of a fit on this machine.

        Parameters
        ----------
        rows, columns : shape of the data; a categorical column counts once per category.
        outputs : number of targets, or of classes if there are more than two.
        """
        sizes = rows, min(rows, self._sample_rows() or rows), columns, outputs
        return alternating.estimated_cost(self._settings(), *sizes, self.hold_out)


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
