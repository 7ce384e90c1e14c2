r"""Corrections of a network's prediction, with weights that its held-out rows choose.

.. math:: f(x) = c_1\,a\cdot f(x) + c_2\,h(x) + c_3\,q(x) + c_4\,g(x) + c_5\,s(x)

with ridge regression on the features; the head h, which was trained on the logistic loss with the
first layer, or on the inputs alone where rows are few; the mean targets q of the nearest rows in
the learned metric; the network g on codes of single inputs; and the sum s of boosted trees. No
weight is negative; for numbers they add up to one. Where the gain of a part is within the noise of
the held-out rows its weight is zero, and it costs nothing.

Weights and probabilities rest on parts that have not seen the held-out rows. In the model, further
networks and the trees have seen all rows of the sample.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy

from onegrad.arrays import Floats
from onegrad.ridge import Readout
from onegrad.tables.first_layer.gradient import gradient_outer_product
from onegrad.tables.fitting.candidates import Candidate, significant_gain
from onegrad.tables.fitting.fit_progress import interruptible
from onegrad.tables.fitting.training_set import TrainingSet, metric_rows
from onegrad.tables.model.targets import ClassTargets, Link, NumericTargets, label_rows
from onegrad.tables.parts.boosting import Boosting, grow_trees
from onegrad.tables.parts.coded_training import CodedTraining, train_coded_network
from onegrad.tables.parts.fixed_parts import BoostedTrees, CodedNetwork
from onegrad.tables.parts.neighbours import (
    NearbyRows,
    Neighbours,
    kernel_means,
    nearest,
    points,
)

NEIGHBOUR_COUNTS = (1, 2, 4, 8, 16)  # neighbours whose distance is tried as width of the kernel
# standard errors by which neighbours, the best of several trials, must lower the loss: with one
# they are chosen on a line with noise
MIN_STANDARD_ERRORS = 2.0
# those by which networks on codes, or trees, must: with a half, networks are chosen on such a line
# and errors are 0.996 (classes) and 1.003 (numbers) of what they are
MIN_PART_ERRORS = 1.0
MIN_ROWS = 50  # rows from which neighbours are looked for
MIN_HELD_OUT_LABELS = 100  # fewer are often all right, whatever the weights
MAX_LINEAR_ROWS, MAX_LINEAR_NUMBERS = 2000, 400_000  # up to which inputs alone are tried, too
# of the logits, where held-out rows are too few to weigh them; chosen on folds of iris, wine and
# breast cancer
LINEAR_SHARE = 2 / 3
MIN_CLASS_SHARE = 1e-3  # of a class that no row has
MAX_DIRECTIONS = 64  # leading directions of the metric in which distances are measured
MIN_DIRECTION = 1e-4  # share of the metric below which a direction does not count
MAX_PART_WEIGHT = 50.0  # of a part of the scores, in units of the logits
LARGE = 1e3  # relative size of a constraint beside what it constrains
CODED, BOOSTED = 1, 2  # numbers of the random numbers of networks on codes and of trees
SCORE_UNIT = 2.0  # logits of a score of one: weights are given in scores


@dataclass(frozen=True)
class CorrectionPlan:
    """Settings of a member's networks on codes of single inputs, and of its trees."""

    coded: CodedTraining
    boosting: Boosting


@dataclass(frozen=True)
class Seed:
    """Seeds of one member of a committee: of the keys of rows, and the member's number."""

    rows: int
    member: int

    def generator(self, *purpose: int) -> np.random.Generator:
        """Return the random numbers of one purpose."""
        return np.random.default_rng([self.rows, *purpose, self.member])


