"""Candidates for the first layer, and how held-out rows choose among them.

A candidate gets its readout from the rows that are not held out and its score from those that are,
which no first-layer update has seen. The readout of the final model is fitted on all rows.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

import numpy as np

from onegrad.arrays import Floats, to_numpy
from onegrad.exceptions import NotConverged
from onegrad.ridge import Factor, Readout
from onegrad.tables.first_layer.layer import Layer
from onegrad.tables.fitting.training_set import TrainingSet

# exponents of the relative ridges that are tried. Features are rounded to a grid before they are
# summed: that noise, at most 6e-10 of their mean square, is below the smallest
RIDGE_DECADES = range(-9, 2)
FIRST_RIDGE = 1e-3  # relative ridge at which the search for the best one begins
MAX_UPDATE_RIDGE = 1e-2  # largest relative ridge of the readout that first-layer updates use
MIN_SINGLE_RIDGE = 1e-4  # relative ridges from here down need double precision
DEFAULT_RIDGE = 1e-2  # relative ridge where there are no held-out rows to choose it


@dataclass(frozen=True)
class Candidate:
    """A first layer with the readout of its best ridge."""

    layer: Layer
    readout: Readout
    ridge: float  # the penalty, relative to the scale of the features
    score: float  # mean loss of the held-out rows
    losses: Floats  # (m,) loss of each
    predicted: Floats  # (m, K) their predictions
    label: Mapping[str, Any]  # how the layer was made
    # of first-layer updates: follows the data more closely where the best ridge is large, because a
    # function that is shrunk to nothing has no gradient
    update_readout: Readout
    worth: Floats | None = None  # (N,) increase of the loss without each neuron


@dataclass(frozen=True)
class Candidates:
    """The first layers of one network: untrained, all that were tried, and the chosen one."""

    untrained: Layer
    tried: Sequence[Candidate]
    best: Candidate


def evaluate_layer(
    training_set: TrainingSet,
    layer: Layer,
    label: Mapping[str, Any],
    *,
    ridge: float | None = None,
    first_ridge: float = FIRST_RIDGE,
    fine: bool = False,
    intercept: bool = True,
    worth: bool = False,
    single: bool = False,
) -> Candidate:
    """Fit the readout without the held-out rows and score it on them, ridge by ridge.

    Parameters
    ----------
    ridge : the penalty (absolute); None searches by decades from `first_ridge` (relative).
    fine : also try the half decades beside the best one.
    intercept : whether the readout has a free constant.
    worth : also compute the worth of each neuron.
    single : whether single precision is enough where the best ridge is large.
    """
    ops, held_out = training_set.ops, training_set.held_out
    single &= ridge is None and first_ridge > MIN_SINGLE_RIDGE and len(held_out) > 0
    single &= ops.device == "cpu"
    if single:
        used = layer.in_single()
        F = used.features(training_set.in_single.held_out.z)
    else:
        used = layer = training_set.with_grid(layer)
        F = layer.on(ops).features(training_set.on_device.held_out.z)
    equations = training_set.equations(used, intercept)

    @cache
    def factor(relative: float) -> Factor:
        return equations.factor(relative * equations.scale)

    @cache
    def candidate(relative: float) -> Candidate:
        readout = equations.solve(relative * equations.scale, factor(relative))
        if single:
            predicted = np.asarray(F @ readout.coef + readout.intercept, np.float64)
            coef, constant = (np.asarray(x, np.float64) for x in (readout.coef, readout.intercept))
            readout = replace(readout, coef=coef, intercept=constant)
        else:
            predicted = to_numpy(F @ ops.asarray(readout.coef)) + readout.intercept
        losses = training_set.losses(predicted) if len(held_out) else np.zeros(0)
        score = training_set.score(losses)
        return Candidate(layer, readout, relative, score, losses, predicted, label, readout)

    if ridge is not None:
        relative = ridge / equations.scale
    elif len(held_out):
        least = MIN_SINGLE_RIDGE if single else 0.0

        def score(value: float) -> float:
            return candidate(value).score if value >= least else np.inf

        try:
            relative = best_decade(score, first_ridge, fine, training_set.targets.resolution)
        except NotConverged:  # a factor that single precision does not find
            if not single:
                raise
            relative = least
        if relative <= least:
            double = partial(evaluate_layer, first_ridge=relative, intercept=intercept)
            return double(training_set, layer, label, fine=fine, worth=worth)
    else:
        relative = DEFAULT_RIDGE
    best = candidate(relative)
    neurons = None
    if worth:
        neurons = equations.removal_cost(best.readout, factor(relative))[-len(layer.W) :]
    training_set.progress.tried(best.score)
    update_readout = candidate(min(relative, MAX_UPDATE_RIDGE)).readout
    return replace(best, update_readout=update_readout, worth=neurons)


def lowest(candidates: Sequence[Candidate]) -> Candidate:
    """Return the candidate of lowest score."""
    return min(candidates, key=lambda candidate: candidate.score)


def choose(candidates: Sequence[Candidate], w: Floats) -> Candidate:
    """Return the candidate of lowest score, or the first where its gain is within the noise.

    The noise is one standard error of the mean difference of the held-out rows' losses; w are
    the weights of these rows.
    """
    if not len(w):
        return candidates[0]
    first, best = candidates[0], lowest(candidates)
    return best if significant_gain(first.losses, best.losses, w) else first


def significant_gain(before: Floats, after: Floats, w: Floats, errors: float = 1.0) -> bool:
    """Return whether the mean of losses (m,) falls by more than its standard error, so many times.

    The standard error is that of the mean of the paired differences.
    """
    share = w / w.sum()
    gain = before - after
    mean_gain = share @ gain
    standard_error = np.sqrt((share**2) @ (gain - mean_gain) ** 2)
    return bool(mean_gain > errors * standard_error)


def best_decade(
    score: Callable[[float], float], first: float, fine: bool = False, resolution: float = 0.0
) -> float:
    """Try powers of ten from `first` while a neighbour is better, and return the best one.

    With `fine`, return the best of that one and the half decades beside it. Gains that do not
    exceed `resolution` are no reason to move.
    """
    lowest_exponent, highest_exponent = RIDGE_DECADES[0], RIDGE_DECADES[-1]

    def best_of(k: float, neighbours: Sequence[float]) -> float:
        return min([k, *neighbours], key=lambda j: score(10.0**j) - resolution * (j == k))

    k: float = min(max(round(np.log10(first)), lowest_exponent), highest_exponent)
    while (best := best_of(k, [j for j in (k - 1, k + 1) if j in RIDGE_DECADES])) != k:
        k = best
    halves = [k + h for h in (-0.5, 0.5) if fine and lowest_exponent < k + h < highest_exponent]
    return float(10.0 ** best_of(k, halves))
