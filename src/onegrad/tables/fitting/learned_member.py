"""One member of a committee, as its held-out rows choose its parts and their weights.

Where the gain of a part is within the noise of the held-out rows it is left out, and costs nothing.
Weights and probabilities rest on parts that have not seen these rows; in the model, parts have seen
all rows of the sample.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from onegrad.arrays import Floats
from onegrad.ridge import Moments, Readout
from onegrad.tables.fitting.candidates import Candidate, Candidates, significant_gain
from onegrad.tables.fitting.fit_progress import interruptible
from onegrad.tables.fitting.training_set import TrainingSet
from onegrad.tables.model.fitted import Member
from onegrad.tables.model.targets import ClassTargets, Link, NumericTargets, label_rows
from onegrad.tables.parts.learner import (
    SCORE_UNIT,
    LearnedPart,
    Learner,
    PartFit,
    Scores,
    Seed,
    Trial,
    best_weights,
    weighted_sum,
)

# of the logits, where held-out rows are too few to weigh them; chosen on folds of iris, wine and
# breast cancer
LINEAR_SHARE = 2 / 3
MAX_LINEAR_ROWS, MAX_LINEAR_NUMBERS = 2000, 400_000  # up to which inputs alone are tried, too
MIN_CLASS_SHARE = 1e-3  # of a class that no row has
MIN_ROWS = 50  # of the sample, from which parts are looked for
MIN_HELD_OUT_LABELS = 100  # fewer are often all right, whatever the weights


@dataclass(frozen=True)
class Head:
    """Logistic regression on the inputs of rows that are not held out, and of all rows."""

    judged: Readout
    final: Readout

    def scaled(self, factor: float) -> Head:
        """Return the head whose scores are multiplied by a factor."""
        return Head(scaled_readout(self.judged, factor), scaled_readout(self.final, factor))


def scaled_readout(readout: Readout, factor: float) -> Readout:
    """Return the readout whose predictions are multiplied by a factor."""
    return replace(readout, coef=factor * readout.coef, intercept=factor * readout.intercept)


@dataclass(frozen=True)
class LearnedMember:
    """One member of a committee, before it sees all rows.

    `predicted` (m, K) are its predictions of the held-out rows that judged the candidates.
    """

    training_set: TrainingSet
    candidates: Candidates
    predicted: Floats
    weights: Mapping[str, float] = field(default_factory=lambda: {"ridge": 1.0})  # by part
    head: Head | None = None  # times its weight, as the parts
    parts: tuple[LearnedPart, ...] = ()  # those that help
    link: Link | None = None  # scores to probabilities, where held-out rows are too few to tell

    @property
    def best(self) -> Candidate:
        return self.candidates.best

    @property
    def judged(self) -> TrainingSet:
        """The training set with the held-out rows that judged the candidates, often fewer."""
        rows = self.training_set.held_out[: len(self.predicted)]
        return replace(self.training_set, held_out=rows)

    @property
    def losses(self) -> Floats:
        """(m,) losses of these rows."""
        return self.judged.losses(self.predicted)

    def weighted(self, scores: Scores, weights: Mapping[str, float] | None = None) -> LearnedMember:
        """Return the member that weighs scores; by default as is best for its held-out rows."""
        weights = best_weights(self.judged, scores) if weights is None else weights
        predicted = weighted_sum(scores, weights.values())
        return replace(self, predicted=predicted, weights=weights)

    def is_better(self, other: LearnedMember, errors: float = 1.0) -> bool:
        """Return whether its loss is lower than another's by more than so many standard errors."""
        return significant_gain(other.losses, self.losses, self.judged.held_out.w, errors)

    def scaled(self, factor: float) -> LearnedMember:
        """Return the member whose parts are all multiplied by a factor."""
        return replace(
            self,
            weights={name: factor * weight for name, weight in self.weights.items()},
            predicted=factor * self.predicted,
            head=None if self.head is None else self.head.scaled(factor),
            parts=tuple(part.scaled(factor) for part in self.parts),
        )

    def with_common_slope(self) -> LearnedMember:
        """Return the member whose scores, for labels, are best at the slope of a committee."""
        rows, targets = self.judged.held_out, self.training_set.targets
        if isinstance(targets, NumericTargets) or not len(rows) or self.link is not None:
            return self
        return self.scaled(targets.slope(self.predicted, rows.t, rows.w) / SCORE_UNIT)

    @property
    def readout(self) -> Readout:
        """The best candidate's readout times its weight, and the head."""
        ridge = scaled_readout(self.best.readout, self.weights["ridge"])
        if self.head is None:
            return ridge
        head = self.head.judged
        return Readout(ridge.ridge, ridge.coef + head.coef, ridge.intercept + head.intercept)

    def member(self, sums: Moments, intercept: bool) -> Member:
        """Return the member that has seen all rows; its head has not seen those held out."""
        share, best = self.weights["ridge"], self.best
        head = None if self.head is None else self.head.judged
        return Member(best.layer, sums, best.readout.ridge, intercept, share, head)

    def with_head_of_all_rows(self, member: Member) -> Member:
        """Return the member with the head that has seen all rows, where there is one."""
        # without one, the same value: with all that it has computed
        return member if self.head is None else replace(member, head=self.head.final)

    def residuals(self, member: Member) -> Floats:
        """Return the (m, K) residuals of the calibration rows, each left out of the member."""
        calibration = self.training_set.calibration
        residuals = member.leave_one_out_residuals(calibration.rows, calibration.left_out)
        for part in self.parts if len(residuals) else ():
            residuals -= part.judged(calibration.rows.z, calibration.keys)
        return residuals

    @property
    def loss(self) -> float:
        """Mean loss of the held-out rows; nan where there are none."""
        return self.judged.score(self.losses) if len(self.predicted) else np.nan


