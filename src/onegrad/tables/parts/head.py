"""The head of a member: logistic regression on the inputs, where rows are few."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from onegrad.ridge import Readout
from onegrad.tables.fitting.training_set import TrainingSet
from onegrad.tables.model.targets import ClassTargets

MAX_LINEAR_ROWS, MAX_LINEAR_NUMBERS = 2000, 400_000  # up to which inputs alone are tried, too
MIN_CLASS_SHARE = 1e-3  # of a class that no row has


@dataclass(frozen=True)
class Head:
    """Readouts of the inputs: of rows that are not held out, and of all rows."""

    judged: Readout
    final: Readout


def scaled_readout(readout: Readout, factor: float) -> Readout:
    """Return the readout whose predictions are multiplied by a factor."""
    return replace(readout, coef=factor * readout.coef, intercept=factor * readout.intercept)


def linear_head(training_set: TrainingSet, neurons: int) -> Head | None:
    """Fit logistic regression on the inputs alone, where rows are so few that it may be as good.

    It has coefficients of zero for the neurons.
    """
    from sklearn.linear_model import LogisticRegression

    targets, n, inputs = training_set.targets, training_set.sample_rows, training_set.inputs
    small = n <= MAX_LINEAR_ROWS and n * inputs <= MAX_LINEAR_NUMBERS
    if not small or not isinstance(targets, ClassTargets):
        return None
    d, K = training_set.scaling.columns, targets.outputs
    readouts = []
    for rows in (training_set.fit, training_set.without_held_out.fit):
        label = rows.t.argmax(1) if K > 1 else rows.t[:, 0] > 0
        coef = np.zeros((inputs + neurons, K))
        intercept = np.full(K, np.log(MIN_CLASS_SHARE))
        if len(np.unique(label)) > 1:
            model = LogisticRegression(max_iter=500).fit(rows.z[:, :d], label, rows.w)
            seen = model.classes_.astype(int) if K > 1 else [0]
            unit = 1.0 if len(model.coef_) > 1 else 0.5  # one score for two classes
            coef[:d, seen[-len(model.coef_) :]] = unit * model.coef_.T
            intercept[seen[-len(model.coef_) :]] = unit * model.intercept_
        readouts.append(Readout(0.0, coef, intercept))
    return Head(*readouts)
