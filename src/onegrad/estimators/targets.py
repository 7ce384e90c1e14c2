"""What is predicted, as the numbers that ridge regression fits: scaled targets, or plus-minus one.

Both codings lie on a binary grid (see onegrad.ridge.moments), so that their moments are exact.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.optimize
import scipy.special

from onegrad.arrays import Floats
from onegrad.data.sample import Sample
from onegrad.data.table import Values
from onegrad.errors import InvalidInput
from onegrad.ridge import TARGET_BITS, grid, rounded


@dataclass(frozen=True)
class Numbers:
    """t = (y - centre) / scale on a grid; predictions stay between low and high."""

    centre: Floats
    scale: Floats
    low: Floats
    high: Floats
    step: Floats
    single: bool  # whether targets came as a vector

    @classmethod
    def of(cls, y: Values, w: Floats, scaled: bool) -> Numbers:
        """Mean, deviation and range of the targets; without scaling, y as it is and no bounds."""
        matrix = y.reshape(len(y), -1).astype(np.float64)
        K, single = matrix.shape[1], y.ndim == 1
        if not scaled:
            bound = np.full(K, np.inf)
            return cls(np.zeros(K), np.ones(K), -bound, bound, grid(matrix, TARGET_BITS), single)
        centre = w @ matrix / w.sum()
        deviation = np.sqrt(w @ (matrix - centre) ** 2 / w.sum())
        equal = deviation <= 1e-12 * np.maximum(np.abs(centre), np.finfo(float).tiny)
        step = np.full(K, 2.0**-TARGET_BITS)
        scale = np.where(equal, 1.0, deviation)
        return cls(centre, scale, matrix.min(0), matrix.max(0), step, single)

    @property
    def outputs(self) -> int:
        return len(self.centre)

    def encode(self, y: Values) -> Floats:
        """(n, K) scaled targets."""
        matrix = y if y.ndim > 1 else y[:, None]
        if matrix.shape[1] != self.outputs:
            raise InvalidInput(f"y has {matrix.shape[1]} outputs; the model has {self.outputs}")
        t: Floats = rounded((matrix.astype(np.float64) - self.centre) / self.scale, self.step)
        return t

    def decode(self, t: Floats) -> Floats:
        """Predictions in the units of y, (n,) or (n, K) as the targets came."""
        y = np.clip(t * self.scale + self.centre, self.low, self.high)
        return y[:, 0] if self.single else y

    def loss(self, t: Floats, target: Floats, w: Floats) -> Floats:
        """(m,) squared error of each row, in units of the targets' variance."""
        low, high = (self.low - self.centre) / self.scale, (self.high - self.centre) / self.scale
        square: Floats = ((np.clip(t, low, high) - target) ** 2).mean(1)
        return square


@dataclass(frozen=True)
class Classes:
    """Labels as +1 for the class and -1 for others; one column for two classes."""

    values: Values  # distinct labels in order

    @property
    def outputs(self) -> int:
        return len(self.values) if len(self.values) > 2 else 1

    def index(self, y: Values) -> np.ndarray[Any, np.dtype[np.intp]]:
        """The number of each label."""
        found = np.minimum(np.searchsorted(self.values, y), len(self.values) - 1)
        unknown = self.values[found] != y
        if np.any(unknown):
            known = ", ".join(map(str, self.values[:20]))
            raise InvalidInput(f"label {y[unknown][0]!r:.60} is not among the classes {known}")
        return found

    def encode(self, y: Values) -> Floats:
        index = self.index(y)
        if self.outputs == 1:
            return np.where(index == 1, 1.0, -1.0)[:, None]
        t = np.full((len(y), self.outputs), -1.0)
        t[np.arange(len(y)), index] = 1.0
        return t

    def decode(self, t: Floats) -> Values:
        """The most likely label."""
        index = (t[:, 0] > 0).astype(int) if self.outputs == 1 else t.argmax(1)
        labels: Values = self.values[index]
        return labels

    def log_probabilities(self, t: Floats, slope: float) -> Floats:
        """(n, classes) log softmax of slope * t."""
        logits = np.concatenate([-t, t], 1) if self.outputs == 1 else t
        value: Floats = scipy.special.log_softmax(slope * logits, axis=1)
        return value

    def loss(self, t: Floats, target: Floats, w: Floats) -> Floats:
        """(m,) log-loss of each row, at the slope that is best for all of them."""
        return self.log_loss(t, target, self.slope(t, target, w))

    def log_loss(self, t: Floats, target: Floats, slope: float) -> Floats:
        """(m,) minus the log-probability of the true class."""
        truth = target.argmax(1) if self.outputs > 1 else (target[:, 0] > 0).astype(int)
        loss: Floats = -self.log_probabilities(t, slope)[np.arange(len(t)), truth]
        return loss

    def slope(self, t: Floats, target: Floats, w: Floats) -> float:
        """The slope between 1/8 and 64 with the lowest log-loss."""
        result = scipy.optimize.minimize_scalar(
            lambda s: w @ self.log_loss(t, target, 2.0**s),
            bounds=(-3, 6),
            method="bounded",
            options={"xatol": 0.02},
        )
        return float(2.0**result.x)


Targets = Numbers | Classes


@dataclass(frozen=True)
class Goal:
    """How targets will be coded once a sample of rows is seen, and scaled where that is asked.

    `labels` says whether all distinct targets are collected on the way.
    """

    targets: Callable[[Sample, bool], Targets]
    labels: bool = False


def number_targets(sample: Sample, scaled: bool) -> Targets:
    if sample.y.dtype.kind not in "fiub":
        raise InvalidInput("the target is text: use a classifier")
    return Numbers.of(sample.y, sample.w, scaled)


def class_targets(sample: Sample, scaled: bool, declared: Values | None = None) -> Targets:
    """Of the labels that were seen, or of those that were declared before."""
    values = np.array(sorted(sample.labels)) if declared is None else declared
    if len(values) < 2:
        raise InvalidInput(
            f"classification needs at least 2 classes; the data have {len(values)} class"
        )
    return Classes(values)


def any_targets(sample: Sample, scaled: bool) -> Targets:
    if sample.y.dtype.kind in "fiub":
        return Numbers.of(sample.y, sample.w, scaled)
    return Classes(np.unique(sample.y))
