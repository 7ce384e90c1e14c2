r"""The choice of the parts of a prediction, and of their weights, by held-out rows.

.. math:: f(x) = c_1\,a\cdot f(x) + c_2\,h(x) + \sum_p c_p\,p(x)

with ridge regression on the features; the head h, which was trained on the logistic loss with the
first layer, or on the inputs alone where rows are few; and the parts of the table. No weight is
negative; for numbers they add up to one. Where the gain of a part is within the noise of the
held-out rows it is left out, and costs nothing.

Weights and probabilities rest on parts that have not seen the held-out rows. In the model, parts
have seen all rows of the sample.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import scipy

from onegrad.arrays import Floats
from onegrad.ridge import Readout
from onegrad.tables.fitting.candidates import Candidate, significant_gain
from onegrad.tables.fitting.fit_progress import interruptible
from onegrad.tables.fitting.training_set import TrainingSet
from onegrad.tables.model.targets import ClassTargets, Link, NumericTargets, label_rows
from onegrad.tables.parts.head import Head, linear_head, scaled_readout
from onegrad.tables.parts.part import Part

MAX_PART_WEIGHT = 50.0  # of a part of the scores, in units of the logits
LARGE = 1e3  # relative size of a constraint beside what it constrains
SCORE_UNIT = 2.0  # logits of a score of one: weights are given in scores
MANY_ROWS = 8_000  # from which larger parts, and further searches for neurons, pay
MANY_CLASSES = 10  # from which they do
# of the logits, where held-out rows are too few to weigh them; chosen on folds of iris, wine and
# breast cancer
LINEAR_SHARE = 2 / 3
MIN_ROWS = 50  # of the sample, from which parts are looked for
MIN_HELD_OUT_LABELS = 100  # fewer are often all right, whatever the weights


@dataclass(frozen=True)
class Seed:
    """Seeds of one member of a committee: of the keys of rows, and the member's number."""

    rows: int
    member: int

    def generator(self, *purpose: int) -> np.random.Generator:
        """Return the random numbers of one purpose."""
        return np.random.default_rng([self.rows, *purpose, self.member])


@dataclass(frozen=True)
class FitSize:
    """The size of a fit, which decides how parts are learned."""

    rows: int  # of the sample
    learned: float  # of them, those that are not held out
    inputs: int  # on one scale
    copies: int  # scales
    outputs: int
    labels: bool
    budget: str  # "fast", "default" or "best"
    patience: int | None = None  # without improvement; None: that of each part


@dataclass(frozen=True)
class LearnedPart:
    """A part by name, times its weight: as held-out rows chose it, and what the model has."""

    name: str
    judged: Part  # has not seen the held-out rows
    final: tuple[Part, ...]  # have seen all rows of the sample
    detail: Any = None  # which one of several trials it is

    def scaled(self, factor: float) -> LearnedPart:
        """Return the part whose scores are multiplied by a factor."""
        final = tuple(part.scaled(factor) for part in self.final)
        return replace(self, judged=self.judged.scaled(factor), final=final)


@dataclass(frozen=True)
class Trial:
    """Scores of held-out rows that a part gives before it has seen them; its weight is one."""

    predicted: Floats  # (m, K)
    judged: Part | None  # None: the final part, which leaves rows out by their keys
    relearn: Callable[[], Sequence[Part]]  # from all rows: parts whose mean is predicted
    detail: Any = None

    def learned(self, name: str, weight: float) -> LearnedPart:
        """Return the part times its weight, learned again from all rows."""
        final = self.relearn()
        parts = tuple(part.scaled(weight / len(final)) for part in final)
        judged = parts[0] if self.judged is None else self.judged.scaled(weight)
        return LearnedPart(name, judged, parts, self.detail)


@dataclass(frozen=True)
class PartFit:
    """Everything that a part is learned from."""

    training_set: TrainingSet
    judged: TrainingSet  # with the held-out rows that judged the candidates, often fewer
    best: Candidate
    seed: Seed


class Learner(ABC):
    """A way to learn a part, in a fit of some size."""

    # standard errors by which a part must lower the loss. With a half, networks are chosen on a
    # line with noise, and errors are 0.996 (classes) and 1.003 (numbers) of what they are
    min_errors: ClassVar[float] = 1.0

    @abstractmethod
    def trials(self, fit: PartFit) -> Iterable[Trial]:
        """Yield what held-out rows choose from: nothing where it cannot help."""

    @abstractmethod
    def flops(self, size: FitSize) -> float:
        """Number of operations of a product in the time that it typically takes."""


