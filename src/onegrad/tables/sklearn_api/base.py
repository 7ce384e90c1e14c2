"""The part that all estimators share: a fit, rows that come and go, what was learned."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass, field, replace
from functools import partial
from numbers import Integral
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_y, check_is_fitted

from onegrad.arrays import Floats
from onegrad.exceptions import AssumptionWarning, InvalidInput, check_choice, warn
from onegrad.io.progress import TerminalProgress
from onegrad.pictures.model_plots import draw_importances
from onegrad.tables.fitting import pipeline
from onegrad.tables.fitting.settings import FirstLayerFamily, check_parameter
from onegrad.tables.model import files
from onegrad.tables.model import rows as model_rows
from onegrad.tables.model.fitted import FeatureSpectrum, Fitted
from onegrad.tables.model.report import Report
from onegrad.tables.model.targets import LearningTask
from onegrad.tables.rows.encoding import input_names
from onegrad.tables.rows.partitions import sum_over_partitions
from onegrad.tables.sklearn_api.input_data import (
    first_rows,
    in_units,
    is_source,
    more_rows,
    numeric_blocks,
    split_rows,
    weight_unit,
)


# a dataclass for its __init__: scikit-learn wants every parameter by name, stored as it came
@dataclass(eq=False, repr=False, kw_only=True)
class FeatureLearner(BaseEstimator):  # type: ignore[misc]
    """A first layer learned on a sample of rows, a readout fitted on all of them.

    Parameters
    ----------
    hold_out : fraction of the sample, scikit-learn's `validation_fraction`, that is held out from
        all first-layer updates to choose the parameters that are "auto".
    sample_rows : number of rows on which the first layer is learned, scikit-learn's `max_samples`;
        the readout is fitted on all rows.
    categorical_features : numeric columns to treat as categories, as names, indices or a mask;
        text columns are always categories.
    device : "cpu", or "cuda" for sums over rows on a GPU: rounds, and the pass over the data.
    n_jobs : number of processes for passes over a source with several partitions.
    random_state : seed of all random numbers.
    verbose : whether to show progress on standard error.

    Attributes
    ----------
    choice_ : the settings chosen on the held-out rows.
    held_out_score_, held_out_loss_ : R2 or accuracy on the held-out rows, each left out of the
        readout, and the loss by which the settings were chosen (lower is better).
    column_names_, n_features_in_ : names and number of the columns of X.
    feature_names_in_ : names of the columns, if X has names.
    feature_importances_ : importance of each column of X; they sum to one.
    feature_importances_encoded_, input_names_ : importances and names of the encoded inputs.
    metric_ : average gradient outer product of the fitted function in scaled inputs.
    readout_ : (features, outputs) coefficients of the features; scikit-learn's `coef_`, transposed,
        of a linear model on the features.
    spectrum_ : eigenvalues of the covariance of the features, learned and untrained.
    n_rows_ : number of rows in the model.
    """

    hold_out: float = 0.2
    sample_rows: int | None = 20_000
    categorical_features: Any = None
    device: str = "cpu"
    n_jobs: int | None = None
    random_state: Any = None
    verbose: bool | int = False

    fitted_: Fitted = field(init=False)

    # -- what families and tasks define --------------------------------------------------------

    _family: ClassVar[FirstLayerFamily]  # the module that learns first layers
    _target_kinds: ClassVar[tuple[type[Any], ...]] = (object,)
    _target_checks: ClassVar[Mapping[str, bool]] = {"multi_output": True, "y_numeric": False}
    _pictures: ClassVar[Mapping[str, Callable[..., Any]]] = {}

    def _task(self) -> LearningTask:
        """Return what is to be predicted."""
        raise NotImplementedError

    def _sample_rows(self) -> Any:
        return self.sample_rows

    def _plain_targets(self, y: Any) -> Any:
        """Return targets as NumPy knows them; refuse those that validation would change."""
        return y

    def _as_targets(self, y: Any) -> Any:
        """Return validated targets as numbers or labels."""
        raise NotImplementedError

    # -- validation as scikit-learn does it ----------------------------------------------------

    def _validated_targets(self, y: Any) -> Any:
        """Return targets that came beside rows, as scikit-learn checks them."""
        if y is None:
            raise InvalidInput("y", problem="it requires y to be passed, but the target y is None")
        y = self._plain_targets(y)
        return self._as_targets(_check_y(y, estimator=self, **self._target_checks))

    # -- fitting -------------------------------------------------------------------------------

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        client: Any = None,
        progress: Any = None,
        learn_from: Any = None,
    ) -> Self:
        """Fit the first layer, then the readout.

        Ctrl-C while the first layer is learned keeps the best one so far, with a warning.

        Parameters
        ----------
        X : matrix of inputs; a pandas, polars or pyarrow table, whose columns may hold numbers,
            text, categories, booleans, dates and missing values; or a source of any size (see
            onegrad.tables.source), a Dask array or dataframe, whose rows are read block by block.
        y : targets; None if X is a source that names them.
        sample_weight : weights of the rows.
        client : a dask.distributed Client whose workers run the passes over the data.
        progress : called with (partitions done, number of partitions) during a pass.
        learn_from : the rows from which all that is learned and chosen comes, as a mask or as
            numbers of rows; the others are in the sums alone. To `remove` one of these leaves the
            model that never saw it. None: all rows may be learned from.
        """
        options = {"client": client, "progress": progress, "chosen": learn_from is not None}
        if learn_from is None:
            return self._fit(self._task(), X, y, sample_weight, **options)
        rows, others = split_rows(learn_from, X, y, sample_weight)
        self._fit(self._task(), *rows, **options)
        return self if others is None else self.partial_fit(*others)

    def _fit(self, task: LearningTask, X: Any, y: Any, sample_weight: Any, **options: Any) -> Self:
        self._family.check(self)
        sample_rows = self._sample_rows()
        check_parameter("sample_rows", sample_rows, 1, integer=True)
        check_parameter("hold_out", self.hold_out, 0, 0.9)
        if self.n_jobs is not None and not (isinstance(self.n_jobs, Integral) and self.n_jobs):
            raise InvalidInput("n_jobs", self.n_jobs, "None or a whole number other than 0")
        unit = weight_unit(sample_weight)
        data = first_rows(self, X, y, in_units(sample_weight, unit))
        if self.verbose and options.get("progress") is None:
            options["progress"] = TerminalProgress(seconds_per_line=1.0)
        fitted = pipeline.fit(
            data,
            task,
            self,
            self._family,
            sample_rows=sample_rows,
            hold_out=self.hold_out,
            seed=int(check_random_state(self.random_state).randint(2**31)),
            jobs=1 if self.n_jobs is None else self.n_jobs,
            device=self.device,
            **options,
        )
        if fitted.encoding is not None and is_source(X):
            self.feature_names_in_ = np.array(fitted.encoding.names, dtype=object)
        return self._publish(replace(fitted, weight_unit=unit))

    def _publish(self, fitted: Fitted) -> Self:
        """Show a state in the attributes that scikit-learn and people look for."""
        if not isinstance(fitted.targets, self._target_kinds):  # only a forged model has others
            raise InvalidInput("model", problem="its targets are not those of its estimator")
        self.fitted_ = fitted
        self.n_rows_ = fitted.rows
        self.choice_ = fitted.statistics.choice
        self.held_out_score_ = self.choice_["held_out_score"]
        self.held_out_loss_ = self.choice_["held_out_loss"]
        self.n_features_in_ = fitted.layers[0].scaling.columns
        if fitted.encoding is not None:
            self.n_features_in_ = len(fitted.encoding.names)
        return self

    @property
    def _targets(self) -> Any:
        """Targets of one of the kinds that the task has."""
        check_is_fitted(self)
        return self.fitted_.targets

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "fitted_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.sparse = True
        return tags

    # -- rows that come and go -----------------------------------------------------------------

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Add rows. The first call learns the first layer; later ones change the readout only."""
        if not hasattr(self, "fitted_"):
            return self.fit(X, y, sample_weight)
        rows = self._sum_rows(X, y, sample_weight)
        return self._publish(model_rows.with_rows(self.fitted_, rows))

    def remove(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Remove rows from the sums exactly; what was learned from them stays, and is named.

        Rows that nothing was learned from, such as those beside `learn_from`, leave no trace. Rows
        that are not in the model are refused if it has at most 131,072 distinct rows.
        """
        check_is_fitted(self)
        rows = self._sum_rows(X, y, sample_weight)
        fitted = model_rows.without_rows(self.fitted_, rows)
        model_rows.warn_of_what_stays(self.fitted_, rows)
        return self._publish(fitted)

    def merge(self, other: FeatureLearner) -> Self:
        """Add the rows of an estimator that has the same first layer (see `blank`)."""
        check_is_fitted(self)
        check_is_fitted(other)
        mine, others = self.fitted_, other.fitted_
        if type(other) is not type(self) or not model_rows.same_first_layers(mine, others):
            problem = "it needs the same first layer; make it with blank() and fill it"
            raise InvalidInput("other", problem=problem)
        return self._publish(model_rows.with_rows(mine, model_rows.all_rows(others)))

    def blank(self) -> Self:
        """Return a copy with the same first layer and no rows, to be filled by partial_fit."""
        check_is_fitted(self)
        rows = model_rows.all_rows(self.fitted_)
        return copy(self)._publish(model_rows.without_rows(self.fitted_, rows))

    def calibrate(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Measure the model on rows that are not in it.

        After a fit, importances, intervals, the calibration of probabilities and the scores of the
        report come from the held-out rows. Once rows were added or removed, use this to measure
        them on new rows instead.
        """
        check_is_fitted(self)
        data = more_rows(self, X, y, sample_weight)
        return self._publish(model_rows.calibrate(self.fitted_, data.blocks()))

    def _sum_rows(self, X: Any, y: Any, sample_weight: Any) -> model_rows.RowSums:
        data = more_rows(self, X, y, sample_weight)
        sums = partial(model_rows.sum_rows, fitted=self.fitted_, device=self.device)
        return sum_over_partitions(sums, data.partitions)

    def _warn_of_changes(self, subject: str) -> None:
        """Warn that something describes the rows of the fit, once others came or some went."""
        fitted = self.fitted_
        if fitted.changes:
            text = (
                f"{subject} describe the {fitted.statistics.rows:,} rows of the fit; "
                f"{fitted.changes}: calibrate(X, y) with new rows brings them up to date"
            )
            warn(AssumptionWarning("calibration", subject, text))

    # -- predicting ----------------------------------------------------------------------------

    def _inputs(self, X: Any) -> Iterator[Floats]:
        check_is_fitted(self)
        return numeric_blocks(self, X)

    def _scores(self, X: Any) -> Floats:
        """Return (n, K) predictions on the scale of the targets."""
        return np.concatenate([self.fitted_.predict(x) for x in self._inputs(X)])

    # -- what was learned ----------------------------------------------------------------------

    @property
    def metric_(self) -> Floats:
        """(d, d) average gradient outer product of the fitted function in scaled inputs."""
        self._warn_of_changes("importances")
        return self.fitted_.statistics.metric

    @property
    def feature_importances_(self) -> Floats:
        """Importance of each column of X: how much permuting it increases the held-out loss.

        The importances sum to one, or are all zero if the fitted function is constant.
        """
        self._warn_of_changes("importances")
        return self.fitted_.column_importances

    @property
    def feature_importances_encoded_(self) -> Floats:
        """Diagonal of the metric, scaled to sum to one, in the order of `input_names_`."""
        self._warn_of_changes("importances")
        return self.fitted_.statistics.importances

    @property
    def column_names_(self) -> list[str]:
        """Names of the columns of X; x0, x1, … if they have none."""
        if self.fitted_.encoding is not None:
            return list(self.fitted_.encoding.names)
        names = getattr(self, "feature_names_in_", None)
        return input_names(None, self.n_features_in_) if names is None else list(names)

    @property
    def input_names_(self) -> list[str]:
        """Names of the network's inputs: columns, or their categories."""
        encoding = self.fitted_.encoding
        return self.column_names_ if encoding is None else list(encoding.inputs)

    @property
    def spectrum_(self) -> FeatureSpectrum:
        """Eigenvalues of the features' covariance, learned and untrained, and the spikes."""
        return self.fitted_.spectrum

    @property
    def readout_(self) -> Floats:
        """(features, outputs) coefficients of all features of all members, for scaled targets.

        It is not called `coef_`: by that name scikit-learn's selectors would rank the inputs.
        """
        return self.fitted_.coef

    def report(self) -> Report:
        """Return what was learned, in words and numbers."""
        check_is_fitted(self)
        lines = self._family.describe(self.choice_)
        return Report.of(type(self).__name__, self.fitted_, self.column_names_, lines)

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)
        if "text/html" in bundle and hasattr(self, "fitted_"):
            bundle["text/html"] += self.report()._repr_html_()
        return bundle

    def plot(self, kind: str = "importances", X: Any = None, y: Any = None, ax: Any = None) -> Any:
        """Plot the importances, or the predictions of rows that are not in the model.

        Parameters
        ----------
        kind : "importances"; for regressors also "predicted" (against true values) and "intervals"
            (of coverage 0.9); for classifiers also "calibration" (how often the model is right).
        X, y : rows, for every kind except importances.
        ax : matplotlib axes; new ones by default.
        """
        check_is_fitted(self)
        check_choice("kind", kind, ("importances", *self._pictures))
        if kind == "importances":
            return draw_importances(ax, self.column_names_, self.feature_importances_)
        if X is None or y is None:
            raise InvalidInput("X, y", problem=f"{kind!r} needs rows that are not in the model")
        return self._pictures[kind](self, ax, X, np.asarray(y))

    def save(self, path: str | Path, rows: str = "sums") -> None:
        """Write the fitted estimator to a file of numbers and JSON, without code.

        It holds the scaled rows or the sums over them, whichever are fewer numbers. With
        ``rows="frozen"`` it holds neither: the model predicts, and cannot add or remove rows.
        """
        check_is_fitted(self)
        files.save(self, path, rows)
