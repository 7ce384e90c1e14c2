"""What all estimators share: data in, first layer, moments, readout, predictions out.

A subclass says how the first layer is learned (`_learn`); regression, classification and features
are mixins in onegrad.estimators.kinds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from onegrad.arrays import Floats, blas_threads, cores
from onegrad.data import Source, fold, source
from onegrad.data.encoding import Encoding, encoded
from onegrad.data.sample import Sample
from onegrad.data.table import is_table
from onegrad.errors import InvalidInput
from onegrad.estimators.fitted import Fitted, Spectrum, summary
from onegrad.estimators.lesson import (
    Lesson,
    Rows,
    Trial,
    chosen,
    gradient_outer_product,
    held_out,
)
from onegrad.estimators.passes import MomentsPass, SamplePass
from onegrad.estimators.report import Report
from onegrad.estimators.targets import Targets
from onegrad.layers.layer import Scaling
from onegrad.ridge import Moments, NormalEquations

FAR = 20.0  # standard deviations at which even the linear skip clips its inputs


class Network(BaseEstimator):  # type: ignore[misc]
    """A first layer learned on a sample of rows, a readout fitted on all of them."""

    fitted_: Fitted

    # -- what subclasses and mixins say --------------------------------------------------------

    def _learn(
        self, lesson: Lesson, scaling: Scaling, rng: np.random.Generator
    ) -> tuple[Trial, list[Trial]]:
        """The untrained layer's trial, and all trials."""
        raise NotImplementedError

    def _targets(self, sample: Sample) -> Targets:
        raise NotImplementedError

    def _check_parameters(self) -> None:
        raise NotImplementedError

    @property
    def _collects_labels(self) -> bool:
        return False

    # -- fitting -------------------------------------------------------------------------------

    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, client: Any = None,
        progress: Any = None,
    ) -> Self:  # fmt: skip
        """Learn the first layer, then the readout.

        Parameters
        ----------
        X : matrix of inputs; or a source of any size (see onegrad.data.source), a Dask array or
            dataframe, whose rows are read block by block.
        y : targets; None where X is a source that names them.
        sample_weight : weights of the rows.
        client : a dask.distributed Client whose workers make the passes over the data.
        progress : called with (parts done, parts) during a pass.
        """
        self._check_parameters()
        data = self._source(X, y, sample_weight, reset=True)
        seed = int(check_random_state(self.random_state).randint(2**31))
        jobs = 1 if data.once or self.n_jobs is None else self.n_jobs
        how: dict[str, Any] = {"client": client, "jobs": jobs, "progress": progress}
        head, whole = data.with_head(self.sample_rows)
        drawn = fold(SamplePass(self.sample_rows, seed, self._collects_labels), head.parts, **how)
        if not len(drawn.y):
            raise InvalidInput("all weights are zero: there are no rows to learn from")
        threads = cores()
        with blas_threads(1):  # kinks lie on rows: the rounding of a product can move the layer
            fitted, lesson, pass_ = self._first_layer(drawn, seed, threads)
        fitted = replace(fitted, moments=fold(pass_, whole.parts, **how))
        self._settle(_completed(fitted, lesson))
        return self

    def _first_layer(
        self, drawn: Sample, seed: int, threads: int
    ) -> tuple[Fitted, Lesson, MomentsPass]:
        """Everything that is learned from the sample alone; moments are still empty."""
        encoding = Encoding.of(drawn.X) if is_table(drawn.X) else None
        x = np.ascontiguousarray(encoded(drawn.X, encoding))  # one order of sums for all sources
        self._remember_columns(drawn, encoding)
        targets = self._targets(drawn)
        standard = getattr(self, "inputs", "standard") == "standard"
        scaling = Scaling.standard(x, drawn.w, FAR) if standard else Scaling.identity(x.shape[1])
        rows = Rows(scaling(x), targets.encode(drawn.y), drawn.w)
        held = held_out(drawn.keys, drawn.w, self.hold_out if self._chooses() else 0.0)
        update, fit, used_up = self._split(drawn, held)
        lesson = Lesson(rows[update], rows[fit], rows[held], targets.loss, threads)
        first, trials = self._learn(lesson, scaling, np.random.default_rng(seed))
        best = chosen(trials, lesson.held.w)
        intercept = getattr(self, "intercept", True)
        untrained = NormalEquations.of(lesson.moments(first.layer), intercept)
        nothing = Moments(0, 0.0, *(np.zeros(0) for _ in range(5)))
        fitted = Fitted(
            layer=best.layer,
            targets=targets,
            encoding=encoding,
            moments=nothing,
            ridge=best.readout.ridge,
            intercept=intercept,
            metric=np.zeros((x.shape[1],) * 2),
            untrained=untrained.eigenvalues(),
            residuals=np.zeros((0, targets.outputs)),
            choice={
                **best.label,
                "relative_ridge": best.ridge,
                "held_out_rows": int(held.sum()),
                "held_out_score": best.score,
                "sample_rows": len(drawn.y),
            },
            trials=tuple(summary(trials)),
        )
        pass_ = MomentsPass(best.layer, targets, encoding, seed, used_up, self.device)
        return fitted, lesson, pass_

    def _chooses(self) -> bool:
        """Whether there is anything to choose on held-out rows."""
        return True

    def _split(self, drawn: Sample, held: Any) -> tuple[Any, Any, int]:
        """Masks of the rows of the update and of the readout, and the key below which rows go."""
        return ~held, ~held, 0

    def _remember_columns(self, drawn: Sample, encoding: Encoding | None) -> None:
        if encoding is not None:
            self.feature_names_in_ = np.array(encoding.names, dtype=object)
            self.n_features_in_ = len(encoding.names)
        else:
            self.n_features_in_ = drawn.X.shape[1]

    def _source(self, X: Any, y: Any, sample_weight: Any, reset: bool) -> Source:
        """X as a source; matrices are validated as scikit-learn does."""
        if isinstance(X, Source | str | Path) or type(X).__module__.startswith("dask"):
            if reset and hasattr(self, "feature_names_in_"):
                del self.feature_names_in_
            return source(X, y, sample_weight)
        X, y = self._validated(X, y, reset)
        if sample_weight is not None:
            sample_weight = _check_sample_weight(
                sample_weight, X, dtype=np.float64, ensure_non_negative=True
            )
        return source(X, y, sample_weight)

    def _validated(self, X: Any, y: Any, reset: bool) -> tuple[Floats, Any]:
        raise NotImplementedError

    def _settle(self, fitted: Fitted) -> None:
        """Publish a state."""
        self.fitted_ = fitted
        self.n_rows_ = fitted.moments.rows
        self.choice_ = fitted.choice
        self.held_out_score_ = fitted.choice["held_out_score"]

    # -- rows come and go ----------------------------------------------------------------------

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Add rows. The first call learns the first layer; later ones change the readout only."""
        if not hasattr(self, "fitted_"):
            return self.fit(X, y, sample_weight)
        self._settle(
            self.fitted_.with_moments(self.fitted_.moments + self._moments(X, y, sample_weight))
        )
        return self

    def remove(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Take rows out of the readout, exactly; the first layer stays."""
        check_is_fitted(self)
        self._settle(
            self.fitted_.with_moments(self.fitted_.moments - self._moments(X, y, sample_weight))
        )
        return self

    def merge(self, other: Network) -> Self:
        """Add the rows of an estimator that has the same first layer (see `blank`)."""
        check_is_fitted(self)
        check_is_fitted(other)
        if type(other) is not type(self) or not _same_layer(self.fitted_, other.fitted_):
            raise InvalidInput(
                "merge needs an estimator with the same first layer: start it with blank()"
            )
        self._settle(self.fitted_.with_moments(self.fitted_.moments + other.fitted_.moments))
        return self

    def blank(self) -> Self:
        """A copy with the same first layer and no rows, to be filled by partial_fit."""
        check_is_fitted(self)
        from copy import copy

        twin = copy(self)
        twin._settle(self.fitted_.with_moments(self.fitted_.moments - self.fitted_.moments))
        return twin

    def _moments(self, X: Any, y: Any, sample_weight: Any) -> Moments:
        f = self.fitted_
        data = self._source(X, y, sample_weight, reset=False)
        return fold(MomentsPass(f.layer, f.targets, f.encoding, device=self.device), data.parts)

    # -- what was learned ----------------------------------------------------------------------

    @property
    def metric_(self) -> Floats:
        """(d, d) average gradient outer product of the fitted function in scaled inputs."""
        return self.fitted_.metric

    @property
    def feature_importances_(self) -> Floats:
        """Diagonal of the metric, scaled to sum one, in the order of `input_names_`."""
        diagonal = np.diag(self.fitted_.metric)
        total = diagonal.sum()
        return diagonal / total if total > 0 else np.zeros_like(diagonal)

    @property
    def input_names_(self) -> list[str]:
        """Names of the network's inputs: columns, or their categories."""
        if self.fitted_.encoding is not None:
            return list(self.fitted_.encoding.inputs)
        names = getattr(self, "feature_names_in_", None)
        return [f"x{j}" for j in range(self.n_features_in_)] if names is None else list(names)

    @property
    def spectrum_(self) -> Spectrum:
        """Eigenvalues of the features' covariance, learned and untrained, and the spikes."""
        return self.fitted_.spectrum

    @property
    def coef_(self) -> Floats:
        """(features, outputs) coefficients of the readout, for scaled targets."""
        return self.fitted_.readout.coef

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
        from onegrad.estimators.saving import save

        save(self, path)

    # -- predicting ----------------------------------------------------------------------------

    def _inputs(self, X: Any) -> Iterator[Floats]:
        """Blocks of numeric inputs."""
        check_is_fitted(self)
        encoding = self.fitted_.encoding
        if isinstance(X, Source | str | Path) or type(X).__module__.startswith("dask"):
            for block in source(X).blocks():
                x = encoded(block.X, encoding)
                if x.shape[1] != len(self.input_names_):
                    raise InvalidInput(
                        f"X has {x.shape[1]} columns; the model has {len(self.input_names_)}"
                    )
                yield x
        elif encoding is not None or is_table(X):
            yield encoded(_as_table(X), encoding)
        else:
            yield validate_data(self, X, reset=False, dtype=np.float64, **self._accepts)

    @property
    def _accepts(self) -> dict[str, Any]:
        return {}

    def _predict_targets(self, X: Any) -> Floats:
        return np.concatenate([self.fitted_.predict(x) for x in self._inputs(X)])

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "fitted_")


