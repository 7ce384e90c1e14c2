"""Targets as the numbers that ridge regression fits: scaled, or plus and minus one for labels.

All of them lie on a binary grid (see onegrad.ridge.moments), so that their moments are exact.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.optimize
import scipy.special

from onegrad.arrays import Floats
from onegrad.data.table import Values
from onegrad.exceptions import InvalidInput
from onegrad.layers.scaling import weighted_mean_and_deviation
from onegrad.ridge import TARGET_BITS, grid_step, round_to_grid

MAX_TARGET = 1e300  # largest size of a target
MAX_LABELS_LISTED = 20  # classes that a message lists


@dataclass(frozen=True)
class NumericTargets:
    """t = (y - centre) / scale on a grid; predictions stay between low and high."""

    centre: Floats
    scale: Floats
    low: Floats
    high: Floats
    step: Floats
    single: bool  # whether targets came as a vector

    @classmethod
    def learn(cls, y: Values, w: Floats, scaled: bool) -> NumericTargets:
        """Take mean, deviation and range from rows; without scaling, y as it is and no bounds."""
        matrix = y.reshape(len(y), -1).astype(np.float64)
        K, single = matrix.shape[1], y.ndim == 1
        largest = MAX_TARGET if scaled else math.sqrt(MAX_TARGET)  # squares must be finite, too
        if np.abs(matrix).max(initial=0.0) > largest:
            raise InvalidInput("y", allowed=f"at most {largest:g} in size; found larger targets")
        if not scaled:
            bound = np.full(K, np.inf)
            return cls(
                np.zeros(K), np.ones(K), -bound, bound, grid_step(matrix, TARGET_BITS), single
            )
        centre, deviation = weighted_mean_and_deviation(matrix, w)
        equal = deviation <= 1e-12 * np.maximum(np.abs(centre), np.finfo(float).tiny)
        step = np.full(K, 2.0**-TARGET_BITS)
        scale = np.where(equal, 1.0, deviation)
        return cls(centre, scale, matrix.min(0), matrix.max(0), step, single)

    @property
    def outputs(self) -> int:
        return len(self.centre)

    def weighted(self, _y: Values, w: Floats | None) -> Floats | None:
        """Return the weights of rows with these targets: as they are."""
        return w

    def encode(self, y: Values) -> Floats:
        """Return the (n, K) numbers that ridge fits."""
        if y.dtype.kind not in "fiub":
            raise InvalidInput("y", str(y.dtype), "numbers, as when fitted")
        matrix = y if y.ndim > 1 else y[:, None]
        if matrix.shape[1] != self.outputs:
            columns = f"{matrix.shape[1]} columns"
            raise InvalidInput("y", columns, f"{self.outputs} outputs, as when fitted")
        t: Floats = round_to_grid((matrix.astype(np.float64) - self.centre) / self.scale, self.step)
        return t

    def widened(self, y: Floats) -> NumericTargets:
        """Return the targets with bounds that leave room for the rows of y (n, K), too."""
        low, high = np.minimum(self.low, y.min(0)), np.maximum(self.high, y.max(0))
        return replace(self, low=low, high=high)

    def clipped(self, t: Floats) -> Floats:
        """Return predictions between the bounds, on the scale of the targets."""
        low, high = (self.low - self.centre) / self.scale, (self.high - self.centre) / self.scale
        inside: Floats = np.clip(t, low, high)
        return inside

    def decode(self, t: Floats) -> Floats:
        """Return predictions in the units of y, (n,) or (n, K) as the targets came."""
        y = np.clip(t * self.scale + self.centre, self.low, self.high)
        return y[:, 0] if self.single else y

    def loss(self, t: Floats, target: Floats, _w: Floats) -> Floats:
        """Return the (m,) squared errors, in units of the targets' variance."""
        square: Floats = ((self.clipped(t) - target) ** 2).mean(1)
        return square

    def slope(self, _t: Floats, _target: Floats, _w: Floats) -> float:
        """Return one: numbers have no probabilities."""
        return 1.0

    def measures(self, t: Floats, target: Floats, w: Floats) -> dict[str, float]:
        """Return R2, the mean over outputs, and for one output the root mean squared error."""
        share = w / w.sum()
        square = share @ (t - target) ** 2
        variance = share @ (target - share @ target) ** 2
        measures = {}
        if (variance > 0).all():
            measures["R2"] = float(np.mean(1 - square / variance))
        if self.outputs == 1:
            measures["RMSE"] = float(np.sqrt(square[0]) * self.scale[0])
        return measures


