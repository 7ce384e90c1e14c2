"""Targets as the numbers that ridge regression fits: scaled, or plus and minus one for labels.

All of them lie on a binary grid (see onegrad.ridge.moments), so that their moments are exact.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
import scipy
import scipy.special

from onegrad.arrays import Floats
from onegrad.exceptions import InvalidInput
from onegrad.ridge import TARGET_BITS, grid_step, round_to_grid
from onegrad.tables.first_layer.scaling import weighted_mean_and_deviation
from onegrad.tables.rows.sample import RowKeys, Sample, effective_rows
from onegrad.tables.rows.table import Values

MAX_TARGET = 1e300  # largest size of a target
MAX_CLASS_WEIGHT = 1e50  # whose square, times one of the largest weights of rows, is finite
# mean and deviation of log2 slope before any row is seen: without them the log-loss over five folds
# of iris was 0.96 and of breast cancer 0.4, with them about 0.15 and 0.08
PRIOR_SLOPE = (1.5, 1.0)


@dataclass(frozen=True)
class NumericTargets:
    """t = (y - centre) / scale on a grid; predictions stay between the bounds.

    These are low and high, those of the rows that the scale was learned from, and targets beyond
    them of other rows, as long as these are in the model.
    """

    resolution: ClassVar[float] = 0.0  # smallest difference of mean losses that tells ridges apart
    centre: Floats
    scale: Floats
    low: Floats
    high: Floats
    step: Floats
    single: bool  # whether targets came as a vector
    far_keys: RowKeys = field(default_factory=lambda: np.zeros(0, np.uint64))  # of rows beyond
    far_y: Floats = field(default_factory=lambda: np.zeros((0, 1)))

    @classmethod
    def learn(cls, sample: Sample, scaled: bool) -> NumericTargets:
        """Take mean, deviation and range from rows; without scaling, y as it is and no bounds."""
        y, w = sample.y, sample.w
        if y.dtype.kind not in "fiub":
            raise InvalidInput("y", problem="the target is text; use a classifier")
        matrix = y.reshape(len(y), -1).astype(np.float64)
        K, single = matrix.shape[1], y.ndim == 1
        largest = MAX_TARGET if scaled else math.sqrt(MAX_TARGET)  # squares must be finite, too
        if np.abs(matrix).max(initial=0.0) > largest:
            raise InvalidInput("y", allowed=f"at most {largest:g} in size; found larger targets")
        if not scaled:
            bound, step = np.full(K, np.inf), grid_step(matrix, TARGET_BITS)
            return cls(np.zeros(K), np.ones(K), -bound, bound, step, single)
        centre, deviation = weighted_mean_and_deviation(matrix, w)
        # equal targets have a deviation of rounding, which is no scale
        equal = deviation <= 1e-12 * np.maximum(np.abs(centre), np.finfo(float).tiny)
        step = np.full(K, 2.0**-TARGET_BITS)
        scale = np.where(equal, 1.0, deviation)
        return cls(centre, scale, matrix.min(0), matrix.max(0), step, single)

    @property
    def outputs(self) -> int:
        return len(self.centre)

    def weighted(self, _t: Floats, w: Floats) -> Floats:
        """Return the weights of rows as they are: targets have none."""
        return w

    def encode(self, y: Values) -> Floats:
        """Return the (n, K) numbers that ridge fits."""
        if y.dtype.kind not in "fiub":
            raise InvalidInput("y", str(y.dtype), "numbers, as when fitted")
        matrix = y if y.ndim > 1 else y[:, None]
        if matrix.shape[1] != self.outputs:
            columns = f"{matrix.shape[1]} columns"
            raise InvalidInput("y", columns, f"{self.outputs} outputs, as when fitted")
        return round_to_grid((matrix.astype(np.float64) - self.centre) / self.scale, self.step)

    @property
    def bounds(self) -> tuple[Floats, Floats]:
        """(K,) smallest and largest predictions."""
        if not len(self.far_y):
            return self.low, self.high
        return np.minimum(self.low, self.far_y.min(0)), np.maximum(self.high, self.far_y.max(0))

    def widened(self, y: Floats, keys: RowKeys | None) -> NumericTargets:
        """Return the targets with bounds that also include the rows of y (n, K).

        Until rows with their keys are gone; without keys, for ever.
        """
        if keys is None:
            low, high = np.minimum(self.low, y.min(0)), np.maximum(self.high, y.max(0))
            return replace(self, low=low, high=high)
        far = ((y < self.low) | (y > self.high)).any(1)
        if not far.any():
            return self
        keys, first = np.unique(np.append(self.far_keys, keys[far]), return_index=True)
        far_y = np.concatenate([self.far_y.reshape(-1, self.outputs), y[far]])[first]
        return replace(self, far_keys=keys, far_y=far_y)

    def narrowed(self, keys: RowKeys) -> NumericTargets:
        """Return the targets with the bounds that are left by rows with these keys."""
        remaining = np.isin(self.far_keys, keys)
        return replace(self, far_keys=self.far_keys[remaining], far_y=self.far_y[remaining])

    def clipped(self, t: Floats) -> Floats:
        """Return predictions between the bounds, on the scale of the targets."""
        low, high = ((bound - self.centre) / self.scale for bound in self.bounds)
        return np.clip(t, low, high)

    def decode(self, t: Floats) -> Floats:
        """Return predictions in the units of y, (n,) or (n, K) as the targets came."""
        y = np.clip(t * self.scale + self.centre, *self.bounds)
        return y[:, 0] if self.single else y

    def loss(self, t: Floats, target: Floats, _w: Floats) -> Floats:
        """Return the (m,) squared errors, in units of the targets' variance."""
        return ((self.clipped(t) - target) ** 2).mean(1)

    def residual(self, t: Floats, target: Floats) -> Floats:
        """Return minus the (m, K) gradient in t of half the squared errors."""
        return target - t

    def link(self, _t: Floats, _target: Floats, _w: Floats) -> Link:
        """Return none: numbers have no probabilities."""
        return NO_LINK

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


