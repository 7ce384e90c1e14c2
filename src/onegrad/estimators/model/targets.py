"""What is predicted, as the numbers that ridge regression fits: scaled targets, or plus-minus one.

Both codings lie on a binary grid (see onegrad.ridge.moments), so that their moments are exact.
"""

from __future__ import annotations

import math
from collections.abc import Callable
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
        most = MAX_TARGET if scaled else math.sqrt(MAX_TARGET)  # sums of squares are numbers, too
        if np.abs(matrix).max(initial=0.0) > most:
            raise InvalidInput("y", allowed=f"at most {most:g} in size; found larger targets")
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

    def weighted(self, y: Values, w: Floats | None) -> Floats | None:
        """The weights of rows with these targets: as they are."""
        return w

    def encode(self, y: Values) -> Floats:
        """(n, K) scaled targets."""
        if y.dtype.kind not in "fiub":
            raise InvalidInput("y", str(y.dtype), "numbers, as when fitted")
        matrix = y if y.ndim > 1 else y[:, None]
        if matrix.shape[1] != self.outputs:
            raise InvalidInput(
                "y", f"{matrix.shape[1]} columns", f"{self.outputs} outputs, as when fitted"
            )
        t: Floats = round_to_grid((matrix.astype(np.float64) - self.centre) / self.scale, self.step)
        return t

    def widened(self, low: Floats, high: Floats) -> Numbers:
        """With bounds that leave room for targets between these, too."""
        return replace(self, low=np.minimum(self.low, low), high=np.maximum(self.high, high))

    def clipped(self, t: Floats) -> Floats:
        """Predictions between the bounds, on the scale of the targets."""
        low, high = (self.low - self.centre) / self.scale, (self.high - self.centre) / self.scale
        inside: Floats = np.clip(t, low, high)
        return inside

    def decode(self, t: Floats) -> Floats:
        """Predictions in the units of y, (n,) or (n, K) as the targets came."""
        y = np.clip(t * self.scale + self.centre, self.low, self.high)
        return y[:, 0] if self.single else y

    def loss(self, t: Floats, target: Floats, w: Floats) -> Floats:
        """(m,) squared error of each row, in units of the targets' variance."""
        square: Floats = ((self.clipped(t) - target) ** 2).mean(1)
        return square

    def slope(self, t: Floats, target: Floats, w: Floats) -> float:
        """Numbers have no probabilities."""
        return 1.0

    def measures(self, t: Floats, target: Floats, w: Floats) -> dict[str, float]:
        """R2, the mean over outputs, and for one output the root mean squared error."""
        share = w / w.sum()
        square = share @ (t - target) ** 2
        spread = share @ (target - share @ target) ** 2
        found = {}
        if (spread > 0).all():
            found["R2"] = float(np.mean(1 - square / spread))
        if self.outputs == 1:
            found["RMSE"] = float(np.sqrt(square[0]) * self.scale[0])
        return found


@dataclass(frozen=True)
class Classes:
    """Labels as +1 for the class and -1 for others; one column for two classes."""

    values: Values  # distinct labels in order
    weights: Floats | None = None  # of each class, beside those of rows

    @property
    def outputs(self) -> int:
        return len(self.values) if len(self.values) > 2 else 1

    def index(self, y: Values) -> np.ndarray[Any, np.dtype[np.intp]]:
        """The number of each label."""
        text = self.values.dtype.kind in "UO"
        if y.ndim != 1 or text != (y.dtype.kind not in "fiub"):
            raise InvalidInput(
                "y", allowed=f"one label per row, all {'text' if text else 'numbers'}"
            )
        found = np.minimum(np.searchsorted(self.values, y), len(self.values) - 1)
        unknown = self.values[found] != y
        if np.any(unknown):
            known = ", ".join(map(str, self.values[:20]))
            raise InvalidInput(
                "label", y[unknown][0], problem=f"it is not among the classes {known}"
            )
        return found

    def weighted(self, y: Values, w: Floats | None) -> Floats | None:
        """The weights of rows with these labels: times those of their classes."""
        if self.weights is None:
            return w
        own: Floats = self.weights[self.index(y)]
        return own if w is None else own * w

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
        return best_slope(lambda slope: float(w @ self.log_loss(t, target, slope)))

    def share(self, f: Floats) -> Floats:
        """(n, K) probabilities of slope 2, in the form of the targets."""
        # softmax of (-2f, 2f) where there is one score for two classes
        p: Floats = (
            scipy.special.expit(4 * f)
            if self.outputs == 1
            else scipy.special.softmax(2 * f, axis=1)
        )
        return p

    def measures(self, t: Floats, target: Floats, w: Floats) -> dict[str, float]:
        """Accuracy, and the log-loss at the best slope."""
        right = (t > 0) == (target > 0) if self.outputs == 1 else t.argmax(1) == target.argmax(1)
        return {
            "accuracy": float(w @ right.reshape(len(t)) / w.sum()),
            "log-loss": float(w @ self.loss(t, target, w) / w.sum()),
        }


@dataclass(frozen=True)
class Multilabel:
    """Several labels a row, each there (+1) or not (-1); one column a label."""

    outputs: int

    @property
    def values(self) -> Values:
        return np.arange(self.outputs)

    def weighted(self, y: Values, w: Floats | None) -> Floats | None:
        return w

    def encode(self, y: Values) -> Floats:
        """(n, K) plus or minus one."""
        if y.ndim != 2 or y.shape[1] != self.outputs or not np.isin(y, (0, 1)).all():
            raise InvalidInput("y", allowed=f"a matrix of 0 and 1 with {self.outputs} columns")
        return np.where(np.asarray(y) == 1, 1.0, -1.0)

    def decode(self, t: Floats) -> Values:
        """(n, K) one for every label that is likelier there than not."""
        return (t > 0).astype(int)

    def log_probabilities(self, t: Floats, slope: float) -> Floats:
        """(n, K) of each label by itself."""
        value: Floats = scipy.special.log_expit(2 * slope * t)
        return value

    def loss(self, t: Floats, target: Floats, w: Floats) -> Floats:
        """(m,) mean log-loss of a row's labels, at the slope that is best for all of them."""
        return self.log_loss(t, target, self.slope(t, target, w))

    def log_loss(self, t: Floats, target: Floats, slope: float) -> Floats:
        """(m,) minus the mean log-probability of what is true of each label."""
        loss: Floats = -self.log_probabilities(t * target, slope).mean(1)
        return loss

    def slope(self, t: Floats, target: Floats, w: Floats) -> float:
        return best_slope(lambda slope: float(w @ self.log_loss(t, target, slope)))

    def share(self, f: Floats) -> Floats:
        """(n, K) probabilities of slope 2."""
        p: Floats = scipy.special.expit(4 * f)
        return p

    def measures(self, t: Floats, target: Floats, w: Floats) -> dict[str, float]:
        """Accuracy over all labels, and the log-loss at the best slope."""
        right = ((t > 0) == (target > 0)).mean(1)
        return {
            "accuracy": float(w @ right / w.sum()),
            "log-loss": float(w @ self.loss(t, target, w) / w.sum()),
        }


Targets = Numbers | Classes | Multilabel
MAX_TARGET = 1e300  # size of a target


def best_slope(loss: Callable[[float], float]) -> float:
    """The slope between 1/8 and 64 with the lowest loss."""
    result = scipy.optimize.minimize_scalar(
        lambda s: loss(2.0**s), bounds=(-3, 6), method="bounded", options={"xatol": 0.02}
    )
    return float(2.0**result.x)
