"""What all estimators share: data in, one fit, what was learned out.

A family says how the first layer is learned (`_recipe`); what differs in targets and predictions is
in onegrad.estimators.sklearn_api.tasks.
"""

from __future__ import annotations

import sys
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from onegrad.arrays import Floats
from onegrad.estimators.fitting import pipeline
from onegrad.estimators.fitting.settings import check_number
from onegrad.estimators.fitting.task import Goal
from onegrad.estimators.model import saving
from onegrad.estimators.model.fitted import FeatureSpectrum, Fitted
from onegrad.estimators.model.report import Report
from onegrad.estimators.sklearn_api.inputs import first_rows, is_source
from onegrad.exceptions import AssumptionWarning, warn
from onegrad.io.progress import Progress


# a dataclass for its __init__: scikit-learn wants every parameter by name, stored as it came
@dataclass(eq=False, repr=False, kw_only=True)
class FeatureLearner(BaseEstimator):  # type: ignore[misc]
    """A first layer learned on a sample of rows, a readout fitted on all of them."""

    hold_out: float = 0.2
    sample_rows: int | None = 20_000
    categorical_features: Any = None
    device: str = "cpu"
    n_jobs: int | None = None
    random_state: Any = None
    verbose: bool | int = False

    fitted_: Fitted = field(init=False)

    # -- what families and kinds of targets say ------------------------------------------------

    @property
    def _goal(self) -> Goal:
        raise NotImplementedError

    def _recipe(self) -> pipeline.Recipe:
        raise NotImplementedError

    @staticmethod
    def _describe(choice: dict[str, Any]) -> list[tuple[str, str]]:
        """Lines of a report, by name, on the first layer that was chosen."""
        raise NotImplementedError

    def _rows_of_sample(self) -> Any:
        return self.sample_rows

    def _validated(self, X: Any, y: Any, reset: bool) -> tuple[Floats, Any]:
        raise NotImplementedError

    def _targets_of(self, y: Any) -> Any:
        """Targets that came beside a table, validated."""
        raise NotImplementedError

    # -- fitting -------------------------------------------------------------------------------

    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, client: Any = None,
        progress: Any = None,
    ) -> Self:  # fmt: skip
        """Learn the first layer, then the readout.

        Parameters
        ----------
        X : matrix of inputs; a pandas, polars or pyarrow table, whose columns may hold numbers,
            text, categories, truth values, dates and gaps; or a source of any size (see
            onegrad.data.source), a Dask array or dataframe, whose rows are read block by block.
        y : targets; None where X is a source that names them.
        sample_weight : weights of the rows.
        client : a dask.distributed Client whose workers make the passes over the data.
        progress : called with (parts done, parts) during a pass.

        The first Ctrl-C while the first layer is learned keeps the best so far, and says so.
        """
        return self._fit(X, y, sample_weight, self._goal, client, progress)

    def _fit(
        self, X: Any, y: Any, sample_weight: Any, goal: Goal, client: Any = None,
        progress: Any = None,
    ) -> Self:  # fmt: skip
        recipe = self._recipe()
        rows = self._rows_of_sample()
        check_number("sample_rows", rows, 1, whole=True)
        check_number("hold_out", self.hold_out, 0, 0.9)
        data = first_rows(self, X, y, sample_weight)
        seed = int(check_random_state(self.random_state).randint(2**31))
        sampling = pipeline.Sampling(rows, self.hold_out, seed)
        jobs = 1 if self.n_jobs is None else self.n_jobs
        if self.verbose and progress is None:
            progress = Progress()
        means = pipeline.Means(client, jobs, progress, self.device)
        fitted = pipeline.fit(recipe, data, goal, sampling, means)
        if fitted.encoding is not None and is_source(X):
            self.feature_names_in_ = np.array(fitted.encoding.names, dtype=object)
        self._publish(fitted)
        return self

    def _publish(self, fitted: Fitted) -> None:
        """Show a state in the attributes that scikit-learn and people look for."""
        self.fitted_ = fitted
        self.n_rows_ = fitted.moments.rows
        self.choice_ = fitted.at_fit.choice
        self.held_out_score_ = self.choice_["held_out_score"]
        self.n_features_in_ = fitted.layers[0].W.shape[1]
        if fitted.encoding is not None:
            self.n_features_in_ = len(fitted.encoding.names)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "fitted_")

    # -- what was learned ----------------------------------------------------------------------

    @property
    def metric_(self) -> Floats:
        """(d, d) average gradient outer product of the fitted function in scaled inputs."""
        self._say_changes("importances")
        return self.fitted_.at_fit.metric

    @property
    def feature_importances_(self) -> Floats:
        """Importance of each column of X: the sum over the inputs that it is encoded as.

        All of them add up to one, or are zero where the fitted function is constant.
        """
        importances = self.feature_importances_encoded_
        encoding = self.fitted_.encoding
        return importances if encoding is None else encoding.sum_by_column(importances)

    @property
    def feature_importances_encoded_(self) -> Floats:
        """Diagonal of the metric, scaled to sum to one, in the order of `input_names_`."""
        self._say_changes("importances")
        return self.fitted_.importances

    def _say_changes(self, what: str) -> None:
        """What describes the rows of the fit says so once others came, or some went."""
        if self.fitted_.changes:
            text = (
                f"{what} describe the {self.fitted_.at_fit.rows:,} rows of the fit; "
                f"{self.fitted_.changes}: calibrate(X, y) with new rows brings them up to date"
            )
            warn(AssumptionWarning("calibration", what, text))

    @property
    def column_names_(self) -> list[str]:
        """Names of the columns of X; x0, x1, … where they have none."""
        if self.fitted_.encoding is not None:
            return list(self.fitted_.encoding.names)
        names = getattr(self, "feature_names_in_", None)
        return [f"x{j}" for j in range(self.n_features_in_)] if names is None else list(names)

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
        """(features, outputs) coefficients of all features of all members, for scaled targets."""
        return self.fitted_.coef

    @property
    def coef_(self) -> Floats:
        """Former name of `readout_`, which goes in the next release.

        In scikit-learn `coef_` has one column per input, and its selectors rank inputs by it
        before they look at `feature_importances_`: for them there is none.
        """
        caller = sys._getframe(1).f_globals.get("__name__", "")
        if caller.startswith("sklearn."):
            raise AttributeError("coef_ is now readout_: its rows are features, not inputs")
        text = "coef_ is now readout_, and goes in the next release"
        warnings.warn(text, DeprecationWarning, stacklevel=2)
        return self.readout_

    def report(self) -> Report:
        """What was learned, in words and numbers."""
        check_is_fitted(self)
        return Report.of(self)

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)
        if "text/html" in bundle and hasattr(self, "fitted_"):
            bundle["text/html"] += self.report()._repr_html_()
        return bundle

    def save(self, path: str | Path) -> None:
        """Write the fitted estimator to a file that holds numbers and JSON, no code."""
        saving.save(self, path)