@dataclass(frozen=True)
class Link:
    r"""The map from scores t to probabilities.

    .. math:: p = (1 - \epsilon)\,\mathrm{softmax}(s\,t) + \epsilon\,q, \qquad
              \epsilon = \frac1{m + 2}

    with equal q: m held-out rows do not support a probability nearer to 0 or 1.
    """

    slope: float  # s
    rows: float  # m; infinite where nothing is mixed in, for no rows were held out
    shares: Floats  # q, one per class or label

    def smooth(self, log_p: Floats) -> Floats:
        """Return log p for the logarithms of softmax(s t)."""
        epsilon = 1.0 / (self.rows + 2.0)
        if not epsilon:  # as they are, to the last bit
            return log_p
        return np.log((1.0 - epsilon) * np.exp(log_p) + epsilon * self.shares)


NO_LINK = Link(1.0, np.inf, np.zeros(0))  # that of numbers, which have no probabilities


def label_rows(w: Floats) -> float:
    """Return the number of labelled rows that weights stand for.

    A weight of two is two equal rows, as everywhere in scikit-learn; where weights are small
    shares, their effective number.
    """
    return max(float(w.sum()), effective_rows(w))


class LabelTargets(ABC):
    """Labels as plus and minus one; a logistic function turns scores into probabilities."""

    step: ClassVar[float] = 1.0  # the grid of plus and minus one
    resolution: ClassVar[float] = 1e-6  # of mean log-losses: rows of tiny weight decide nothing

    def log_loss(self, t: Floats, target: Floats, slope: float) -> Floats:
        """Return minus the (m,) log-probabilities of what is true, with nothing mixed in."""
        return self.smoothed_log_loss(t, target, Link(slope, np.inf, np.zeros(0)))

    @abstractmethod
    def correct(self, t: Floats, target: Floats) -> Floats:
        """Return for each row (m,) the share of its labels that is predicted correctly."""

    @abstractmethod
    def probabilities(self, t: Floats) -> Floats:
        """Return the (n, K) probabilities of slope 2, in the form of the targets."""

    def residual(self, t: Floats, target: Floats) -> Floats:
        """Return minus the (m, K) gradient in the logits 2 t of the log-losses of slope 2."""
        return np.asarray((target > 0) - self.probabilities(t), target.dtype)

    def clipped(self, t: Floats) -> Floats:
        """Return scores as they are: they have no bounds."""
        return t

    def weighted(self, _t: Floats, w: Floats) -> Floats:
        """Return the weights of rows with these labels."""
        return w

    def loss(self, t: Floats, target: Floats, w: Floats) -> Floats:
        """Return the (m,) log-losses, at the slope that is best for all rows."""
        return self.log_loss(t, target, self.slope(t, target, w))

    def slope(self, t: Floats, target: Floats, w: Floats) -> float:
        """Return the slope between 1/8 and 64 that is most likely after these rows.

        Rows that are all on the right side would make it infinite: the prior keeps it where few
        rows say nothing else.
        """
        result = scipy.optimize.minimize_scalar(
            lambda log2: self.posterior_loss(2.0**log2 * t, target, w, 2.0**log2),
            bounds=(-3, 6),
            method="bounded",
            options={"xatol": 0.02},
        )
        return float(2.0**result.x)

    def posterior_loss(self, logits: Floats, target: Floats, w: Floats, slope: float) -> float:
        """Return minus the logarithm of how likely logits are that a slope made, after these rows.

        The slope's logarithm is normal before any row is seen; for scores that are larger than
        labels, it is the logits' root mean square that counts.
        """
        mean, deviation = PRIOR_SLOPE
        size = max(slope, math.sqrt(np.mean(logits**2)), np.finfo(float).tiny)
        prior = 0.5 * ((math.log2(size) - mean) / deviation) ** 2
        return float(label_rows(w) * (w @ self.log_loss(logits, target, 1.0)) / w.sum() + prior)

    @abstractmethod
    def shares(self) -> Floats:
        """Return what is mixed in: the same for all, so that the likeliest stays the likeliest."""

    @abstractmethod
    def log_probabilities(self, t: Floats, link: Link) -> Floats:
        """Return the logarithms of the probabilities of each class or label."""

    def link(self, t: Floats, target: Floats, w: Floats) -> Link:
        """Return how scores become probabilities, from rows that the readout has not seen."""
        return Link(self.slope(t, target, w), label_rows(w), self.shares())

    def measures(self, t: Floats, target: Floats, w: Floats) -> dict[str, float]:
        """Return the accuracy, and the log-loss of the probabilities that these rows support."""
        loss = self.smoothed_log_loss(t, target, self.link(t, target, w))
        return {
            "accuracy": float(w @ self.correct(t, target) / w.sum()),
            "log-loss": float(w @ loss / w.sum()),
        }

    @abstractmethod
    def smoothed_log_loss(self, t: Floats, target: Floats, link: Link) -> Floats:
        """Return minus the (m,) log-probabilities that a link gives to what is true."""


