r"""One search for neurons: ridge, first-layer update with the trained readout, ridge, and so on.

A round of the update looks at the fitted function f and at what it leaves unexplained:

1. the metric :math:`M = \frac1n\sum_i \nabla f(x_i)\,\nabla f(x_i)^\top` says in which directions f
   varies;
2. the neurons whose removal would cost most stay: :math:`|a_i|^2/[(G+\lambda)^{-1}]_{ii}` is what
   the penalised loss grows by without neuron i;
3. the others make room for new ones, drawn with the metric in several ways
   (:mod:`.neurons`); of every few entrants the one that goes best with the
   residual comes in.

For classification the best layer may then make a few gradient steps on the logistic loss,
:math:`W \leftarrow W + s\,\frac{\|W\|}{\|G\|}\,G`. Everything is judged on held-out rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from onegrad.arrays import Floats
from onegrad.estimators.fitting.first_layer.neurons import Ground, Metric, Neurons
from onegrad.estimators.fitting.training_set import (
    START,
    Learned,
    Lesson,
    Search,
    Trial,
    chosen,
    lowest,
    try_layer,
)
from onegrad.estimators.model.targets import Numbers, Targets
from onegrad.functions import Function, resolve
from onegrad.layers.gradient import gradient_outer_product, weight_gradient
from onegrad.layers.layer import Layer
from onegrad.layers.rows import ScaledRows

KEPT = 0.4  # share of the neurons that stays in a round
ENTRANTS = 4  # new neurons that compete for a place
NARROW = 4  # one in so many rounds is made at half the width, before the others
NOISELESS = 1e-5  # relative ridge up to which targets have next to no noise
PATIENCE = 4  # rounds without improvement after which they end
STEPS = (0.3, 1.0)  # relative lengths of the gradient step
GRADIENTS = 4000  # gradients that a metric is the mean of, where there are several outputs


@dataclass(frozen=True)
class Manner:
    """What differs between numbers and classes.

    Parameters
    ----------
    shares : of each kind of new neurons; they sum to one.
    power, lone : of the metric, where there are several searches and where there is one.
    """

    classes: bool
    shares: Mapping[str, float]
    power: float
    lone: float


FOR_NUMBERS = Manner(False, {"any": 0.4, "axis": 0.15, "pair": 0.15, "neighbours": 0.3}, 0.5, 0.75)
FOR_CLASSES = Manner(
    True, {"any": 0.2, "axis": 0.15, "pair": 0.15, "neighbours": 0.25, "rows": 0.25}, 0.25, 0.5
)


@dataclass(frozen=True)
class Terms:
    """How a search is made.

    Parameters
    ----------
    manner : numbers or classes.
    power : of the metric.
    width : neurons that are looked for.
    rounds, steps : most rounds of new neurons, and most gradient steps after them.
    further : most rounds at full width where targets have no noise.
    ridge : the penalty, or None where held-out rows choose it.
    bound : where the neurons' inputs are clipped.
    fine : whether the penalty is chosen by half decades.
    """

    manner: Manner
    power: float
    width: int
    rounds: int
    further: int
    steps: int
    ridge: float | None
    bound: float
    fine: bool = False


def search(terms: Terms, lesson: Lesson, rng: np.random.Generator) -> Learned:
    """All trials of one search, the untrained layer first, and what held-out rows chose."""
    rounds = Rounds.of(terms, lesson, rng)
    trials = [rounds.untrained()]
    if len(lesson.held):
        trials += rounds.renewals(trials[0])
        trials += rounds.steps(lowest(trials))
    return Learned(trials[0].layer, trials, chosen(trials, lesson.held.w))


def continued(
    terms: Terms, lesson: Lesson, rng: np.random.Generator, trial: Trial
) -> Iterator[Trial]:
    """Rounds that start from a trial, at full width; many more where targets have no noise."""
    if len(lesson.held) and terms.rounds:
        rounds, noiseless = Rounds.of(terms, lesson, rng), trial.ridge <= NOISELESS
        most, wait = (terms.further, PATIENCE) if noiseless else (-(-terms.rounds // 2), 1)
        yield from rounds.phase(trial, terms.width, range(1, most + 1), trial.score, wait)


@dataclass(frozen=True)
class Rounds:
    """Everything that the rounds of one search share; a round goes from trial to trial."""

    terms: Terms
    lesson: Lesson
    ground: Ground
    rng: np.random.Generator
    activation: Function

    @classmethod
    def of(cls, terms: Terms, lesson: Lesson, rng: np.random.Generator) -> Rounds:
        activation = resolve("relu:raw")
        assert isinstance(activation, Function)
        return cls(terms, lesson, Ground.of(lesson.update, terms.bound), rng, activation)

    def tried(
        self, neurons: Neurons, start: float, label: dict[str, Any], worth: bool = True
    ) -> Trial:
        """The trial of a layer of these neurons; the search of its ridge begins at `start`."""
        bound, scaling = self.terms.bound, self.lesson.scaling
        layer = Layer(scaling, neurons.W, neurons.b, self.activation, True, bound)
        search = Search(self.terms.ridge, start, fine=self.terms.fine)
        return try_layer(self.lesson, layer, search, label, worth)

    def drawn(self, count: int, M: Floats) -> Neurons:
        """New neurons of all kinds, for a metric M."""
        shares, metric = self.terms.manner.shares, Metric(M, self.terms.power)
        return self.ground.draw(shares, count, metric, self.rng)

    def untrained(self) -> Trial:
        neurons = self.drawn(self.terms.width, np.eye(self.lesson.inputs))
        return self.tried(neurons, START, {"update": "none", "round": 0})

    def renewals(self, first: Trial) -> Iterator[Trial]:
        """Rounds of new neurons at full width, after a few at half of it, which cost a quarter."""
        width, rounds = self.terms.width, self.terms.rounds
        few = rounds // NARROW
        narrow = list(self.phase(first, (width + 1) // 2, range(1, few + 1)))
        if self.lesson.watch.enough:  # the best so far may be one of these
            yield from narrow
            return
        before = len(narrow)
        best = lowest(narrow) if narrow else first
        yield from self.phase(best, width, range(before + 1, before + rounds - few + 1))

    def phase(
        self, trial: Trial, width: int, rounds: range, least: float = np.inf, wait: int = PATIENCE
    ) -> Iterator[Trial]:
        """Rounds at one width, until so many in a row do not bring the score below the least."""
        waited = 0
        for number in rounds:
            neurons = None if self.lesson.watch.enough else self.renewed(trial, width)
            if neurons is None:
                return
            trial = self.tried(neurons, trial.ridge, {"update": "neurons", "round": number})
            yield trial
            waited = 0 if trial.score < least else waited + 1
            least = min(least, trial.score)
            if waited == wait:
                return

    def renewed(self, trial: Trial, width: int) -> Neurons | None:
        """The neurons of a trial that are worth most, and new ones; None where f is constant."""
        layer, rows = trial.layer, self.lesson.update
        outputs = rows.t.shape[1]
        few = rows if outputs == 1 else rows[: max(GRADIENTS // outputs, self.lesson.inputs)]
        M = gradient_outer_product(few, (layer, trial.eager.coef))
        if not M.any():
            return None
        kept = round(KEPT * width)
        entrants = self.drawn(ENTRANTS * (width - kept), M)
        fitted = [layer.features(block.z) @ trial.readout.coef for block in rows.blocks()]
        residual = rows.t - np.concatenate(fitted) - trial.readout.intercept
        assert trial.worth is not None
        stays = np.argsort(-trial.worth, kind="stable")[:kept]
        old = Neurons(layer.W[stays], layer.b[stays])
        return old + self.ground.best(entrants, residual, ENTRANTS)

    def steps(self, trial: Trial) -> Iterator[Trial]:
        """Gradient steps on the first layer, each of the better length; kinks move to new rows."""
        at = self.ground.z[self.ground.rows(self.rng.random(self.terms.width))]
        for number in range(1, self.terms.steps + 1 if self.terms.rounds else 1):
            W, G = trial.layer.W, loss_gradient(self.lesson.update, trial, self.lesson.targets)
            length = np.linalg.norm(G)
            if length == 0 or self.lesson.watch.enough:
                return
            candidates = []
            for step in STEPS:
                moved = self.ground.placed(W + step * np.linalg.norm(W) / length * G, at)
                label = {"update": "gradient", "round": number, "step": step}
                candidates.append(self.tried(moved, trial.ridge, label, worth=False))
            yield from candidates
            trial = lowest(candidates)


def loss_gradient(rows: ScaledRows, trial: Trial, targets: Targets) -> Floats:
    r"""(N, d) minus the gradient of the logistic loss in W: its residual is

    .. math:: r_i = 1_{y_i} - \mathrm{softmax}(2 f(z_i))
    """
    layer, readout = trial.layer, trial.readout

    def residual(block: ScaledRows, h: Floats) -> Floats:
        f = layer.features(block.z) @ readout.coef + readout.intercept
        assert not isinstance(targets, Numbers)
        r: Floats = (block.t > 0) - targets.share(f)
        return r

    return weight_gradient(rows, layer, readout.coef[layer.width - len(layer.W) :], residual)
