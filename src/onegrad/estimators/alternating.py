r"""Ridge, first-layer update with the trained readout, ridge, and so on.

A round of the update looks at the fitted function f and at what it leaves unexplained:

1. the metric :math:`M = \frac1n\sum_i \nabla f(x_i)\,\nabla f(x_i)^\top` says in which directions f
   varies;
2. the neurons whose removal would cost most stay: :math:`|a_i|^2/[(G+\lambda)^{-1}]_{ii}` is what
   the penalised loss grows by without neuron i;
3. the others make room for new ones, drawn with the metric in several ways
   (:mod:`onegrad.estimators.neurons`); of every few entrants the one that goes best with the
   residual comes in.

For classification the best layer then makes a few gradient steps on the logistic loss,
:math:`W \leftarrow W + s\,\frac{\|W\|}{\|G\|}\,G`. Everything is judged on held-out rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import scipy.special

from onegrad.arrays import Floats
from onegrad.estimators.lesson import Lesson, Trial, gradient_outer_product, try_layer
from onegrad.estimators.neurons import Ground, Metric, Neurons
from onegrad.functions.function import Function
from onegrad.layers.layer import Layer, Scaling, clipped

KEPT = 0.4  # share of the neurons that stays in a round
ENTRANTS = 4  # new neurons that compete for a place
NARROW = 4  # one in so many rounds is made at half the width, before the others
PATIENCE = 4  # rounds without improvement after which they end
STEPS = (0.3, 1.0)  # relative lengths of the gradient step
GRADIENTS = 4000  # gradients that a metric is the mean of, where there are several outputs


@dataclass(frozen=True)
class Recipe:
    """What is fixed before the rounds.

    Parameters
    ----------
    width, scaling, activation, bound : of the layer.
    rounds, steps : most rounds of new neurons, and of gradient steps after them.
    shares : of each kind of new neurons; they sum to one.
    power : of the metric.
    rng : all random numbers.
    """

    width: int
    scaling: Scaling
    activation: Function
    bound: float
    rounds: int
    steps: int
    shares: Mapping[str, float]
    power: float
    rng: np.random.Generator

    def layer(self, neurons: Neurons) -> Layer:
        return Layer(self.scaling, neurons.W, neurons.b, self.activation, True, self.bound)


def learn(lesson: Lesson, recipe: Recipe, ridge: float | None) -> list[Trial]:
    """All trials, the untrained layer first; the lowest score is the choice."""
    ground = Ground.of(lesson.update, recipe.bound)
    plain = Metric(np.eye(lesson.inputs), recipe.power)
    untrained = recipe.layer(ground.draw(recipe.shares, recipe.width, plain, recipe.rng))
    label = {"update": "none", "round": 0}
    trials = [try_layer(lesson, untrained, ridge=ridge, label=label, worth=True)]
    if len(lesson.held):
        trials += _rounds(lesson, recipe, ground, trials[0], ridge)
        trials += _steps(lesson, recipe, ground, min(trials, key=lambda t: t.score), ridge)
    return trials


def _rounds(
    lesson: Lesson, recipe: Recipe, ground: Ground, first: Trial, ridge: float | None
) -> Iterator[Trial]:
    """Rounds of new neurons at full width, after a few at half of it, which cost a quarter."""
    few = recipe.rounds // NARROW
    narrow = [first, *_phase(lesson, recipe, ground, first, (recipe.width + 1) // 2, few, ridge)]
    best = min(narrow[1:], key=lambda t: t.score, default=first)
    for trial in _phase(lesson, recipe, ground, best, recipe.width, recipe.rounds - few, ridge):
        trial.label["round"] += len(narrow) - 1
        yield trial


def _phase(
    lesson: Lesson,
    recipe: Recipe,
    ground: Ground,
    trial: Trial,
    width: int,
    rounds: int,
    ridge: float | None,
) -> Iterator[Trial]:
    """Rounds at one width, until held-out rows say that they no longer help."""
    lowest, waited = np.inf, 0
    for round_ in range(1, rounds + 1):
        neurons = _renewed(lesson, recipe, ground, trial, width)
        if neurons is None:
            return
        trial = try_layer(
            lesson,
            recipe.layer(neurons),
            ridge=ridge,
            start=trial.ridge,
            label={"update": "neurons", "round": round_},
            worth=True,
        )
        yield trial
        waited = 0 if trial.score < lowest else waited + 1
        lowest = min(lowest, trial.score)
        if waited == PATIENCE:
            return


def _renewed(
    lesson: Lesson, recipe: Recipe, ground: Ground, trial: Trial, width: int
) -> Neurons | None:
    """The neurons of a trial that are worth most, and new ones; None where f is constant."""
    layer, rows = trial.layer, lesson.update
    outputs = rows.t.shape[1]
    few = rows if outputs == 1 else rows[: max(GRADIENTS // outputs, lesson.inputs)]
    M = gradient_outer_product(few, layer, trial.eager.coef)
    if not M.any():
        return None
    kept = round(KEPT * width)
    metric = Metric(M, recipe.power)
    entrants = ground.draw(recipe.shares, ENTRANTS * (width - kept), metric, recipe.rng)
    fitted = [layer.of_scaled(block.z) @ trial.readout.coef for block in rows.blocks()]
    residual = rows.t - np.concatenate(fitted) - trial.readout.intercept
    assert trial.worth is not None
    stays = np.argsort(-trial.worth, kind="stable")[:kept]
    old = Neurons(layer.W[stays], layer.b[stays])
    return old + ground.best(entrants, residual, ENTRANTS)


def _steps(
    lesson: Lesson, recipe: Recipe, ground: Ground, trial: Trial, ridge: float | None
) -> Iterator[Trial]:
    """Gradient steps on the first layer, each of the better length; kinks move to new rows."""
    at = ground.z[ground.rows(recipe.rng.random(recipe.width))]
    for round_ in range(1, recipe.steps + 1):
        G = loss_gradient(lesson, trial)
        length = np.linalg.norm(G)
        if length == 0:
            return
        W = trial.layer.W
        candidates = [
            try_layer(
                lesson,
                recipe.layer(ground.placed(W + step * np.linalg.norm(W) / length * G, at)),
                ridge=ridge,
                start=trial.ridge,
                label={"update": "gradient", "round": round_, "step": step},
            )
            for step in STEPS
        ]
        yield from candidates
        trial = min(candidates, key=lambda t: t.score)


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
