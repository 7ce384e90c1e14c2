"""The alternating family: rounds of first-layer updates with the trained readout."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

from onegrad.estimators.fitting.first_layer import alternating
from onegrad.estimators.fitting.first_layer.alternating import (
    SAMPLE_ROWS,
    AlternatingSettings,
)
from onegrad.estimators.fitting.first_layer.alternating_cost import alternating_cost
from onegrad.estimators.fitting.settings import settings_from
from onegrad.estimators.sklearn_api.base import FeatureLearner
from onegrad.estimators.sklearn_api.tasks import Classification, Regression
from onegrad.networks.cost import Cost


@dataclass(eq=False, repr=False)
class _Alternating(FeatureLearner):
    """Parameters of the family."""

    width: int | None = None
    _: KW_ONLY
    members: int | None = None
    rounds: int | None = None
    budget: str = "default"
    sample_rows: int | None = None
    ridge: float | str = "auto"
    clip: float = 4.0
    inputs: str | None = None
    corrections: str | None = None

    _learn = staticmethod(alternating.learn)
    _describe = staticmethod(alternating.describe)

    def _settings(self) -> AlternatingSettings:
        return settings_from(AlternatingSettings, self, classes=isinstance(self, Classification))

    def _sample_rows(self) -> int | None:
        return SAMPLE_ROWS[self.budget] if self.sample_rows is None else self.sample_rows

    def estimate_cost(self, rows: int, columns: int, outputs: int = 1) -> Cost:
        """Estimate operations, memory and processor seconds of a fit here, without a fit.

        Parameters
        ----------
        rows, columns : shape of the data; a category counts a column for each of its values.
        outputs : number of targets, or of classes where there are more than two.
        """
        return alternating_cost(
            self._settings(),
            rows,
            columns,
            outputs,
            sample_rows=self._sample_rows() or rows,
            hold_out=self.hold_out,
        )


class AlternatingRegressor(_Alternating, Regression):
    """Regression by rounds of ridge, first-layer update with the trained readout, ridge.

    Parameters
    ----------
    width : number of neurons N of a member, scikit-learn's `hidden_layer_sizes`; None: by rows and
        budget. Above 1,000 they are looked for in several searches, one readout goes over all.
    members : networks whose predictions are averaged, scikit-learn's `n_estimators`, each with
        random numbers of its own; all share the passes over the data. None: by budget.
    rounds : largest number of rounds of new neurons in a search, scikit-learn's `max_iter`; None:
        by budget.
    budget : "fast", "default" or "best": what None stands for.
    ridge : the penalty, scikit-learn's `alpha` of Ridge; "auto" chooses a power of ten of the
        features' mean variance, as RidgeCV would.
    clip : standard deviations at which the neurons' inputs are clipped.
    inputs : "standard" scales by mean and deviation, "robust" by median and quartiles and pulls in
        what is far outside, "both" has every column on both scales. None: "both" for classes
        unless a width is given, else "standard".
    corrections : "auto" trains all neurons jointly after the rounds and adds, where held-out rows
        say that they help, the head that was trained with them (for labels) and the mean targets
        of the nearest rows in the learned metric; "none". None: "auto" unless a width is given.
    hold_out : share of the sample, scikit-learn's `validation_fraction`, that no first-layer update
        sees and that chooses round and ridge; 0 leaves the layer untrained.
    sample_rows : rows, scikit-learn's `max_samples`, that the first layer is learned on; the
        readout is fitted on all. None: by budget.
    categorical_features : columns whose values are categories even where they are numbers: names,
        numbers or a mask; text always is.
    device : "cpu", or "cuda" for sums over rows: rounds, and the pass over the data.
    n_jobs : processes for the passes over a source of several partitions.
    random_state : seed of all random numbers.
    verbose : whether progress is shown on standard error.

    Attributes
    ----------
    choice_ : what held-out rows chose.
    held_out_score_, held_out_loss_ : R2 or accuracy of these rows when each is left out, and the
        loss that chose (lower is better).
    column_names_, n_features_in_ : columns of X, by name, and their number.
    feature_names_in_ : names of the columns, where X has names.
    feature_importances_ : importance of each column of X; they add up to one.
    feature_importances_encoded_, input_names_ : importances and names of the encoded inputs.
    metric_ : average gradient outer product of the fitted function in scaled inputs.
    readout_ : (features, outputs) coefficients of the features; scikit-learn's `coef_`, transposed,
        of a linear model on the features.
    spectrum_ : eigenvalues of the features' covariance, learned and untrained.
    n_rows_ : rows that are in the model.

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
    >>> model.remove(X[:10], y[:10]).n_rows_  # forget ten rows, exactly
    290
    """


@dataclass(eq=False, repr=False)
class AlternatingClassifier(_Alternating, Classification):
    """Classification by rounds of ridge, first-layer update with the trained readout, ridge.

    Parameters
    ----------
    width : number of neurons N of a member, scikit-learn's `hidden_layer_sizes`; None: by rows and
        budget. Above 1,000 they are looked for in several searches, one readout goes over all.
    members : networks whose predictions are averaged, scikit-learn's `n_estimators`, each with
        random numbers of its own; all share the passes over the data. None: by budget.
    rounds : largest number of rounds of new neurons in a search, scikit-learn's `max_iter`; None:
        by budget.
    budget : "fast", "default" or "best": what None stands for.
    ridge : the penalty, scikit-learn's `alpha` of Ridge; "auto" chooses a power of ten of the
        features' mean variance, as RidgeCV would.
    clip : standard deviations at which the neurons' inputs are clipped.
    inputs : "standard" scales by mean and deviation, "robust" by median and quartiles and pulls in
        what is far outside, "both" has every column on both scales. None: "both" for classes
        unless a width is given, else "standard".
    corrections : "auto" trains all neurons jointly after the rounds and adds, where held-out rows
        say that they help, the head that was trained with them (for labels) and the mean targets
        of the nearest rows in the learned metric; "none". None: "auto" unless a width is given.
    hold_out : share of the sample, scikit-learn's `validation_fraction`, that no first-layer update
        sees and that chooses round and ridge; 0 leaves the layer untrained.
    sample_rows : rows, scikit-learn's `max_samples`, that the first layer is learned on; the
        readout is fitted on all. None: by budget.
    categorical_features : columns whose values are categories even where they are numbers: names,
        numbers or a mask; text always is.
    device : "cpu", or "cuda" for sums over rows: rounds, and the pass over the data.
    n_jobs : processes for the passes over a source of several partitions.
    random_state : seed of all random numbers.
    verbose : whether progress is shown on standard error.
    class_weight : None, "balanced", or weights by label, which multiply the rows' own.

    Attributes
    ----------
    choice_ : what held-out rows chose.
    held_out_score_, held_out_loss_ : R2 or accuracy of these rows when each is left out, and the
        loss that chose (lower is better).
    column_names_, n_features_in_ : columns of X, by name, and their number.
    feature_names_in_ : names of the columns, where X has names.
    feature_importances_ : importance of each column of X; they add up to one.
    feature_importances_encoded_, input_names_ : importances and names of the encoded inputs.
    metric_ : average gradient outer product of the fitted function in scaled inputs.
    readout_ : (features, outputs) coefficients of the features; scikit-learn's `coef_`, transposed,
        of a linear model on the features.
    spectrum_ : eigenvalues of the features' covariance, learned and untrained.
    n_rows_ : rows that are in the model.

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
