"""The one-step family: one gradient step with a random readout, then ridge."""

import math
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from onegrad.arrays import Floats
from onegrad.exceptions import named_arguments
from onegrad.problem import Problem
from onegrad.tables.first_layer import one_step
from onegrad.tables.first_layer.one_step import OneStepParameters
from onegrad.tables.model.targets import ANY_TARGETS, LearningTask
from onegrad.tables.sklearn_api.base import FeatureLearner
from onegrad.tables.sklearn_api.docstrings import with_shared_sections
from onegrad.tables.sklearn_api.tasks import Classification, Regression


@named_arguments
@dataclass(eq=False, repr=False)
class _OneStep(OneStepParameters, FeatureLearner):
    """Estimators of the one-step family.

    Attributes
    ----------
    eta_, alpha_ : the step size that was used, and its exponent.
    """

    _family: ClassVar[Any] = one_step

    @classmethod
    def literal(cls, problem: Problem, **parameters: Any) -> Self:
        """Return an estimator that runs exactly the algorithm of a Problem.

        Its inputs are raw, without bias or skip, and with an intercept only if the problem has one.
        Fit it on n_step + n rows. If `ridge_rows` is "fresh", a random fraction n_step / (n_step +
        n) of them is used for the step.
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

    @property
    def eta_(self) -> float:
        """Step size that was used."""
        check_is_fitted(self)
        return float(self.choice_["eta"])

    @property
    def alpha_(self) -> float:
        """Exponent of the step: log eta / log n, for n rows in the step."""
        check_is_fitted(self)
        return one_step.implied_alpha(self.choice_)


@with_shared_sections
class OneStepRegressor(_OneStep, Regression):
    """Regressor that learns its features by one gradient step, then fits ridge.

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


@with_shared_sections
@named_arguments
@dataclass(eq=False, repr=False)
class OneStepClassifier(_OneStep, Classification):
    """Classifier that learns its features by one gradient step, then fits ridge on labels ±1.

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


@with_shared_sections
class OneStepFeatures(ClassNamePrefixFeaturesOutMixin, TransformerMixin, _OneStep):  # type: ignore[misc]
    """Transformer that returns the features after one gradient step, for any model on top.

    Parameters
    ----------
    width : number of neurons N; scikit-learn's `n_components`.

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

    def _task(self) -> LearningTask:
        return ANY_TARGETS

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