# labels of one kind can be compared; the letters are NumPy's
LABEL_KINDS = dict.fromkeys("fiub", "numbers") | dict.fromkeys("UO", "text") | {"M": "dates"}


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
        kinds = [LABEL_KINDS.get(array.dtype.kind) for array in (self.values, y)]
        if y.ndim != 1 or kinds[0] != kinds[1]:
            raise InvalidInput("y", allowed=f"one label per row, all {kinds[0]}")
        index = np.minimum(np.searchsorted(self.values, y), len(self.values) - 1)
        unknown = self.values[index] != y
        if np.any(unknown):
            classes = ", ".join(map(str, self.values[:20]))
            (label,) = y[unknown][:1].tolist()
            raise InvalidInput("label", label, problem=f"it is not among the classes {classes}")
        return index

    def weighted(self, t: Floats, w: Floats) -> Floats:
        """Return the weights of rows with these labels: times those of their classes."""
        return w if self.weights is None else self.weights[self._number(t)] * w

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
        return self.values[self._number(t)]

    def _number(self, t: Floats) -> Any:
        return t.argmax(1) if self.outputs > 1 else (t[:, 0] > 0).astype(int)

    def log_probabilities(self, t: Floats, link: Link) -> Floats:
        """Return the (n, classes) logarithms of the probabilities."""
        x = link.slope * np.ascontiguousarray(t.T)  # (classes, n): sums over classes are then fast
        below = np.concatenate([-x, x]) if self.outputs == 1 else x
        below -= below.max(0)
        return link.smooth((below - np.log(np.exp(below).sum(0))).T)

    def smoothed_log_loss(self, t: Floats, target: Floats, link: Link) -> Floats:
        return -self.log_probabilities(t, link)[np.arange(len(t)), self._number(target)]

    def shares(self) -> Floats:
        return np.full(len(self.values), 1.0 / len(self.values))

    def probabilities(self, t: Floats) -> Floats:
        if self.outputs == 1:  # softmax of (-2t, 2t) where there is one score for two classes
            return scipy.special.expit(4 * t)
        return scipy.special.softmax(2 * t, axis=1)

    def correct(self, t: Floats, target: Floats) -> Floats:
        return self._number(t) == self._number(target)


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

    def log_probabilities(self, t: Floats, link: Link) -> Floats:
        """Return the (n, K) log-probabilities of each label by itself."""
        return link.smooth(scipy.special.log_expit(2 * link.slope * t))

    def log_loss(self, t: Floats, target: Floats, slope: float) -> Floats:
        return -scipy.special.log_expit(2 * slope * t * target).mean(1)

    def smoothed_log_loss(self, t: Floats, target: Floats, link: Link) -> Floats:
        p = np.exp(self.log_probabilities(t, link))
        return -np.log(np.where(target > 0, p, 1.0 - p)).mean(1)

    def shares(self) -> Floats:
        return np.full(self.outputs, 0.5)

    def probabilities(self, t: Floats) -> Floats:
        return scipy.special.expit(4 * t)

    def correct(self, t: Floats, target: Floats) -> Floats:
        return ((t > 0) == (target > 0)).mean(1)