@dataclass(frozen=True)
class ChosenParts:
    """Weights of the parts of a prediction, and what they make of the held-out rows.

    Parts that do not help are not there.
    """

    weights: Mapping[str, float]  # of "ridge", "head" and further parts
    predicted: Floats  # (m, K) predictions of the held-out rows
    head: Head | None = None
    parts: tuple[LearnedPart, ...] = ()  # times their weights
    link: Link | None = None  # scores to probabilities, where held-out rows are too few to tell

    def scaled(self, factor: float) -> ChosenParts:
        """Return the choice whose parts are all multiplied by a factor."""
        return replace(
            self,
            weights={name: factor * weight for name, weight in self.weights.items()},
            predicted=factor * self.predicted,
            parts=tuple(part.scaled(factor) for part in self.parts),
        )

    def head_readout(self, all_rows: bool = False) -> Readout | None:
        """Return the head times its weight, that of all rows or of those not held out."""
        weight = self.weights.get("head", 0.0)
        if self.head is None or not weight:
            return None
        return scaled_readout(self.head.final if all_rows else self.head.judged, weight)

    def readout_of(self, candidate: Candidate) -> Readout:
        """Return a candidate's readout with its head, each times its weight."""
        ridge = scaled_readout(candidate.readout, self.weights["ridge"])
        head = self.head_readout()
        if head is None:
            return ridge
        return Readout(ridge.ridge, ridge.coef + head.coef, ridge.intercept + head.intercept)


def choose_parts(
    training_set: TrainingSet, best: Candidate, learners: Mapping[str, Learner], seed: Seed
) -> ChosenParts:
    """Weigh the parts of the prediction on the held-out rows that judged candidates."""
    plain = ChosenParts({"ridge": 1.0}, best.predicted)
    rows = training_set.held_out[: len(best.predicted)]
    if not len(rows) or training_set.sample_rows < MIN_ROWS:
        return plain
    judged, targets = replace(training_set, held_out=rows), training_set.targets
    choice, scores = plain, {"ridge": best.predicted}
    trained = best.head_scores(rows.z)
    few = not isinstance(targets, NumericTargets) and len(rows) < MIN_HELD_OUT_LABELS
    if best.head is not None and trained is not None and not few:
        scores["head"] = trained
        choice = replace(weighted(judged, scores), head=Head(best.head, best.head))
    elif head := linear_head(training_set, len(best.layer.W)):
        coef, intercept = head.judged.coef[: training_set.inputs], head.judged.intercept
        with_head = {**scores, "head": rows.z @ coef + intercept}
        if few:
            return replace(mostly_linear(judged, with_head), head=head)
        trial = replace(weighted(judged, with_head), head=head)
        if is_better(judged, trial, plain):
            choice, scores = trial, with_head
    elif few:
        return plain
    fit, chosen = PartFit(training_set, judged, best, seed), dict[str, Trial]()
    with interruptible(training_set.progress):
        for name, learner in learners.items():
            choices = [
                (
                    replace(weighted(judged, {**scores, name: part.predicted}), head=choice.head),
                    part,
                )
                for part in learner.trials(fit)
            ]
            if not choices:
                continue
            trial, part = min(
                choices, key=lambda pair: judged.score(judged.losses(pair[0].predicted))
            )
            if is_better(judged, trial, choice, learner.min_errors):
                choice, chosen[name] = trial, part
                scores[name] = part.predicted
        parts = [
            part.learned(name, weight)
            for name, part in chosen.items()
            if (weight := choice.weights[name])
        ]
    return replace(choice, parts=tuple(parts))


def mostly_linear(training_set: TrainingSet, scores: Mapping[str, Floats]) -> ChosenParts:
    """Return a mean of the logits of ridge and head, where rows are too few to weigh them.

    The head's logits maximise the penalised likelihood of all rows. So they count more, no further
    slope is fitted, and probabilities may be as close to 0 and 1 as all rows support.
    """
    targets, rows = training_set.targets, training_set.held_out
    assert isinstance(targets, ClassTargets)
    slope = targets.slope(scores["ridge"], rows.t, rows.w)
    logits = {"ridge": (1 - LINEAR_SHARE) * slope, "head": LINEAR_SHARE}
    weights = {name: weight / SCORE_UNIT for name, weight in logits.items()}
    w = np.concatenate([training_set.fit.w, rows.w])
    link = Link(SCORE_UNIT, label_rows(w), targets.shares())
    return ChosenParts(weights, weighted_sum([*scores.values()], [*weights.values()]), link=link)


