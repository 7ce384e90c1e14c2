"""Gradient steps over minibatches, in single precision: Adam, and the residuals of losses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from onegrad.arrays import Floats
from onegrad.estimators.model.coded_network import Single
from onegrad.estimators.model.targets import NumericTargets, Targets

MINIBATCH_ROWS = 256
MOMENTUM, SQUARE_MOMENTUM, MIN_ROOT = 0.9, 0.999, 1e-8  # Adam's, as its authors suggest


class AdamSteps:
    """Adam's moments of the parameters of a network; a step changes the parameters in place."""

    def __init__(self, parameters: list[Single]) -> None:
        self.parameters = parameters
        self.means = [np.zeros_like(p) for p in parameters]
        self.squares = [np.zeros_like(p) for p in parameters]
        self.count = 0

    def step(self, gradients: list[Single], rate: float, decay: float = 0.0) -> None:
        """Move the parameters against their gradients; matrices also shrink by rate * decay."""
        self.count += 1
        shrunk = np.float32(1 - rate * decay)
        rate /= 1 - MOMENTUM**self.count
        correction = np.float32(1 - SQUARE_MOMENTUM**self.count)
        for i, gradient in enumerate(gradients):
            mean, square = self.means[i], self.squares[i]
            mean *= np.float32(MOMENTUM)
            mean += np.float32(1 - MOMENTUM) * gradient
            root = gradient * gradient
            root *= np.float32(1 - SQUARE_MOMENTUM)
            square *= np.float32(SQUARE_MOMENTUM)
            square += root
            np.divide(square, correction, out=root)
            np.sqrt(root, out=root)
            root += np.float32(MIN_ROOT)
            np.divide(mean, root, out=root)
            root *= np.float32(rate)
            if decay and gradient.ndim > 1:
                self.parameters[i] *= shrunk
            self.parameters[i] -= root


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
