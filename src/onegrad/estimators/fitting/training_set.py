"""What the first layer is learned from, and how a candidate for it is judged.

A lesson is a sample of rows, part of it held out. A candidate layer gets its readout from the other
rows and its score from the held-out ones, which no first-layer update has seen. The readout of the
final model is fitted on everything.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from onegrad.arrays import Floats
from onegrad.data.encoding import Encoding
from onegrad.data.tally import RowKeys
from onegrad.estimators.fitting.fit_progress import Watch
from onegrad.estimators.model.targets import Targets
from onegrad.layers.layer import Layer
from onegrad.layers.rows import FEATURE_BLOCK_ROWS, ScaledRows
from onegrad.layers.scaling import Scaling
from onegrad.ridge import Factor, NormalEquations, Readout

DECADES = range(-9, 2)  # exponents of the relative ridges that are tried
START = 1e-3  # where their search begins
EAGER = 1e-2  # largest relative ridge of the readout that first-layer updates look at
NO_CHOICE = 1e-2  # relative ridge where there are no held-out rows to choose it


Mask = np.ndarray[Any, np.dtype[np.bool_]]


@dataclass(frozen=True)
class Lesson:
    """A sample of rows as numbers, and how the numbers were made.

    Parameters
    ----------
    update, fit, held : rows of the first-layer update, of the readout, and those held out; the
        first two are the same unless the readout was asked to be fitted on fresh ones.
    encoding, scaling, targets : table -> x (None for matrices), x -> z, y -> t and its loss.
    used_up : key below which rows are left out of the readout of the final model, too.
    threads : that add up moments.
    watch : who is told of trials, and may have had enough of them.
    """

    update: ScaledRows
    fit: ScaledRows
    held: ScaledRows
    encoding: Encoding | None
    scaling: Scaling
    targets: Targets
    used_up: int
    threads: int
    watch: Watch = field(default_factory=Watch)

    @property
    def inputs(self) -> int:
        return int(self.update.z.shape[1])

    def losses(self, predicted: Floats) -> Floats:
        """(m,) of the held-out rows, for predictions (m, K) on the scale of the targets."""
        return self.targets.loss(predicted, self.held.t, self.held.w)

    def score(self, losses: Floats) -> float:
        """The mean loss of the held-out rows, which the best choice makes least."""
        w = self.held.w
        return float(w @ losses / w.sum()) if len(w) else np.nan

    def gridded(self, layer: Layer) -> Layer:
        """The layer with the grid of its features on the readout's first rows."""
        return layer.with_grid(self.fit.z[:FEATURE_BLOCK_ROWS])

    def equations(self, layer: Layer, intercept: bool) -> NormalEquations:
        """Of the readout's rows, for a layer with a grid."""
        moments = layer.scaled_moments(self.fit, self.threads)
        return NormalEquations.of(moments, intercept, overwrite=True)


@dataclass(frozen=True)
class Search:
    """How a candidate's ridge is found: given (absolute), or by decades from `start` (relative).

    `fine` looks at half decades beside the best one, too.
    """

    ridge: float | None = None
    start: float = START
    intercept: bool = True
    fine: bool = False

    def best(self, score: Callable[[float], float], scale: float, held: bool) -> float:
        """The relative ridge; where no rows are held out, none is preferred."""
        if self.ridge is not None:
            return self.ridge / scale
        return lowest_decade(score, self.start, self.fine) if held else NO_CHOICE


@dataclass(frozen=True)
class Judged:
    """What held-out rows say of one ridge; the score is the mean of their losses."""

    score: float
    losses: Floats
    predicted: Floats
    readout: Readout
    factor: Factor


@dataclass(frozen=True)
class Trial:
    """A layer with the readout of its best ridge; `ridge` is relative to the features' scale.

    `eager` is the readout that first-layer updates look at: it follows the data more closely where
    the best ridge is large, because a function that is shrunk to nothing has no gradient to learn
    from.
    """

    layer: Layer
    readout: Readout
    eager: Readout
    ridge: float
    score: float
    losses: Floats  # of the held-out rows; the score is their mean
    predicted: Floats  # (m, K) for the held-out rows
    label: Mapping[str, Any]
    worth: Floats | None = None  # (N,) what the loss would grow by without a neuron, where asked

    @property
    def summary(self) -> dict[str, Any]:
        """What was tried and how held-out rows judged it."""
        return {**self.label, "ridge": self.ridge, "score": self.score}


def try_layer(
    lesson: Lesson, layer: Layer, search: Search, label: Mapping[str, Any], worth: bool = False
) -> Trial:
    """Fit the readout without the held-out rows, score it on them, ridge by ridge."""
    layer = lesson.gridded(layer)
    equations = lesson.equations(layer, search.intercept)
    held = lesson.held
    F = layer.features(held.z)

    @cache
    def judge(relative: float) -> Judged:
        factor = equations.factor(relative * equations.scale)
        readout = equations.solve(relative * equations.scale, factor)
        predicted = F @ readout.coef + readout.intercept
        losses = lesson.losses(predicted) if len(held) else np.zeros(0)
        return Judged(lesson.score(losses), losses, predicted, readout, factor)

    ridge = search.best(lambda relative: judge(relative).score, equations.scale, len(held) > 0)
    best, eager = judge(ridge), judge(min(ridge, EAGER))
    neurons = equations.removal_cost(best.readout, best.factor)[-len(layer.W) :] if worth else None
    judged = best.score, best.losses, best.predicted
    lesson.watch.tried(best.score)
    return Trial(layer, best.readout, eager.readout, ridge, *judged, label, neurons)


@dataclass(frozen=True)
class Learned:
    """The first layer of one network: untrained, everything that was tried, what was chosen."""

    untrained: Layer
    trials: Sequence[Trial]
    best: Trial


def lowest(trials: Sequence[Trial]) -> Trial:
    """The trial of lowest score."""
    return min(trials, key=lambda trial: trial.score)


def chosen(trials: Sequence[Trial], w: Floats) -> Trial:
    """The trial of lowest score, or the first where the gain over it is within its noise.

    The noise is one standard error of the mean difference of the held-out rows' losses.
    """
    if not len(w):
        return trials[0]
    first, best = trials[0], lowest(trials)
    share = w / w.sum()
    gain = first.losses - best.losses
    mean = share @ gain
    error = np.sqrt((share**2) @ (gain - mean) ** 2)
    return best if mean > error else first


def lowest_decade(score: Callable[[float], float], start: float, fine: bool = False) -> float:
    """Walk over powers of ten from `start` while a neighbour is better; the best one.

    Where it is to be fine, the best of that one and the half decades beside it.
    """
    k = min(max(round(np.log10(start)), DECADES[0]), DECADES[-1])
    while True:
        around = [j for j in (k, k - 1, k + 1) if j in DECADES]
        best = min(around, key=lambda j: score(10.0**j))
        if best == k:
            break
        k = best
    halves = [k + h for h in (-0.5, 0.5) if fine and DECADES[0] < k + h < DECADES[-1]]
    return float(10.0 ** min([k, *halves], key=lambda j: score(10.0**j)))


def held_out(keys: RowKeys, w: Floats, share: float) -> Mask:
    """Mask of the rows of largest key whose weights make up `share`; never all rows.

    Keys are hashes in increasing order, so these are random rows that depend on nothing else.
    """
    above = np.cumsum(w[::-1])[::-1] - 0.5 * w  # weight above the middle of each row
    mask: Mask = above < share * w.sum()
    mask[0] = False
    return mask