Targets = NumericTargets | ClassTargets | MultilabelTargets


# -- before any row is seen ------------------------------------------------------------------------


@dataclass(frozen=True)
class LearningTask:
    """The kind of targets, before any row is seen."""

    targets: Callable[[Sample, bool], Targets]  # rows, whether to scale -> how targets are coded
    # distinct targets that the first pass collects, as they may be rare: "all", "text", or "": none
    labels: str = ""


def classification(class_weight: Any, classes: Values | None = None) -> LearningTask:
    """Return the task of predicting labels: those that are seen, or those declared before."""
    return LearningTask(partial(_class_targets, class_weight=class_weight, classes=classes), "all")


def _class_targets(
    sample: Sample, _scaled: bool, class_weight: Any, classes: Values | None
) -> Targets:
    if sample.y.ndim > 1:
        if class_weight is not None:
            raise InvalidInput("class_weight", problem="y has several labels per row; give None")
        return MultilabelTargets(sample.y.shape[1])
    labels = classes
    if labels is None:
        # those of some dates are numbers of nanoseconds; NumPy makes floats of large whole numbers
        dtype = sample.y.dtype if sample.y.dtype.kind in "Mu" else None
        labels = np.array(sorted(sample.labels), dtype)
        if labels.dtype.kind == "f" and np.abs(labels).max(initial=0.0) >= 2.0**53:
            problem = "some labels are numbers so large that floats merge them; give text"
            raise InvalidInput("y", problem=problem)
    if len(labels) < 2:
        problem = f"a classifier needs at least 2 classes; y has {len(labels)} class"
        raise InvalidInput("y", problem=problem)
    return ClassTargets(labels, class_weights(class_weight, labels, sample.labels))


def _any_targets(sample: Sample, scaled: bool) -> Targets:
    if sample.y.dtype.kind in "fiub":
        return NumericTargets.learn(sample, scaled)
    return ClassTargets(np.array(sorted(sample.labels)))


def class_weights(
    class_weight: Any, labels: Values, seen_weights: Mapping[Any, float]
) -> Floats | None:
    """Return (classes,) weights: by label, or "balanced", so that all classes weigh the same."""
    if class_weight is None:
        return None
    if isinstance(class_weight, str) and class_weight == "balanced":
        total = sum(seen_weights.values())
        each = [seen_weights.get(label, 0.0) * len(labels) for label in labels.tolist()]
        return np.array([total / weight if weight else 1.0 for weight in each])
    if not isinstance(class_weight, Mapping):
        allowed = 'None, "balanced" or a dict of weights by label'
        raise InvalidInput("class_weight", class_weight, allowed)
    for label in class_weight:
        if label not in labels.tolist():
            raise InvalidInput("class_weight", problem=f"{label!r:.40} is not a class")
    weights = np.array([class_weight.get(v, 1.0) for v in labels.tolist()], dtype=np.float64)
    if not ((weights >= 0) & (weights <= MAX_CLASS_WEIGHT)).all():
        allowed = f"not negative and at most {MAX_CLASS_WEIGHT:g}"
        raise InvalidInput("class_weight", class_weight, allowed)
    return weights


REGRESSION = LearningTask(NumericTargets.learn)
ANY_TARGETS = LearningTask(_any_targets, "text")  # numbers, or labels that are text
