"""What the first layer is learned from, and how a candidate for it is judged.

A lesson is a sample of rows, part of it held out. A candidate layer gets its readout from the other
rows and its score from the held-out ones, which no first-layer update has seen. The readout of the
final model is fitted on everything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from onegrad.arrays import Floats
from onegrad.data.sample import Keys
from onegrad.layers.layer import BLOCK_ROWS, Layer, clipped, row_blocks
from onegrad.ridge import Factor, Moments, NormalEquations, Readout

DECADES = range(-9, 2)  # exponents of the relative ridges that are tried
START = -3  # where their search begins
EAGER = 1e-2  # largest relative ridge of the readout that first-layer updates look at
NO_CHOICE = -2  # relative ridge where there are no held-out rows to choose it


# predictions (m, K), targets (m, K) and weights (m,) to the loss of each row (m,)
Loss = Callable[[Floats, Floats, Floats], Floats]


Mask = np.ndarray[Any, np.dtype[np.bool_]]


@dataclass(frozen=True)
class Rows:
    """Scaled inputs z (m, d), coded targets t (m, K), weights w (m,)."""

    z: Floats
    t: Floats
    w: Floats

    @property
    def parts(self) -> tuple[Floats, Floats, Floats | None]:
        """z, t, w; None for weights that are all one."""
        return self.z, self.t, None if (self.w == 1).all() else self.w

    def __len__(self) -> int:
        return len(self.z)

    def __getitem__(self, rows: Any) -> Rows:
        return Rows(self.z[rows], self.t[rows], self.w[rows])

    def blocks(self) -> Iterator[Rows]:
        """A bounded number of rows at a time: features of all rows are never held at once."""
        return (self[rows] for rows in row_blocks(len(self)))


@dataclass(frozen=True)
class Lesson:
    """The rows of the first-layer update, of the readout, and those held out, with their loss.

    The first two are the same rows unless the readout was asked to be fitted on fresh ones.
    """

    update: Rows
    fit: Rows
    held: Rows
    loss: Loss
    threads: int = 1  # that add up moments

    def moments(self, layer: Layer) -> Moments:
        """Of the readout's rows."""
        return layer.scaled_moments(*self.fit.parts, threads=self.threads)

    @property
    def inputs(self) -> int:
        return int(self.update.z.shape[1])


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
    ridge: int | float
    score: float
    losses: Floats  # of the held-out rows; the score is their mean
    path: tuple[tuple[float, float], ...]  # (relative ridge, score)
    label: dict[str, Any] = field(default_factory=dict)
    worth: Floats | None = None  # (N,) what the loss would grow by without a neuron, where asked


def try_layer(
    lesson: Lesson,
    layer: Layer,
    *,
    intercept: bool = True,
    ridge: float | None = None,
    start: float = 10.0**START,
    label: dict[str, Any] | None = None,
    worth: bool = False,
) -> Trial:
    """Fit the readout without the held-out rows, score it on them, ridge by ridge.

    `ridge` fixes the penalty (absolute); otherwise decades around `start` (relative) are searched.
    """
    layer = layer.with_grid(layer.of_scaled(lesson.fit.z[:BLOCK_ROWS]))
    equations = NormalEquations.of(lesson.moments(layer), intercept)
    held = lesson.held
    F = layer.of_scaled(held.z)
    found: dict[float, tuple[float, Floats, Readout, Factor]] = {}

    def judge(relative: float) -> float:
        if relative not in found:
            factor = equations.factor(relative * equations.scale)
            readout = equations.solve(relative * equations.scale, factor)
            predicted = F @ readout.coef + readout.intercept
            losses = lesson.loss(predicted, held.t, held.w) if len(held) else np.zeros(0)
            score = float(held.w @ losses / held.w.sum()) if len(held) else np.nan
            found[relative] = (score, losses, readout, factor)
        return found[relative][0]

    if ridge is not None:
        best = ridge / equations.scale
        judge(best)
    elif not len(held):
        best = 10.0**NO_CHOICE
        judge(best)
    else:
        best = lowest_decade(judge, start)
    path = tuple((r, found[r][0]) for r in sorted(found))
    eager = min(best, EAGER)
    judge(eager)
    score, losses, readout, factor = found[best]
    neurons = equations.worth(readout, factor)[-len(layer.W) :] if worth else None
    return Trial(layer, readout, found[eager][2], best, score, losses, path, label or {}, neurons)


def chosen(trials: list[Trial], w: Floats) -> Trial:
    """The trial of lowest score, or the first where the gain over it is within its noise.

    The noise is one standard error of the mean difference of the held-out rows' losses.
    """
    if not len(w):
        return trials[0]
    first, best = trials[0], min(trials, key=lambda trial: trial.score)
    share = w / w.sum()
    gain = first.losses - best.losses
    mean = share @ gain
    error = np.sqrt((share**2) @ (gain - mean) ** 2)
    return best if mean > error else first


def lowest_decade(judge: Callable[[float], float], start: float) -> float:
    """Walk over powers of ten from `start` while a neighbour is better; the best one."""
    k = min(max(round(np.log10(start)), DECADES[0]), DECADES[-1])
    while True:
        around = [j for j in (k, k - 1, k + 1) if j in DECADES]
        best = min(around, key=lambda j: judge(10.0**j))
        if best == k:
            return float(10.0**k)
        k = best


def held_out(keys: Keys, w: Floats, share: float) -> Mask:
    """Mask of the rows of largest key whose weights make up `share`; never all rows.

    Keys are hashes in increasing order, so these are random rows that depend on nothing else.
    """
    above = np.cumsum(w[::-1])[::-1] - 0.5 * w  # weight above the middle of each row
    mask: Mask = above < share * w.sum()
    mask[0] = False
    return mask


def gradient_outer_product(rows: Rows, layer: Layer, coef: Floats) -> Floats:
    r"""(d, d) :math:`M = \frac1{\sum w}\sum_i w_i \sum_k \nabla f_k(z_i)\nabla f_k(z_i)^\top`."""
    M = np.zeros((rows.z.shape[1],) * 2)
    for block in rows.blocks():
        for g in layer.gradients(block.z, coef):
            g *= np.sqrt(block.w)[:, None]
            M += g.T @ g
    M /= rows.w.sum()
    return M


@dataclass(frozen=True)
class Draw:
    """The random numbers of a network: drawn once, so that candidates differ in what is learned.

    Parameters
    ----------
    W0 : (N, d) standard normal directions.
    place : (N,) in (0, 1): which row each neuron's bias is placed at.
    """

    W0: Floats
    place: Floats

    @classmethod
    def of(cls, width: int, inputs: int, rng: np.random.Generator) -> Draw:
        return cls(rng.standard_normal((width, inputs)), rng.random(width))

    def on_sphere(self) -> Draw:
        """The same directions with rows of length sqrt(d)."""
        lengths = np.linalg.norm(self.W0, axis=1, keepdims=True)
        return replace(self, W0=self.W0 * (np.sqrt(self.W0.shape[1]) / lengths))


def data_biases(W: Floats, lesson: Lesson, place: Floats, bound: float) -> Floats:
    r""":math:`b_i = -w_i\cdot z_{j(i)}`: every neuron switches at a row that was drawn for it."""
    above = np.cumsum(lesson.update.w)
    rows = np.minimum(np.searchsorted(above, place * above[-1], side="right"), len(above) - 1)
    biases: Floats = -(W * clipped(lesson.update.z[rows], bound)).sum(1)
    return biases
