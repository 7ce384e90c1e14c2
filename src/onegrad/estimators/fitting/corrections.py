r"""Corrections of the networks' prediction, with weights that held-out rows choose.

.. math:: f(x) = c_1\,a\cdot f(x) + c_2\,h(x) + c_3\,q(x)

with ridge regression on the features, the head h that was trained with the first layer on the
logistic loss, and the mean targets q of the nearest rows in the learned metric. For numbers
:math:`c_1 + c_3 = 1`. Where the gain of a part is within the noise of the held-out rows its weight
is zero, and it costs nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy.optimize

from onegrad.arrays import Floats
from onegrad.estimators.fitting.candidates import Candidate, significant_gain
from onegrad.estimators.fitting.training_set import TrainingSet
from onegrad.estimators.model.fitted import mean
from onegrad.estimators.model.neighbours import (
    NearbyRows,
    Neighbours,
    kernel_means,
    nearest,
    points,
)
from onegrad.estimators.model.targets import NumericTargets
from onegrad.layers.gradient import gradient_outer_product
from onegrad.ridge import Readout

NEIGHBOUR_COUNTS = (1, 2, 4, 8, 16)  # neighbours whose distance is tried as width of the kernel
MIN_STANDARD_ERRORS = 2.0  # by which neighbours must lower the loss: the best of several trials
MIN_ROWS = 50  # rows from which neighbours are looked for
MIN_HELD_OUT_LABELS = 60  # fewer are often all right, whatever the weights
METRIC_ROWS = 4000  # gradients that the metric of the neighbours is the mean of
MAX_DIRECTIONS = 64  # leading directions of the metric in which distances are measured
MIN_DIRECTION = 1e-4  # share of the metric below which a direction does not count
MAX_PART_WEIGHT = 50.0  # of a part of the scores, in units of the logits
SCORE_UNIT = 2.0  # logits of a score of one: weights are given in scores


@dataclass(frozen=True)
class Correction:
    """Weights of the parts of a prediction, and what they make of the held-out rows.

    Parameters
    ----------
    ridge, head : weights of ridge regression and of the head.
    neighbours : the local part; None where it does not help.
    predicted : (m, K) predictions of the held-out rows.
    """

    ridge: float
    head: float
    neighbours: Neighbours | None
    predicted: Floats

    def head_of(self, candidate: Candidate) -> Readout | None:
        """Return a candidate's head times its weight; None where it counts nothing."""
        head = candidate.head
        return None if head is None or not self.head else scaled_readout(head, self.head)

    @property
    def summary(self) -> dict[str, float]:
        """The choices by name; empty where ridge regression alone is best."""
        near = self.neighbours
        chosen = {} if not self.head else {"ridge_weight": self.ridge, "head_weight": self.head}
        if near is not None:
            chosen |= {"neighbours": near.count, "neighbours_weight": near.share}
        return chosen


def scaled_readout(readout: Readout, factor: float) -> Readout:
    """Return the readout whose predictions are multiplied by a factor."""
    return replace(readout, coef=factor * readout.coef, intercept=factor * readout.intercept)


def no_correction(best: Sequence[Candidate]) -> Correction:
    """Return the mean of the networks as it is."""
    return Correction(1.0, 0.0, None, mean([candidate.predicted for candidate in best]))


def choose_correction(
    training_set: TrainingSet, best: Sequence[Candidate], seed: int
) -> Correction:
    """Weigh ridge regression, heads and neighbours on the held-out rows that judged candidates.

    Parameters
    ----------
    best : the chosen candidate of each member.
    seed : of the keys of the sample's rows.
    """
    plain = no_correction(best)
    rows = training_set.held_out[: len(plain.predicted)]
    labels = not isinstance(training_set.targets, NumericTargets)
    few = labels and len(rows) < MIN_HELD_OUT_LABELS
    if not len(rows) or training_set.sample_rows < MIN_ROWS or few:
        return plain
    judged = replace(training_set, held_out=rows)
    parts = [plain.predicted]
    heads = [candidate.head_scores(rows.z) for candidate in best]
    if all(head is not None for head in heads):
        parts.append(mean([head for head in heads if head is not None]))
    weights = fitted_weights(judged, parts)
    predicted = weighted_sum(parts, weights)
    correction = Correction(weights[0], sum(weights[1:]), None, predicted)
    root = metric_root(training_set, best)
    if not root.shape[1]:
        return correction
    trials = []
    for count, local in local_means(judged, root, NEIGHBOUR_COUNTS).items():
        weights = fitted_weights(judged, [*parts, local])
        corrected = weighted_sum([*parts, local], weights)
        trials.append((judged.score(judged.losses(corrected)), count, weights, corrected))
    _, count, weights, corrected = min(trials, key=lambda trial: trial[0])
    before, after = judged.losses(predicted), judged.losses(corrected)
    if not significant_gain(before, after, rows.w, MIN_STANDARD_ERRORS):
        return correction
    ridge, *head, share = weights
    neighbours = Neighbours(root, count, share, sample_points(training_set, root), seed)
    return Correction(ridge, sum(head), neighbours, corrected)


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
        first, second = map(targets.clipped, parts)
        change = second - first
        square = float(rows.w @ (change**2).sum(1))
        along = float(rows.w @ (change * (rows.t - first)).sum(1))
        share = min(max(along / square, 0.0), 1.0) if square > 0 else 0.0
        return [1.0 - share, share]

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


def metric_root(training_set: TrainingSet, best: Sequence[Candidate]) -> Floats:
    """(d, r) root of the metric of the networks' mean: R R^T = M, its leading directions alone."""
    rows = training_set.update
    if training_set.targets.outputs > 1:
        count = METRIC_ROWS // training_set.targets.outputs
        rows = rows[: max(count, training_set.inputs)]
    networks = [(candidate.layer, candidate.update_readout.coef) for candidate in best]
    M = gradient_outer_product(rows, *networks)
    values, V = np.linalg.eigh(M)
    total = values.sum()
    if not total > 0:
        return np.zeros((len(M), 0))
    leading = np.flatnonzero(values > MIN_DIRECTION * total)[-MAX_DIRECTIONS:]
    root: Floats = V[:, leading] * np.sqrt(values[leading] / total)
    return root


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


def sample_points(training_set: TrainingSet, root: Floats) -> NearbyRows:
    """Return all rows of the sample as neighbours."""
    parts = training_set.fit, training_set.held_out
    z, t, w = (np.concatenate([getattr(part, name) for part in parts]) for name in "ztw")
    return NearbyRows(training_set.keys, points(z, root), t, w).distinct()
