r"""One member of a committee, as its held-out rows choose its parts and their weights.

.. math:: f(x) = c_1\,a\cdot f(x) + \sum_p c_p\,p(x)

with ridge regression on the features and the parts of the table. No weight is negative; for numbers
they add up to one.

Where the gain of a part is within the noise of the held-out rows it is left out, and costs nothing.
Weights and probabilities rest on parts that have not seen these rows; in the model, parts have seen
all rows of the sample.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy

from onegrad.arrays import Floats
from onegrad.ridge import Moments, Readout
from onegrad.tables.fitting.candidates import Candidate, Candidates, significant_gain
from onegrad.tables.fitting.fit_progress import interruptible
from onegrad.tables.fitting.training_set import TrainingSet
from onegrad.tables.model.fitted import Member
from onegrad.tables.model.targets import Link, NumericTargets, label_rows
from onegrad.tables.parts.learner import LearnedPart, Learner, PartFit, Trial

MIN_ROWS = 50  # of the sample, from which parts are looked for
MIN_HELD_OUT_LABELS = 100  # fewer are often all right, whatever the weights
MAX_PART_WEIGHT = 50.0  # of a part of the scores, in units of the logits
LARGE = 1e3  # relative size of a constraint beside what it constrains
SCORE_UNIT = 2.0  # logits of a score of one: weights are given in scores

Scores = Mapping[str, Floats]  # (m, K) of held-out rows, by the name of the part


@dataclass(frozen=True)
class LearnedMember:
    """One member of a committee, before it sees all rows.

    `predicted` (m, K) are its predictions of the held-out rows that judged the candidates.
    """

    training_set: TrainingSet
    candidates: Candidates
    predicted: Floats
    weights: Mapping[str, float] = field(default_factory=lambda: {"ridge": 1.0})  # by part
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

    def with_common_slope(self) -> LearnedMember:
        """Return the member whose scores, for labels, are best at the slope of a committee."""
        rows, targets = self.judged.held_out, self.training_set.targets
        if isinstance(targets, NumericTargets) or not len(rows) or self.link is not None:
            return self
        factor = targets.slope(self.predicted, rows.t, rows.w) / SCORE_UNIT
        return replace(
            self,
            weights={name: factor * weight for name, weight in self.weights.items()},
            predicted=factor * self.predicted,
            parts=tuple(part.scaled(factor) for part in self.parts),
        )

    @property
    def readout(self) -> Readout:
        """The best candidate's readout times its weight."""
        return self.best.readout.scaled(self.weights["ridge"])

    def member(self, sums: Moments, intercept: bool) -> Member:
        """Return the member that has seen all rows."""
        best = self.best
        return Member(best.layer, sums, best.readout.ridge, intercept, self.weights["ridge"])

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
    ridge: LearnedMember, learners: Mapping[str, Learner], seed: int, number: int
) -> LearnedMember:
    """Return the member with the parts that help beside ridge regression.

    `seed` is that of the keys of rows, `number` that of the member.
    """
    training_set, judged = ridge.training_set, ridge.judged
    rows, targets = judged.held_out, training_set.targets
    if not len(rows) or len(training_set.keys) < MIN_ROWS:
        return ridge
    member, scores = ridge, {"ridge": ridge.best.predicted}
    fit, chosen = PartFit(training_set, judged, ridge.best, seed, number), dict[str, Trial]()
    if not isinstance(targets, NumericTargets) and len(rows) < MIN_HELD_OUT_LABELS:
        for name, learner in learners.items():
            for trial in learner.trials(fit) if learner.share_of_few else ():
                return barely_weighed(ridge, name, trial, learner.share_of_few)
        return ridge
    with interruptible(training_set.progress):
        for name, learner in learners.items():
            trials = [*learner.trials(fit)]
            members = [member.weighted({**scores, name: each.predicted}) for each in trials]
            if not members:
                continue
            best = int(np.argmin([each.loss for each in members]))
            losses = member.losses, members[best].losses
            if significant_gain(*losses, rows.w, learner.min_errors):
                member, chosen[name] = members[best], trials[best]
                scores[name] = trials[best].predicted
        parts = [
            trial.learned(name, weight)
            for name, trial in chosen.items()
            if (weight := member.weights[name])
        ]
    return replace(member, parts=tuple(parts))


def best_weights(training_set: TrainingSet, scores: Scores) -> dict[str, float]:
    """Return the weights, none negative, that make the loss of the held-out rows smallest."""
    targets, rows = training_set.targets, training_set.held_out
    if isinstance(targets, NumericTargets):
        root = np.sqrt(rows.w)[:, None]
        columns = [(root * targets.clipped(each)).ravel() for each in scores.values()]
        size = max(np.abs(column).max() for column in columns) + 1.0
        one = np.full((1, len(scores)), LARGE * size * math.sqrt(rows.t.size))  # they add up to one
        A = np.concatenate([np.stack(columns, 1), one])
        solution, _ = scipy.optimize.nnls(A, np.append((root * rows.t).ravel(), one[0, 0]))
        return dict(zip(scores, (solution / solution.sum()).tolist(), strict=True))

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
    return dict(zip(scores, (result.x / SCORE_UNIT).tolist(), strict=True))


def weighted_sum(scores: Scores, weights: Iterable[float]) -> Floats:
    """Return the weighted sum of scores."""
    pairs = zip(weights, scores.values(), strict=True)
    return np.asarray(sum(weight * each for weight, each in pairs))


def barely_weighed(member: LearnedMember, name: str, trial: Trial, share: float) -> LearnedMember:
    """Return a mean of the logits of ridge and a part, where rows are too few to weigh them.

    No further slope is fitted, and probabilities may be as close to 0 and 1 as all rows support.
    """
    targets, rows = member.training_set.targets, member.judged.held_out
    assert not isinstance(targets, NumericTargets)
    scores = {"ridge": member.best.predicted, name: trial.predicted}
    logits = {"ridge": (1 - share) * targets.slope(scores["ridge"], rows.t, rows.w), name: share}
    weights = {name: weight / SCORE_UNIT for name, weight in logits.items()}
    w = np.concatenate([member.training_set.fit.w, rows.w])
    link = Link(SCORE_UNIT, label_rows(w), targets.shares())
    part = trial.learned(name, weights[name])
    return replace(member.weighted(scores, weights), parts=(part,), link=link)


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