def choose_parts(
    ridge: LearnedMember, learners: Mapping[str, Learner], seed: Seed
) -> LearnedMember:
    """Return the member with the parts that help beside ridge regression."""
    training_set, judged, best = ridge.training_set, ridge.judged, ridge.best
    rows, targets = judged.held_out, training_set.targets
    if not len(rows) or training_set.sample_rows < MIN_ROWS:
        return ridge
    member, scores = ridge, {"ridge": best.predicted}
    few = not isinstance(targets, NumericTargets) and len(rows) < MIN_HELD_OUT_LABELS
    head = linear_head(training_set, len(best.layer.W))
    if head is not None:
        coef, intercept = head.judged.coef[: training_set.inputs], head.judged.intercept
        with_head = {**scores, "head": rows.z @ coef + intercept}
        if few:
            return mostly_linear(ridge, with_head, head)
        linear = ridge.weighted(with_head)
        if linear.is_better(ridge):
            member, scores = linear, with_head
    if few:
        return ridge
    fit, chosen = PartFit(training_set, judged, best, seed), dict[str, Trial]()
    with interruptible(training_set.progress):
        for name, learner in learners.items():
            trials = [*learner.trials(fit)]
            members = [member.weighted({**scores, name: each.predicted}) for each in trials]
            if not members:
                continue
            number = int(np.argmin([each.loss for each in members]))
            if members[number].is_better(member, learner.min_errors):
                member, chosen[name] = members[number], trials[number]
                scores[name] = trials[number].predicted
        parts = [
            trial.learned(name, weight)
            for name, trial in chosen.items()
            if (weight := member.weights[name])
        ]
    weight = member.weights.get("head", 0.0)
    head = head.scaled(weight) if head is not None and weight else None
    return replace(member, head=head, parts=tuple(parts))


def linear_head(training_set: TrainingSet, neurons: int) -> Head | None:
    """Fit logistic regression on the inputs alone, where rows are so few that it may be as good.

    It has coefficients of zero for the neurons.
    """
    from sklearn.linear_model import LogisticRegression

    targets, n, inputs = training_set.targets, training_set.sample_rows, training_set.inputs
    small = n <= MAX_LINEAR_ROWS and n * inputs <= MAX_LINEAR_NUMBERS
    if not small or not isinstance(targets, ClassTargets):
        return None
    d, K = training_set.scaling.columns, targets.outputs
    readouts = []
    for rows in (training_set.fit, training_set.without_held_out.fit):
        label = rows.t.argmax(1) if K > 1 else rows.t[:, 0] > 0
        coef = np.zeros((inputs + neurons, K))
        intercept = np.full(K, np.log(MIN_CLASS_SHARE))
        if len(np.unique(label)) > 1:
            model = LogisticRegression(max_iter=500).fit(rows.z[:, :d], label, rows.w)
            seen = model.classes_.astype(int) if K > 1 else [0]
            unit = 1.0 if len(model.coef_) > 1 else 0.5  # one score for two classes
            coef[:d, seen[-len(model.coef_) :]] = unit * model.coef_.T
            intercept[seen[-len(model.coef_) :]] = unit * model.intercept_
        readouts.append(Readout(0.0, coef, intercept))
    return Head(*readouts)


def mostly_linear(member: LearnedMember, scores: Scores, head: Head) -> LearnedMember:
    """Return a mean of the logits of ridge and head, where rows are too few to weigh them.

    The head's logits maximise the penalised likelihood of all rows. So they count more, no further
    slope is fitted, and probabilities may be as close to 0 and 1 as all rows support.
    """
    targets, rows = member.training_set.targets, member.judged.held_out
    assert isinstance(targets, ClassTargets)
    slope = targets.slope(scores["ridge"], rows.t, rows.w)
    logits = {"ridge": (1 - LINEAR_SHARE) * slope, "head": LINEAR_SHARE}
    weights = {name: weight / SCORE_UNIT for name, weight in logits.items()}
    w = np.concatenate([member.training_set.fit.w, rows.w])
    link = Link(SCORE_UNIT, label_rows(w), targets.shares())
    return replace(member.weighted(scores, weights), head=head.scaled(weights["head"]), link=link)


def summary_of(members: Sequence[LearnedMember]) -> dict[str, Any]:
    """Return the mean weights, and the details of parts, by name; empty for ridge alone."""
    names = dict.fromkeys(name for each in members for name in each.weights)
    weights = {name: [each.weights.get(name, 0.0) for each in members] for name in names}
    chosen: dict[str, Any] = {
        f"{name}_weight": sum(values) / len(values)
        for name, values in weights.items()
        if any(values) or name == "ridge"
    }
    for part in (part for each in members for part in each.parts if part.detail is not None):
        chosen.setdefault(part.name, []).append(part.detail)
    chosen = {k: v[0] if isinstance(v, list) and len(v) == 1 else v for k, v in chosen.items()}
    return chosen if len(chosen) > 1 else {}