@dataclass(frozen=True)
class Correction:
    """Weights of the parts of a prediction, and what they make of the held-out rows.

    Parts that do not help are not there. Networks and trees come times their weights.
    """

    weights: Mapping[str, float]  # of "ridge", "head", "neighbours", "networks" and "trees"
    predicted: Floats  # (m, K) predictions of the held-out rows
    # network and trees that have not seen the held-out rows, unlike those of the model below
    judged_parts: tuple[CodedNetwork | BoostedTrees, ...] = ()
    networks: tuple[CodedNetwork, ...] = ()
    trees: BoostedTrees | None = None
    neighbours: Neighbours | None = None
    # in place of heads: logistic regression on the inputs, without and with the held-out rows
    linear: tuple[Readout, Readout] | None = None
    link: Link | None = None  # scores to probabilities, where held-out rows are too few to tell

    def scaled(self, factor: float) -> Correction:
        """Return the correction whose parts are all multiplied by a factor."""
        near = self.neighbours
        return replace(
            self,
            weights={name: factor * weight for name, weight in self.weights.items()},
            predicted=factor * self.predicted,
            judged_parts=tuple(part.scaled(factor) for part in self.judged_parts),
            networks=tuple(network.scaled(factor) for network in self.networks),
            trees=None if self.trees is None else self.trees.scaled(factor),
            neighbours=None if near is None else replace(near, share=factor * near.share),
        )

    def head_of(self, candidate: Candidate, all_rows: bool = False) -> Readout | None:
        """Return a candidate's head times its weight; None where it counts nothing.

        `all_rows`: that of all rows, where it is logistic regression on the inputs.
        """
        weight = self.weights.get("head", 0.0)
        head = candidate.head
        if self.linear is not None:
            of_inputs = self.linear[all_rows]
            neurons = np.zeros((len(candidate.layer.W), of_inputs.coef.shape[1]))
            head = replace(of_inputs, coef=np.concatenate([of_inputs.coef, neurons]))
        return None if head is None or not weight else scaled_readout(head, weight)

    def readout_of(self, candidate: Candidate) -> Readout:
        """Return a candidate's readout with its head, each times its weight."""
        ridge = scaled_readout(candidate.readout, self.weights["ridge"])
        head = self.head_of(candidate)
        if head is None:
            return ridge
        both = ridge.coef + head.coef, ridge.intercept + head.intercept
        return Readout(ridge.ridge, *both)


def summary_of(corrections: Sequence[Correction]) -> dict[str, Any]:
    """Return the mean weights and the counts of neighbours by name; empty for ridge alone."""
    names = dict.fromkeys(name for each in corrections for name in each.weights)
    weights = {name: [each.weights.get(name, 0.0) for each in corrections] for name in names}
    chosen: dict[str, Any] = {
        f"{name}_weight": sum(values) / len(values)
        for name, values in weights.items()
        if any(values) or name == "ridge"
    }
    counts = [each.neighbours.count for each in corrections if each.neighbours is not None]
    if counts:
        chosen["neighbours"] = counts if len(counts) > 1 else counts[0]
    return chosen if len(chosen) > 1 else {}


def scaled_readout(readout: Readout, factor: float) -> Readout:
    """Return the readout whose predictions are multiplied by a factor."""
    return replace(readout, coef=factor * readout.coef, intercept=factor * readout.intercept)


def choose_correction(
    training_set: TrainingSet, best: Candidate, plan: CorrectionPlan, seed: Seed
) -> Correction:
    """Weigh the parts of the prediction on the held-out rows that judged candidates."""
    plain = Correction({"ridge": 1.0}, best.predicted)
    rows = training_set.held_out[: len(plain.predicted)]
    labels = not isinstance(training_set.targets, NumericTargets)
    if not len(rows) or training_set.sample_rows < MIN_ROWS:
        return plain
    judged = replace(training_set, held_out=rows)
    parts = {"ridge": plain.predicted}
    head = best.head_scores(rows.z)
    linear = None
    few = labels and len(rows) < MIN_HELD_OUT_LABELS
    n = training_set.sample_rows  # so few that logistic regression on the inputs may be as good
    small = n <= MAX_LINEAR_ROWS and n * training_set.inputs <= MAX_LINEAR_NUMBERS
    if head is not None and not few:
        parts["head"] = head
    elif isinstance(training_set.targets, ClassTargets) and small:
        linear = linear_readouts(training_set)
        parts["head"] = rows.z @ linear[0].coef + linear[0].intercept
    if few:
        return plain if linear is None else replace(mostly_linear(judged, parts), linear=linear)
    correction = weighted(judged, parts)
    if linear is not None and not is_better(judged, correction, plain, 1.0):
        linear, parts, correction = None, {"ridge": plain.predicted}, plain
    # before the networks, which stay as they are: held-out rows join the neighbours after the fit.
    # Mean targets, not mean residuals: 0.959 of the error without neighbours against 0.975
    root = metric_root(training_set, best)
    local = local_means(judged, root, NEIGHBOUR_COUNTS) if root.shape[1] else {}
    count = neighbour_count(judged, parts, local, correction)
    if count:
        parts = {**parts, "neighbours": local[count]}
        correction = weighted(judged, parts)
    fixed = FixedParts(training_set, plan, best.layer.bound, seed)
    correction = fixed.added(judged, parts, correction)
    if share := correction.weights.get("neighbours", 0.0):
        sample = training_set.without_held_out.fit
        z, keys = points(sample.z, root), training_set.keys
        near = NearbyRows(keys, z, sample.t, sample.w).distinct()
        neighbours = Neighbours(root, count, share, near, seed.rows)
        correction = replace(correction, neighbours=neighbours)
    return replace(correction, linear=linear)