class LabelTargets(ABC):
    """Labels as plus and minus one; a logistic function turns scores into probabilities."""

    @abstractmethod
    def log_loss(self, t: Floats, target: Floats, slope: float) -> Floats:
        """Return minus the (m,) log-probabilities of what is true."""

    @abstractmethod
    def correct(self, t: Floats, target: Floats) -> Floats:
        """Return for each row (m,) the share of its labels that is predicted correctly."""

    def weighted(self, _y: Values, w: Floats | None) -> Floats | None:
        """Return the weights of rows with these labels."""
        return w

    def loss(self, t: Floats, target: Floats, w: Floats) -> Floats:
        """Return the (m,) log-losses, at the slope that is best for all rows."""
        return self.log_loss(t, target, self.slope(t, target, w))

    def slope(self, t: Floats, target: Floats, w: Floats) -> float:
        """Return the slope between 1/8 and 64 that makes the mean log-loss smallest."""
        result = scipy.optimize.minimize_scalar(
            lambda log2: w @ self.log_loss(t, target, 2.0**log2),
            bounds=(-3, 6),
            method="bounded",
            options={"xatol": 0.02},
        )
        return float(2.0**result.x)

    def measures(self, t: Floats, target: Floats, w: Floats) -> dict[str, float]:
        """Return the accuracy, and the log-loss at the best slope."""
        return {
            "accuracy": float(w @ self.correct(t, target) / w.sum()),
            "log-loss": float(w @ self.loss(t, target, w) / w.sum()),
        }


@dataclass(frozen=True)
class ClassTargets(LabelTargets):
    """One label per row: +1 for its class and -1 for others; one column for two classes."""

    values: Values  # distinct labels in order
    weights: Floats | None = None  # one per class; they multiply those of the rows

    @property
    def outputs(self) -> int:
        return len(self.values) if len(self.values) > 2 else 1

    def index(self, y: Values) -> np.ndarray[Any, np.dtype[np.intp]]:
        """Return the number of each label among the classes."""
        text = self.values.dtype.kind in "UO"
        if y.ndim != 1 or text != (y.dtype.kind not in "fiub"):
            kind = "text" if text else "numbers"
            raise InvalidInput("y", allowed=f"one label per row, all {kind}")
        index = np.minimum(np.searchsorted(self.values, y), len(self.values) - 1)
        unknown = self.values[index] != y
        if np.any(unknown):
            classes = ", ".join(map(str, self.values[:MAX_LABELS_LISTED]))
            label = y[unknown][0]
            raise InvalidInput("label", label, problem=f"it is not among the classes {classes}")
        return index

    def weighted(self, y: Values, w: Floats | None) -> Floats | None:
        """Return the weights of rows with these labels: times those of their classes."""
        if self.weights is None:
            return w
        of_class: Floats = self.weights[self.index(y)]
        return of_class if w is None else of_class * w

    def encode(self, y: Values) -> Floats:
        """Return (n, K) plus and minus ones."""
        index = self.index(y)
        if self.outputs == 1:
            return np.where(index == 1, 1.0, -1.0)[:, None]
        t = np.full((len(y), self.outputs), -1.0)
        t[np.arange(len(y)), index] = 1.0
        return t

    def decode(self, t: Floats) -> Values:
        """Return the most likely labels."""
        labels: Values = self.values[self._number(t)]
        return labels

    def _number(self, t: Floats) -> Any:
        return t.argmax(1) if self.outputs > 1 else (t[:, 0] > 0).astype(int)

    def log_probabilities(self, t: Floats, slope: float) -> Floats:
        """Return the (n, classes) log softmax of slope * t."""
        logits = np.concatenate([-t, t], 1) if self.outputs == 1 else t
        value: Floats = scipy.special.log_softmax(slope * logits, axis=1)
        return value

    def log_loss(self, t: Floats, target: Floats, slope: float) -> Floats:
        truth = self._number(target)
        loss: Floats = -self.log_probabilities(t, slope)[np.arange(len(t)), truth]
        return loss

    def probabilities(self, t: Floats) -> Floats:
        """Return the (n, K) probabilities of slope 2, in the form of the targets."""
        if self.outputs == 1:  # softmax of (-2t, 2t) where there is one score for two classes
            return np.asarray(scipy.special.expit(4 * t))
        return np.asarray(scipy.special.softmax(2 * t, axis=1))

    def correct(self, t: Floats, target: Floats) -> Floats:
        return np.asarray(self._number(t) == self._number(target))


@dataclass(frozen=True)
class MultilabelTargets(LabelTargets):
    """Several labels per row, each present (+1) or absent (-1); one column per label."""

    outputs: int

    @property
    def values(self) -> Values:
        return np.arange(self.outputs)

    def encode(self, y: Values) -> Floats:
        """Return (n, K) plus and minus ones."""
        if y.ndim != 2 or y.shape[1] != self.outputs or not np.isin(y, (0, 1)).all():
            raise InvalidInput("y", allowed=f"a matrix of 0 and 1 with {self.outputs} columns")
        return np.where(np.asarray(y) == 1, 1.0, -1.0)

    def decode(self, t: Floats) -> Values:
        """Return (n, K) ones for the labels that are more likely present than absent."""
        return (t > 0).astype(int)

    def log_probabilities(self, t: Floats, slope: float) -> Floats:
        """Return the (n, K) log-probabilities of each label by itself."""
        value: Floats = scipy.special.log_expit(2 * slope * t)
        return value

    def log_loss(self, t: Floats, target: Floats, slope: float) -> Floats:
        loss: Floats = -self.log_probabilities(t * target, slope).mean(1)
        return loss

    def probabilities(self, t: Floats) -> Floats:
        """Return the (n, K) probabilities of slope 2."""
        return np.asarray(scipy.special.expit(4 * t))

    def correct(self, t: Floats, target: Floats) -> Floats:
        correct: Floats = ((t > 0) == (target > 0)).mean(1)
        return correct


Targets = NumericTargets | ClassTargets | MultilabelTargets
