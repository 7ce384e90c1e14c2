r"""The head: logistic regression on the inputs, for classes with few rows.

.. math:: h(z) = A^\top z + a_0
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from onegrad.arrays import Floats
from onegrad.tables.fitting.training_set import TrainingSet
from onegrad.tables.model.targets import ClassTargets
from onegrad.tables.parts.learner import FitSize, Learner, PartFit, Trial
from onegrad.tables.parts.part import ArraySpec, Part
from onegrad.tables.rows.sample import RowKeys

MAX_LINEAR_ROWS, MAX_LINEAR_NUMBERS = 2000, 400_000  # up to which inputs alone are tried, too
MIN_CLASS_SHARE = 1e-3  # of a class that no row has
MAX_LOGISTIC_STEPS = 500  # of L-BFGS


@dataclass(frozen=True)
class Head(Part):
    """A linear function of the scaled inputs."""

    coef: Floats  # (d, K)
    intercept: Floats  # (K,)

    def __call__(self, z: Floats, _: RowKeys | None = None) -> Floats:
        return z @ self.coef + self.intercept

    def scaled(self, factor: float) -> Head:
        return Head(factor * self.coef, factor * self.intercept)

    @property
    def products_per_row(self) -> int:
        return self.coef.size

    @classmethod
    def specs(cls, _: Mapping[str, Any]) -> dict[str, ArraySpec]:
        return {"coef": ArraySpec("inputs outputs"), "intercept": ArraySpec("outputs")}


@dataclass(frozen=True)
class LogisticRegression(Learner):
    """scikit-learn's, on the first scale of the inputs, where it may be as good as neurons."""

    # its logits maximise the penalised likelihood of all rows; chosen on folds of iris, wine and
    # breast cancer
    share_of_few: ClassVar[float] = 2 / 3

    @classmethod
    def of(cls, size: FitSize) -> LogisticRegression | None:
        """Return how it is learned: for labels, where there are few numbers."""
        numbers = size.rows * size.copies * size.inputs
        small = size.rows <= MAX_LINEAR_ROWS and numbers <= MAX_LINEAR_NUMBERS
        return cls() if size.labels and small else None

    def trials(self, fit: PartFit) -> Iterator[Trial]:
        if isinstance(fit.training_set.targets, ClassTargets):
            judged = logistic_regression(fit.training_set)
            rows = fit.training_set.without_held_out
            yield Trial(judged(fit.judged.held_out.z), judged, lambda: [logistic_regression(rows)])


def logistic_regression(training_set: TrainingSet) -> Head:
    """Fit logistic regression on the rows that are not held out; one score for two classes."""
    from sklearn import linear_model

    rows, K = training_set.fit, training_set.targets.outputs
    d = training_set.scaling.columns
    label = rows.t.argmax(1) if K > 1 else rows.t[:, 0] > 0
    head = Head(np.zeros((training_set.inputs, K)), np.full(K, np.log(MIN_CLASS_SHARE)))
    if len(np.unique(label)) > 1:
        model = linear_model.LogisticRegression(max_iter=MAX_LOGISTIC_STEPS)
        model.fit(rows.z[:, :d], label, rows.w)
        seen = model.classes_.astype(int) if K > 1 else [0]
        unit = 1.0 if len(model.coef_) > 1 else 0.5
        head.coef[:d, seen[-len(model.coef_) :]] = unit * model.coef_.T
        head.intercept[seen[-len(model.coef_) :]] = unit * model.intercept_
    return head