def with_common_slope(training_set: TrainingSet, correction: Correction) -> Correction:
    """Return a correction whose scores, for labels, are best at the slope of a committee's mean."""
    targets, rows = training_set.targets, training_set.held_out[: len(correction.predicted)]
    if isinstance(targets, NumericTargets) or not len(rows) or correction.link is not None:
        return correction
    slope = targets.slope(correction.predicted, rows.t, rows.w)
    return correction.scaled(slope / SCORE_UNIT)


@dataclass(frozen=True)
class FixedParts:
    """The networks on codes and the trees, which further rows do not change."""

    training_set: TrainingSet
    plan: CorrectionPlan
    bound: float  # where the networks clip the inputs that they see as they are
    seed: Seed

    def added(
        self, judged: TrainingSet, parts: Mapping[str, Floats], correction: Correction
    ) -> Correction:
        """Add those that lower the loss of the held-out rows, then learn them from all rows.

        `parts` and `correction` are the others, and what they make of the held-out rows. Learning
        from all rows keeps the epoch, and the number of trees, that held-out rows have chosen.
        """
        network = trees = None
        epoch = 0
        training_set, z = self.training_set, judged.held_out.z
        progress = training_set.progress
        with interruptible(progress):
            if self.plan.coded.networks and not progress.stopped:
                network, epoch = self.network(training_set, 0)
                trial = weighted(judged, {**parts, "networks": network(z)})
                if is_better(judged, trial, correction, MIN_PART_ERRORS):
                    parts, correction = {**parts, "networks": network(z)}, trial
            if self.plan.boosting.trees and not progress.stopped:
                trees = self.trees(training_set, self.plan.boosting.trees)
                trial = weighted(judged, {**parts, "trees": trees(z)})
                if is_better(judged, trial, correction, MIN_PART_ERRORS):
                    correction = trial
            if network and (share := correction.weights.get("networks", 0.0)):
                rows, numbers = training_set.without_held_out, range(1, self.plan.coded.networks)
                further = [self.network(rows, number, epoch)[0] for number in numbers]
                networks = [network, *([] if progress.stopped else further)]
                correction = replace(
                    correction,
                    judged_parts=(network.scaled(share),),
                    networks=tuple(each.scaled(share / len(networks)) for each in networks),
                )
            if trees and (share := correction.weights.get("trees", 0.0)):
                again = self.trees(training_set.without_held_out, len(trees))
                correction = replace(
                    correction,
                    judged_parts=(*correction.judged_parts, trees.scaled(share)),
                    trees=(trees if progress.stopped else again).scaled(share),
                )
        return correction

    def network(
        self, rows: TrainingSet, number: int, last_epoch: int | None = None
    ) -> tuple[CodedNetwork, int]:
        """Train the network of this number, and return the epoch that counts."""
        rng = self.seed.generator(CODED, number)
        return train_coded_network(rows, self.plan.coded, self.bound, rng, last_epoch)

    def trees(self, rows: TrainingSet, count: int) -> BoostedTrees:
        """Grow so many trees at most."""
        plan = replace(self.plan.boosting, trees=count)
        return grow_trees(rows, plan, self.seed.generator(BOOSTED))


def neighbour_count(
    training_set: TrainingSet,
    parts: Mapping[str, Floats],
    local: Mapping[int, Floats],
    correction: Correction,
) -> int:
    """Return the best count of neighbours beside other parts; 0 where they do not help enough.

    `local` are mean targets of nearby rows, by count.
    """
    if not local:
        return 0
    trials = {
        count: weighted(training_set, {**parts, "neighbours": means})
        for count, means in local.items()
    }
    losses = {count: training_set.losses(trial.predicted) for count, trial in trials.items()}
    count = min(trials, key=lambda count: training_set.score(losses[count]))
    helps = is_better(training_set, trials[count], correction, MIN_STANDARD_ERRORS)
    return count if helps else 0


def linear_readouts(training_set: TrainingSet) -> tuple[Readout, Readout]:
    """Fit logistic regression on the inputs, without the held-out rows and with them."""
    from sklearn.linear_model import LogisticRegression

    d, K = training_set.scaling.columns, training_set.targets.outputs
    readouts = []
    for rows in (training_set.fit, training_set.without_held_out.fit):
        label = rows.t.argmax(1) if K > 1 else rows.t[:, 0] > 0
        coef, intercept = np.zeros((training_set.inputs, K)), np.full(K, np.log(MIN_CLASS_SHARE))
        if len(np.unique(label)) > 1:
            model = LogisticRegression(max_iter=500).fit(rows.z[:, :d], label, rows.w)
            seen = model.classes_.astype(int) if K > 1 else [0]
            unit = 1.0 if len(model.coef_) > 1 else 0.5  # one score for two classes
            coef[:d, seen[-len(model.coef_) :]] = unit * model.coef_.T
            intercept[seen[-len(model.coef_) :]] = unit * model.intercept_
        readouts.append(Readout(0.0, coef, intercept))
    return readouts[0], readouts[1]


