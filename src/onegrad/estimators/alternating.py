r"""Ridge, first-layer update with the trained readout, ridge, and so on.

Two updates of the first layer, each from sums over rows that the readout was fitted on:

* the **metric**: :math:`W = W_0 M^{1/2}` with the average gradient outer product
  :math:`M = \frac1n\sum_i \nabla f(x_i)\,\nabla f(x_i)^\top` of the fitted function, full or
  diagonal;
* the **gradient step**: :math:`W \leftarrow W + s\,\frac{\|W\|}{\|G\|}\,G` with the gradient G of
  the loss, for classification.

Each is repeated from the untrained layer as long as held-out rows agree; the best layer met wins. A
share of the neurons looks at a single input each, drawn by its importance (the diagonal of M):
what trees see at once and directions in general position do not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.special

from onegrad.activations import Function
from onegrad.estimators.lesson import (
    Draw,
    Lesson,
    Trial,
    data_biases,
    gradient_outer_product,
    try_layer,
)
from onegrad.stream.layer import Layer, Scaling, clipped
from onegrad.stream.statistics import Floats

FLOOR = 1e-8  # least eigenvalue of a metric of trace d: no input is lost for good
STEPS = (0.3, 1.0)  # relative lengths of the gradient step
POWER = 0.5  # of the metric, round by round
POWERS = (0.35, 0.5, 0.75, 1.0)  # tried at the end
AXIS_SHARES = (0.0, 0.5)  # of neurons, likewise
PATIENCE = 4  # rounds without improvement after which a chain ends


@dataclass(frozen=True)
class Metric:
    """M^p, made of the full matrix or of its diagonal."""

    M: Floats
    diagonal: bool
    power: float

    @property
    def importance(self) -> Floats:
        """Diagonal of M, scaled to sum one."""
        share: Floats = np.diag(self.M) / np.trace(self.M)
        return share

    @cached_property
    def root(self) -> Floats:
        """M^p of the metric scaled to trace d; no eigenvalue is zero."""
        d = len(self.M)
        M = np.diag(np.diag(self.M)) if self.diagonal else self.M
        values, V = np.linalg.eigh(M * (d / np.trace(M)))
        root: Floats = (V * (np.maximum(values, 0.0) + FLOOR) ** self.power) @ V.T
        root *= np.sqrt(d / (root * root).sum())
        return root


@dataclass(frozen=True)
class Recipe:
    """What is fixed before the rounds: the draw, the untrained layer, sizes."""

    draw: Draw
    scaling: Scaling
    activation: Function
    bound: float
    skip: bool
    axis_share: float
    rounds: int

    def layer(self, lesson: Lesson, metric: Metric | None, axis_share: float) -> Layer:
        """The layer W_0 M^p, part of it axis-aligned, with biases placed at rows."""
        N, d = self.draw.W0.shape
        root = None if metric is None else metric.root
        W = self.draw.W0 / np.sqrt(d)
        if root is not None:
            W = W @ root
        along = round(axis_share * N) if d > 1 else 0
        share = np.full(d, 1.0 / d) if metric is None else metric.importance
        column = np.searchsorted(np.cumsum(share), self.draw.column[:along], side="right")
        W[:along] = 0.0
        W[np.arange(along), np.minimum(column, d - 1)] = self.draw.sign[:along]
        return self.placed(lesson, W)

    def placed(self, lesson: Lesson, W: Floats) -> Layer:
        b = data_biases(W, lesson, self.draw.place, self.bound)
        return Layer(self.scaling, W, b, self.activation, self.skip, self.bound)


def learn(
    lesson: Lesson, recipe: Recipe, kinds: tuple[str, ...], ridge: float | None
) -> list[Trial]:
    """All trials, the untrained layer first; the lowest score is the choice."""
    untrained = recipe.layer(lesson, None, recipe.axis_share)
    first = try_layer(lesson, untrained, ridge=ridge, label={"update": "none", "round": 0})
    trials = [first]
    if len(lesson.held):
        for kind in kinds:
            trials += _chain(lesson, recipe, kind, first, ridge)
        if recipe.rounds:
            trials += _variations(lesson, recipe, min(trials, key=lambda t: t.score), ridge)
    return trials


def _chain(
    lesson: Lesson, recipe: Recipe, kind: str, first: Trial, ridge: float | None
) -> Iterator[Trial]:
    """Rounds of one kind of update, until held-out rows say that it no longer helps."""
    update = UPDATES[kind]
    current, lowest, waited = first, first.score, 0
    for round_ in range(1, recipe.rounds + 1):
        candidates = [
            try_layer(
                lesson,
                layer,
                ridge=ridge,
                start=current.ridge,
                label={"update": kind, "round": round_, **label},
                origin=metric,
            )
            for layer, label, metric in update(lesson, recipe, current)
        ]
        if not candidates:
            return
        yield from candidates
        current = min(candidates, key=lambda trial: trial.score)
        waited = 0 if current.score < lowest else waited + 1
        lowest = min(lowest, current.score)
        if waited == PATIENCE:
            return


def _variations(
    lesson: Lesson, recipe: Recipe, best: Trial, ridge: float | None
) -> Iterator[Trial]:
    """The best layer with other powers of its metric, then with other shares of axis neurons."""
    metric = best.origin if isinstance(best.origin, Metric) else None
    if metric is not None:
        for power in [p for p in POWERS if p != metric.power]:
            changed = Metric(metric.M, metric.diagonal, power)
            layer = recipe.layer(lesson, changed, recipe.axis_share)
            label = {**best.label, "power": power}
            trial = try_layer(
                lesson, layer, ridge=ridge, start=best.ridge, label=label, origin=changed
            )
            yield trial
            if trial.score < best.score:
                best, metric = trial, changed
    elif best.label["update"] != "none":
        return
    for share in AXIS_SHARES:
        layer = recipe.layer(lesson, metric, share)
        label = {**best.label, "axis_share": share}
        yield try_layer(lesson, layer, ridge=ridge, start=best.ridge, label=label, origin=metric)


Candidates = Iterator[tuple[Layer, dict[str, Any], Metric | None]]


def _metric(lesson: Lesson, recipe: Recipe, trial: Trial) -> Candidates:
    M = gradient_outer_product(lesson.update, trial.layer, trial.eager.coef)
    if M.any():
        metric = Metric(M, diagonal=False, power=POWER)
        yield recipe.layer(lesson, metric, recipe.axis_share), {}, metric


def _diagonal_metric(lesson: Lesson, recipe: Recipe, trial: Trial) -> Candidates:
    M = gradient_outer_product(lesson.update, trial.layer, trial.eager.coef)
    if M.any():
        metric = Metric(M, diagonal=True, power=POWER)
        yield recipe.layer(lesson, metric, recipe.axis_share), {}, metric


def _gradient(lesson: Lesson, recipe: Recipe, trial: Trial) -> Candidates:
    G = loss_gradient(lesson, trial)
    length = np.linalg.norm(G)
    if length > 0:
        W = trial.layer.W
        for step in STEPS:
            moved = W + step * np.linalg.norm(W) / length * G
            yield recipe.placed(lesson, moved), {"step": step}, None


UPDATES: dict[str, Callable[[Lesson, Recipe, Trial], Candidates]] = {
    "metric": _metric,
    "diagonal metric": _diagonal_metric,
    "gradient": _gradient,
}


def loss_gradient(lesson: Lesson, trial: Trial) -> Floats:
    r"""(N, d) minus the gradient of the logistic loss in W.

    .. math:: G = \frac1n \sum_i \big[(A r_i) \odot \sigma'(W z_i + b)\big] z_i^\top,
              \qquad r_i = 1_{y_i} - \mathrm{softmax}(2 f(z_i))
    """
    layer, readout = trial.layer, trial.readout
    a = readout.coef[layer.width - len(layer.W) :]  # the neurons' part, (N, K)
    G: Floats = np.zeros_like(layer.W)
    for rows in lesson.update.blocks():
        f = layer.of_scaled(rows.z) @ readout.coef + readout.intercept
        if f.shape[1] == 1:
            r = (rows.t > 0) - scipy.special.expit(4 * f)  # softmax of (-2f, 2f)
        else:
            r = (rows.t > 0) - scipy.special.softmax(2 * f, axis=1)
        slopes = layer.activation.derivative(layer.preactivations(rows.z))
        G += ((r * rows.w[:, None]) @ a.T * slopes).T @ clipped(rows.z, layer.bound)
    G /= lesson.update.w.sum()
    return G