def with_common_slope(training_set: TrainingSet, choice: ChosenParts) -> ChosenParts:
    """Return a choice whose scores, for labels, are best at the slope of a committee's mean."""
    targets, rows = training_set.targets, training_set.held_out[: len(choice.predicted)]
    if isinstance(targets, NumericTargets) or not len(rows) or choice.link is not None:
        return choice
    return choice.scaled(targets.slope(choice.predicted, rows.t, rows.w) / SCORE_UNIT)


def weighted(training_set: TrainingSet, scores: Mapping[str, Floats]) -> ChosenParts:
    """Return the parts with the weights that are best for the held-out rows."""
    weights = fitted_weights(training_set, [*scores.values()])
    predicted = weighted_sum([*scores.values()], weights)
    return ChosenParts(dict(zip(scores, weights, strict=True)), predicted)


def is_better(
    training_set: TrainingSet, trial: ChosenParts, choice: ChosenParts, errors: float = 1.0
) -> bool:
    """Return whether a trial's loss is lower by more than so many standard errors."""
    before, after = (training_set.losses(each.predicted) for each in (choice, trial))
    return significant_gain(before, after, training_set.held_out.w, errors)


def mixed_score(training_set: TrainingSet, candidate: Candidate) -> float:
    """Return the score of the best mixture of a candidate's ridge regression and its head."""
    head = candidate.head_scores(training_set.held_out.z)
    scores = {"ridge": candidate.predicted} | ({} if head is None else {"head": head})
    return training_set.score(training_set.losses(weighted(training_set, scores).predicted))


def weighted_sum(scores: Sequence[Floats], weights: Sequence[float]) -> Floats:
    """Return the weighted sum of scores."""
    pairs = zip(weights, scores, strict=True)
    return np.asarray(sum(weight * each for weight, each in pairs))


def fitted_weights(training_set: TrainingSet, scores: Sequence[Floats]) -> list[float]:
    """Return the weights, none negative, that make the loss of the held-out rows smallest."""
    targets, rows = training_set.targets, training_set.held_out
    if len(scores) == 1:
        return [1.0]
    if isinstance(targets, NumericTargets):
        root = np.sqrt(rows.w)[:, None]
        columns = [(root * targets.clipped(each)).ravel() for each in scores]
        size = max(np.abs(column).max() for column in columns) + 1.0
        one = np.full((1, len(scores)), LARGE * size * math.sqrt(rows.t.size))  # they add up to one
        A = np.concatenate([np.stack(columns, 1), one])
        solution, _ = scipy.optimize.nnls(A, np.append((root * rows.t).ravel(), one[0, 0]))
        return [float(weight) for weight in solution / solution.sum()]

    def loss(weights: Floats) -> float:
        logits = weighted_sum(scores, weights.tolist())
        return targets.posterior_loss(logits, rows.t, rows.w, float(weights.sum()))

    result = scipy.optimize.minimize(
        loss,
        np.ones(len(scores)),
        bounds=[(0.0, MAX_PART_WEIGHT)] * len(scores),
        method="L-BFGS-B",
        options={"maxiter": 50},
    )
    return [float(weight) / SCORE_UNIT for weight in result.x]


def summary_of(choices: Sequence[ChosenParts]) -> dict[str, Any]:
    """Return the mean weights, and the details of parts, by name; empty for ridge alone."""
    names = dict.fromkeys(name for each in choices for name in each.weights)
    weights = {name: [each.weights.get(name, 0.0) for each in choices] for name in names}
    chosen: dict[str, Any] = {
        f"{name}_weight": sum(values) / len(values)
        for name, values in weights.items()
        if any(values) or name == "ridge"
    }
    for part in (part for each in choices for part in each.parts if part.detail is not None):
        chosen.setdefault(part.name, []).append(part.detail)
    chosen = {k: v[0] if isinstance(v, list) and len(v) == 1 else v for k, v in chosen.items()}
    return chosen if len(chosen) > 1 else {}