def mostly_linear(training_set: TrainingSet, parts: Mapping[str, Floats]) -> Correction:
    """Return a mean of the logits of ridge and head, where rows are too few to weigh them.

    The head's logits maximise the penalised likelihood of all rows. So they count more, no further
    slope is fitted, and probabilities may be as close to 0 and 1 as all rows support.
    """
    targets, rows = training_set.targets, training_set.held_out
    assert isinstance(targets, ClassTargets)
    slope = targets.slope(parts["ridge"], rows.t, rows.w)
    logits = {"ridge": (1 - LINEAR_SHARE) * slope, "head": LINEAR_SHARE}
    weights = {name: weight / SCORE_UNIT for name, weight in logits.items()}
    w = np.concatenate([training_set.fit.w, rows.w])
    link = Link(SCORE_UNIT, label_rows(w), targets.shares())
    return Correction(weights, weighted_sum([*parts.values()], [*weights.values()]), link=link)


def weighted(training_set: TrainingSet, parts: Mapping[str, Floats]) -> Correction:
    """Return the parts with the weights that are best for the held-out rows."""
    weights = fitted_weights(training_set, [*parts.values()])
    predicted = weighted_sum([*parts.values()], weights)
    return Correction(dict(zip(parts, weights, strict=True)), predicted)


def is_better(
    training_set: TrainingSet, trial: Correction, correction: Correction, errors: float
) -> bool:
    """Return whether a trial's loss is lower by more than so many standard errors."""
    before, after = (training_set.losses(each.predicted) for each in (correction, trial))
    return significant_gain(before, after, training_set.held_out.w, errors)


def mixed_score(training_set: TrainingSet, candidate: Candidate) -> float:
    """Return the score of the best mixture of a candidate's ridge regression and its head."""
    head = candidate.head_scores(training_set.held_out.z)
    parts = [candidate.predicted] if head is None else [candidate.predicted, head]
    predicted = weighted_sum(parts, fitted_weights(training_set, parts))
    return training_set.score(training_set.losses(predicted))


def weighted_sum(parts: Sequence[Floats], weights: Sequence[float]) -> Floats:
    """Return the weighted sum of parts."""
    pairs = zip(weights, parts, strict=True)
    return np.asarray(sum(weight * part for weight, part in pairs))


def fitted_weights(training_set: TrainingSet, parts: Sequence[Floats]) -> list[float]:
    """Return the weights, none negative, that make the loss of the held-out rows smallest."""
    targets, rows = training_set.targets, training_set.held_out
    if len(parts) == 1:
        return [1.0]
    if isinstance(targets, NumericTargets):
        root = np.sqrt(rows.w)[:, None]
        columns = [(root * targets.clipped(part)).ravel() for part in parts]
        size = max(np.abs(column).max() for column in columns) + 1.0
        one = np.full((1, len(parts)), LARGE * size * math.sqrt(rows.t.size))  # they add up to one
        A = np.concatenate([np.stack(columns, 1), one])
        solution, _ = scipy.optimize.nnls(A, np.append((root * rows.t).ravel(), one[0, 0]))
        return [float(weight) for weight in solution / solution.sum()]

    def loss(weights: Floats) -> float:
        logits = weighted_sum(parts, weights.tolist())
        return targets.posterior_loss(logits, rows.t, rows.w, float(weights.sum()))

    result = scipy.optimize.minimize(
        loss,
        np.ones(len(parts)),
        bounds=[(0.0, MAX_PART_WEIGHT)] * len(parts),
        method="L-BFGS-B",
        options={"maxiter": 50},
    )
    return [float(weight) / SCORE_UNIT for weight in result.x]


def metric_root(training_set: TrainingSet, best: Candidate) -> Floats:
    """(d, r) root of the metric of a network: R R^T = M, its leading directions alone."""
    rows = metric_rows(training_set.update)
    M = gradient_outer_product(rows, (best.layer, best.update_readout.coef))
    values, V = np.linalg.eigh(M)
    total = values.sum()
    if not total > 0:
        return np.zeros((len(M), 0))
    leading = np.flatnonzero(values > MIN_DIRECTION * total)[-MAX_DIRECTIONS:]
    return V[:, leading] * np.sqrt(values[leading] / total)


def local_means(
    training_set: TrainingSet, root: Floats, counts: Sequence[int]
) -> dict[int, Floats]:
    """Return, by count, the (m, K) mean targets near held-out rows of those that are not."""
    rows, keys = training_set.fit, training_set.keys[: len(training_set.fit)]
    near = NearbyRows(keys, points(rows.z, root), rows.t, rows.w)
    blocks = [*nearest(points(training_set.held_out.z, root), near)]
    return {
        count: np.concatenate([kernel_means(block, near, count) for block in blocks])
        for count in counts
    }