def _completed(fitted: Fitted, lesson: Lesson) -> Fitted:
    """The state with what needs the final readout: metric, held-out residuals, slope."""
    M = gradient_outer_product(lesson.update, fitted.layer, fitted.readout.coef)
    residuals = fitted.left_out(lesson.held)
    slope = 1.0
    if hasattr(fitted.targets, "slope") and len(residuals):
        held = lesson.held
        slope = fitted.targets.slope(held.t - residuals, held.t, held.w)
    return replace(fitted, metric=M, residuals=residuals, slope=slope)


def _same_layer(a: Fitted, b: Fitted) -> bool:
    pairs: tuple[tuple[Any, Any], ...] = (
        (a.layer.W, b.layer.W),
        (a.layer.b, b.layer.b),
        (a.layer.step, b.layer.step),
        (a.layer.scaling.centre, b.layer.scaling.centre),
        (a.layer.scaling.scale, b.layer.scaling.scale),
    )
    return all(np.array_equal(x, y) for x, y in pairs)


def _as_table(X: Any) -> Any:
    """A pandas frame, a dict of columns or an Arrow table as an Arrow table."""
    if is_table(X):
        return X
    import pyarrow as pa

    if isinstance(X, dict):
        return pa.table(X)
    if hasattr(X, "columns"):
        return pa.Table.from_pandas(X, preserve_index=False)
    raise InvalidInput("the model was fitted on named columns; give a table with their names")
