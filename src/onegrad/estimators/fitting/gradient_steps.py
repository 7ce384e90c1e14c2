"""Gradient steps over minibatches: the residuals of losses, and the order of the rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from onegrad.arrays import Floats
from onegrad.estimators.model.targets import NumericTargets, Targets

MINIBATCH_ROWS = 256


def loss_residual(targets: Targets, t: Floats, f: Floats) -> Floats:
    """Return minus the gradient in f (m, K) of the loss: t - f, or indicators minus probabilities.

    Half the squared error, or the logistic loss per unit of the logits.
    """
    if isinstance(targets, NumericTargets):
        return t - f
    return np.asarray((t > 0) - targets.probabilities(f), t.dtype)


def minibatches(
    n: int, rng: np.random.Generator, size: int = MINIBATCH_ROWS
) -> Iterator[tuple[Any, float]]:
    """Yield the rows of each minibatch of one epoch in random order, and the epoch's share done."""
    order = rng.permutation(n)
    for start in range(0, n, size):
        yield order[start : start + size], start / n
