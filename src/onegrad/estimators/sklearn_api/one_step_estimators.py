"""The one-step family: one gradient step with a random readout, then ridge."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from onegrad.arrays import Floats
from onegrad.estimators.fitting import task
from onegrad.estimators.fitting.first_layer import one_step
from onegrad.estimators.fitting.first_layer.one_step import OneStepSettings
from onegrad.estimators.fitting.settings import settings_from
from onegrad.estimators.sklearn_api.base import FeatureLearner
from onegrad.estimators.sklearn_api.tasks import Classification, Regression
from onegrad.problem import Problem


@dataclass(eq=False, repr=False)
class _OneStep(FeatureLearner):
    """Parameters of the family."""

    width: int = 1000
    _: KW_ONLY
    eta: float | str = "auto"
    c: float = 1.0
    alpha: float | None = None
    ridge: float | str = "auto"
    activation: Any = "relu:raw"
    inputs: str = "standard"
    bias: str = "data"
    weights: str = "gaussian"
    readout: str = "gaussian"
    residual: str = "labels"
    rows: str = "same"
    step_share: float = 0.5
    skip: bool = True
    intercept: bool = True
    clip: float = 4.0

    _learn = staticmethod(one_step.learn)
    _describe = staticmethod(one_step.describe)

    @classmethod
    def literal(cls, problem: Problem, **parameters: Any) -> Self:
        """Return the algorithm of a Problem as it is: raw inputs, no bias, skip or intercept.

        Fit it on n_step + n rows: a share of n_step / (n_step + n), drawn at random, makes the
        step where `ridge_rows` is "fresh".
        """
        p = problem
        same = ("eta", "ridge", "weights", "readout", "residual", "intercept")
        settings: dict[str, Any] = {name: getattr(p, name) for name in same} | {
            "activation": p.sigma,
            "inputs": "raw",
            "bias": "none",
            "rows": p.ridge_rows,
            "step_share": p.rows_of_step / (p.rows_of_step + p.n),
            "skip": False,
            "clip": math.inf,
            "sample_rows": p.rows_of_step + p.n,
        }
        return cls(p.N, **(settings | parameters))

    def _settings(self) -> OneStepSettings:
        return settings_from(OneStepSettings, self)

    @property
    def eta_(self) -> float:
        """The step that was made."""
        check_is_fitted(self)
        return float(self.choice_["eta"])

    @property
    def alpha_(self) -> float:
        """The exponent that the step amounts to: log eta / log n over its n rows."""
        check_is_fitted(self)
        return one_step.implied_alpha(self.choice_)


class OneStepRegressor(_OneStep, Regression):
    """Regression by one gradient step with a random readout, then ridge.

    Parameters
    ----------
    width : number of neurons N; scikit-learn's `hidden_layer_sizes`.
    eta : the step; "auto" chooses among multiples of ``|W_0| / |G|``; 0 is random features.
    c, alpha : instead of eta, the step c n^alpha for n rows.
    ridge : the penalty, scikit-learn's `alpha` of Ridge; "auto" chooses a power of ten of the
        features' mean variance, as RidgeCV would.
    activation : a name, a formula such as "tanh(2*x)", or a pair (function, derivative).
    inputs : "standard" scales inputs and targets, "raw" takes them as they are.
    bias : "data" places each neuron's kink at a row, "none" has no biases.
    weights, readout, residual : as in Problem.
    rows : ridge on the "same" rows as the step, or on "fresh" ones.
    step_share : with fresh rows, the share that makes the step.
    skip, intercept : whether the inputs themselves are features; whether there is a free constant.
    clip : standard deviations at which the neurons' inputs are clipped.
    hold_out : share of the sample, scikit-learn's `validation_fraction`, that no first-layer update
        sees and that chooses what is "auto".
    sample_rows : rows, scikit-learn's `max_samples`, that the first layer is learned on; the
        readout is fitted on all.
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
    eta_, alpha_ : the step that was made, and its exponent.

    Examples
    --------
    >>> import numpy as np
    >>> import onegrad as og
    >>> X = np.random.default_rng(0).standard_normal((400, 5))
    >>> y = np.maximum(X[:, 0] + X[:, 1], 0)
    >>> model = og.OneStepRegressor(width=100, random_state=0).fit(X[:300], y[:300])
    >>> plain = og.OneStepRegressor(width=100, eta=0, random_state=0).fit(X[:300], y[:300])
    >>> bool(model.score(X[300:], y[300:]) > plain.score(X[300:], y[300:]))
    True
    """


@dataclass(eq=False, repr=False)
class OneStepClassifier(_OneStep, Classification):
    """Classification by one gradient step, then ridge on labels of plus and minus one.

    Parameters
    ----------
    width : number of neurons N; scikit-learn's `hidden_layer_sizes`.
    eta : the step; "auto" chooses among multiples of ``|W_0| / |G|``; 0 is random features.
    c, alpha : instead of eta, the step c n^alpha for n rows.
    ridge : the penalty, scikit-learn's `alpha` of Ridge; "auto" chooses a power of ten of the
        features' mean variance, as RidgeCV would.
    activation : a name, a formula such as "tanh(2*x)", or a pair (function, derivative).
    inputs : "standard" scales inputs and targets, "raw" takes them as they are.
    bias : "data" places each neuron's kink at a row, "none" has no biases.
    weights, readout, residual : as in Problem.
    rows : ridge on the "same" rows as the step, or on "fresh" ones.
    step_share : with fresh rows, the share that makes the step.
    skip, intercept : whether the inputs themselves are features; whether there is a free constant.
    clip : standard deviations at which the neurons' inputs are clipped.
    hold_out : share of the sample, scikit-learn's `validation_fraction`, that no first-layer update
        sees and that chooses what is "auto".
    sample_rows : rows, scikit-learn's `max_samples`, that the first layer is learned on; the
        readout is fitted on all.
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
    eta_, alpha_ : the step that was made, and its exponent.

    Examples
    --------
    >>> import numpy as np
    >>> import onegrad as og
    >>> X = np.random.default_rng(0).standard_normal((400, 5))
    >>> y = np.maximum(X[:, 0] + X[:, 1], 0)
    >>> model = og.OneStepClassifier(width=100, random_state=0).fit(X[:300], y[:300] > 0)
    >>> bool(model.score(X[300:], y[300:] > 0) > 0.9)
    True
    """

    _: KW_ONLY
    class_weight: Any = None


class OneStepFeatures(ClassNamePrefixFeaturesOutMixin, TransformerMixin, _OneStep):  # type: ignore[misc]
    """The features after one gradient step, for any model on top.

    Parameters
    ----------
    width : number of neurons N; scikit-learn's `n_components`.
    eta : the step; "auto" chooses among multiples of ``|W_0| / |G|``; 0 is random features.
    c, alpha : instead of eta, the step c n^alpha for n rows.
    ridge : the penalty, scikit-learn's `alpha` of Ridge; "auto" chooses a power of ten of the
        features' mean variance, as RidgeCV would.
    activation : a name, a formula such as "tanh(2*x)", or a pair (function, derivative).
    inputs : "standard" scales inputs and targets, "raw" takes them as they are.
    bias : "data" places each neuron's kink at a row, "none" has no biases.
    weights, readout, residual : as in Problem.
    rows : ridge on the "same" rows as the step, or on "fresh" ones.
    step_share : with fresh rows, the share that makes the step.
    skip, intercept : whether the inputs themselves are features; whether there is a free constant.
    clip : standard deviations at which the neurons' inputs are clipped.
    hold_out : share of the sample, scikit-learn's `validation_fraction`, that no first-layer update
        sees and that chooses what is "auto".
    sample_rows : rows, scikit-learn's `max_samples`, that the first layer is learned on; the
        readout is fitted on all.
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
    eta_, alpha_ : the step that was made, and its exponent.

    Examples
    --------
    >>> import numpy as np
    >>> import onegrad as og
    >>> X = np.random.default_rng(0).standard_normal((400, 5))
    >>> y = np.maximum(X[:, 0] + X[:, 1], 0)
    >>> from sklearn.linear_model import RidgeCV
    >>> from sklearn.pipeline import make_pipeline
    >>> model = make_pipeline(og.OneStepFeatures(width=100, random_state=0), RidgeCV())
    >>> bool(model.fit(X[:300], y[:300]).score(X[300:], y[300:]) > 0.9)
    True
    """

    def _task(self) -> task.LearningTask:
        return task.ANY_TARGETS

    def _as_targets(self, y: Any) -> Any:
        return y if y.dtype.kind in "fiub" else y.astype(str)

    def transform(self, X: Any) -> Floats:
        """Return the (n, features) features of each row."""
        return np.concatenate([self.fitted_.features(x) for x in self._inputs(X)])

    @property
    def _n_features_out(self) -> int:
        return self.fitted_.width

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags
