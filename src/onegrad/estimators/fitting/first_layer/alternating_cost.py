r"""The cost of a fit of the alternating family, known before: operations, memory, seconds.

A round of a search for N neurons on n rows of d inputs costs about

.. math:: n N^2 + 2 N^3 + 11\,n d N

operations: the Gram matrix, the factors of a few ridges with the worth of each neuron, and the
features of the layer and of its entrants. Rounds end early, so that the expected cost counts a
typical share of them.
"""

from __future__ import annotations

import time
from itertools import pairwise

from onegrad.estimators.fitting.boosting import MAX_TREE_CELLS, MAX_TREE_COLUMNS
from onegrad.estimators.fitting.first_layer.alternating_settings import (
    SEARCH_ROWS,
    AlternatingSettings,
)
from onegrad.estimators.model.fixed_parts import MAX_CODES, MAX_RAMPS
from onegrad.networks.cost import Cost, product_rate
from onegrad.parallel.cores import blas_threads

# typical numbers: with them an estimate is right within a factor of two on a quiet machine
TYPICAL_ROUNDS = 0.75  # share of the rounds of a search that is made
TYPICAL_FURTHER_ROUNDS = 0.15  # of those at full width
TYPICAL_EPOCHS = 18  # of joint training, at each rate
TYPICAL_CODED_EPOCHS = 0.6  # share of the epochs of networks on codes
TYPICAL_TREES = 0.7  # share of the trees that count
OPERATIONS_PER_CELL = 60  # of a product, in the time that a tree takes for a row and an input
EFFICIENCY = 0.5  # of the operations counted here, relative to a matrix product's
SQUARE_MATRICES = 5  # of the size of a Gram matrix that are held at once


def round_flops(n: float, d: float, N: float) -> float:
    """Operations of one round."""
    return n * N**2 + 2 * N**3 + 11 * n * d * N


def alternating_cost(
    settings: AlternatingSettings,
    rows: int,
    inputs: int,
    outputs: int,
    *,
    sample_rows: int,
    hold_out: float,
) -> Cost:
    """Estimate what a fit costs on this machine.

    Parameters
    ----------
    rows, inputs, outputs : of the data, inputs after encoding.
    sample_rows, hold_out : as the estimator has them.

    Returns
    -------
    flops : operations of products, Gram matrices and factors.
    bytes : features of all rows, written and read once each.
    memory : peak of the arrays.
    seconds : processor seconds, from the rate of products that is measured here.
    """
    sampled = min(rows, sample_rows)
    capacity = settings.capacity(sampled, outputs)
    both = settings.inputs == "both"
    if settings.inputs is None and settings.width is None:
        both = settings.classes and capacity.searches > 1
    copies = 1 + both
    d, N = copies * inputs, capacity.width
    width = N + d
    learned = (1 - hold_out) * sampled
    searched = min(learned, (1 - hold_out) * SEARCH_ROWS[settings.budget])
    each = N / capacity.searches
    flops = (
        capacity.searches
        * (1 + TYPICAL_ROUNDS * capacity.rounds)
        * round_flops(searched, inputs, each)
    )
    if capacity.searches > 1:
        further = 1 + TYPICAL_FURTHER_ROUNDS * capacity.rounds
        flops += further * round_flops(searched, d, N)
    if settings.corrects:
        epochs = TYPICAL_EPOCHS * len(settings.training_rates(sampled))
        flops += epochs * learned * N * (6 * (d + outputs) + 20)  # 20: what is not a product
        flops += round_flops(searched, d, N)
        flops += 2 * hold_out * sampled * sampled * min(d, 64)
        plan = settings.coded_training(sampled)
        sizes = [inputs + min(MAX_RAMPS * inputs, MAX_CODES), *plan.hidden, outputs]
        weights = sum(a * b for a, b in pairwise(sizes))
        passes = TYPICAL_CODED_EPOCHS * plan.epochs * plan.networks
        flops += passes * learned * 6 * weights
        boosting = settings.boosting(sampled, outputs)
        cells = min(learned * min(inputs, MAX_TREE_COLUMNS), MAX_TREE_CELLS) * boosting.depth
        per_tree = OPERATIONS_PER_CELL * (cells + learned * outputs)
        # grown twice, without the held-out rows and with them
        flops += 2 * TYPICAL_TREES * boosting.trees * per_tree
    flops += searched * width**2  # spectrum of the untrained layer
    flops += rows * (width**2 + 2 * d * N) + width**3  # second pass and readout
    flops *= capacity.members
    held_out_features = hold_out * min(sampled, SEARCH_ROWS[settings.budget]) * width
    memory = 8 * (
        capacity.members * width**2
        + SQUARE_MATRICES * width**2
        + held_out_features
        + sampled * (3 * d + 2 * outputs)
    )
    with blas_threads(1):
        rate = product_rate(clock=time.process_time)
    seconds = flops / (EFFICIENCY * rate)
    return Cost(flops, 16.0 * rows * width * capacity.members, int(memory), seconds)
