r"""Gradient steps on the parameters of a network, or of a stack of networks: Adam, and its rate.

.. math:: m \leftarrow \beta_1m + (1-\beta_1)g,\quad v \leftarrow \beta_2v + (1-\beta_2)g^2,\quad
    \theta \leftarrow (1-\eta\delta)\theta
    - \eta\,\frac{m}{1-\beta_1^t}\Big/\Big(\sqrt{\frac{v}{1-\beta_2^t}}+\epsilon\Big)

with the decay :math:`\delta` of the weights apart from the gradient, as in Loshchilov and Hutter
2019. The rate :math:`\eta` falls to zero as a cosine does; the epoch whose loss on held-out rows is
lowest counts.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from onegrad.arrays import Array, namespace

BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-8  # as Kingma and Ba 2015 suggest
MINIBATCH_ROWS = 256
# of the loss, in the second half of a schedule, that asks for another; chosen on jungle chess alone
MIN_LATE_GAIN = 0.1


@dataclass(frozen=True)
class Schedule:
    """Course of the rate of a training, and its end."""

    rate: float | Array  # of Adam's first step; an array has the leading axes of the stack
    epochs: int = 1  # over which the rate falls to zero
    decay: float = 0.0  # share of the weights that a step of length one takes off
    patience: float = math.inf  # epochs without improvement after which training ends
    # how often the epochs are made at most, each time from the first rate on: once more where the
    # loss still fell in the second half of them
    repeats: int = 1


@dataclass(frozen=True)
class Trained:
    """The epoch that counts, its loss on held-out rows, and its parameters."""

    epoch: int
    loss: float
    parameters: Sequence[Array]


def train(
    parameters: Sequence[Array],
    gradients: Callable[[Any], Sequence[Array]],
    batches: Callable[[], Iterable[tuple[Any, float]]],
    schedule: Schedule,
    held_out_loss: Callable[[], float] | None = None,
    *,
    last_epoch: int | None = None,
    stopped: Callable[[], bool] = lambda: False,
) -> Trained:
    """Move the parameters, in place, and return those of the epoch that counts.

    Parameters
    ----------
    gradients : those of the loss on a minibatch.
    batches : the minibatches of one epoch, each with the share of the epoch that lies before it.
    held_out_loss : of the parameters as they are; the epoch where it is lowest counts. None: the
        last one made.
    last_epoch : after which training ends.
    stopped : whether it is to end now.
    """
    adam = AdamSteps(parameters)
    best = Trained(0, math.inf, parameters)
    epochs, halfway = schedule.epochs, math.inf
    for epoch in range(1, schedule.repeats * epochs + 1):
        for batch, share in batches():
            done = (epoch - 1 + share) / epochs % 1
            rate = schedule.rate * (0.5 * (1 + math.cos(math.pi * done)))
            adam.step(gradients(batch), rate, schedule.decay)
        if held_out_loss is None:
            best = Trained(epoch, math.nan, parameters)
            if epoch == last_epoch or stopped():
                break
            continue
        if (loss := held_out_loss()) < best.loss:
            best = Trained(epoch, loss, [p.copy() for p in parameters])
        if epoch % epochs == epochs // 2:
            halfway = best.loss
        # a rate that is large again undoes what was learned, and takes some epochs to pay
        restart = epoch // epochs * epochs if epoch > epochs else 0
        if epoch - max(best.epoch, restart) >= schedule.patience or stopped():
            break
        if epoch % epochs == 0 and best.loss > (1 - MIN_LATE_GAIN) * halfway:
            break
    return best


def minibatches(
    n: int, rng: np.random.Generator, size: int = MINIBATCH_ROWS
) -> Iterator[tuple[Any, float]]:
    """Yield the rows of each minibatch of one epoch in random order, and the epoch's share done."""
    order = rng.permutation(n)
    for start in range(0, n, size):
        yield order[start : start + size], start / n


class AdamSteps:
    """Adam's moments of some parameters; a step changes the parameters in place."""

    def __init__(self, parameters: Sequence[Array]) -> None:
        self.parameters = list(parameters)
        self.means = [0 * p for p in self.parameters]
        self.squares = [0 * p for p in self.parameters]
        self.count = 0

    def step(self, gradients: Sequence[Array], rate: float | Array, decay: float = 0.0) -> None:
        """Move the parameters against their gradients; matrices also shrink by rate * decay.

        An array of rates has the leading axes of the stack: each network has its own.
        """
        self.count += 1
        stack_axes = getattr(rate, "ndim", 0)
        if not stack_axes:
            rate = float(rate)  # NumPy's own float64 would lift single precision to double
        mean_share, square_share = 1 - BETA1**self.count, 1 - BETA2**self.count
        shrunk = 1 - rate * decay
        rate = rate / mean_share
        for i, gradient in enumerate(gradients):
            theta, mean, square = self.parameters[i], self.means[i], self.squares[i]
            # in place, with one array of work memory: fresh memory would cost more than the sums
            mean *= BETA1
            mean += (1 - BETA1) * gradient
            work = gradient * gradient
            work *= 1 - BETA2
            square *= BETA2
            square += work
            xp = namespace(square)
            xp.divide(square, square_share, out=work)
            xp.sqrt(work, out=work)
            work += EPSILON
            xp.divide(mean, work, out=work)
            work *= _beside(rate, theta, stack_axes)
            if decay and theta.ndim - stack_axes > 1:
                theta *= _beside(shrunk, theta, stack_axes)
            theta -= work


def _beside(number: Array, theta: Array, stack_axes: int) -> Array:
    """Return a number per network in a shape that broadcasts against their parameters."""
    return number[(..., *(theta.ndim - stack_axes) * (None,))] if stack_axes else number
