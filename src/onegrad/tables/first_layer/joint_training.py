r"""Joint training of first layer and readout by gradient steps on the loss of the targets.

.. math:: \min_{W, b, a, a_0}\ \frac1n\sum_i L(t_i, f_i), \qquad
          f_i = a_z\cdot z_i + a\cdot\sigma(W z_i + b) + a_0

L is the squared error of numbers and the logistic loss of labels. Rounds draw neurons and ridge
weighs them; steps move those neurons, all together and many times over all rows, to where the loss
is lower. That is what targets without noise ask for, and ridge on plus and minus one is no
substitute for the logistic loss where classes are many. Minibatches, Adam's step, a rate that falls
to zero as a cosine does; the epoch whose loss on held-out rows is lowest counts. Everything is in
single precision: half the time, and the noise of a minibatch is larger than its rounding.

The coefficients :math:`a_z` of the skip stay as ridge made them: the skip's inputs are not clipped,
and one row far outside would take over a minibatch.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from onegrad.arrays import Floats
from onegrad.ridge import Readout
from onegrad.tables.first_layer.layer import Layer
from onegrad.tables.first_layer.neurons import NeuronSampler
from onegrad.tables.first_layer.scaling import ScaledRows, clip
from onegrad.tables.fitting.candidates import Candidate
from onegrad.tables.fitting.training_set import TrainingSet
from onegrad.tables.model.targets import NumericTargets
from onegrad.tables.parts.head import scaled_readout
from onegrad.tables.parts.part import Single
from onegrad.tables.training import EPSILON, Schedule, minibatches, train

MAX_EPOCHS = 40  # over which the rate falls to zero
EPOCH_PATIENCE = 8  # epochs without improvement after which training ends
UNIT_SLOPE = 2.0  # slope of the logistic function at which scores are trained


@dataclass(frozen=True)
class TrainedNetwork:
    """A first layer and the readout that was trained with it, and its loss on held-out rows."""

    layer: Layer
    readout: Readout
    held_out_loss: float
    epoch: int


def train_jointly(
    training_set: TrainingSet,
    candidate: Candidate,
    rate: float,
    rng: np.random.Generator,
    patience: int = EPOCH_PATIENCE,
) -> TrainedNetwork | None:
    """Train from a candidate on; None where no epoch lowers the loss of the held-out rows.

    `rate` is that of Adam's first step; training ends after `patience` epochs without improvement.
    """
    # from the rounds' neurons: from random ones kin8nm has an error of 0.40 instead of 0.28
    layer, targets = candidate.layer, training_set.targets
    rows, held_out = training_set.update, training_set.held_out
    scale = 1.0
    if not isinstance(targets, NumericTargets):
        judged = held_out[: len(candidate.predicted)]  # the search may have had fewer rows
        scale = targets.slope(candidate.predicted, judged.t, judged.w) / UNIT_SLOPE
    start = scaled_readout(candidate.readout, scale)
    skip = layer.width - len(layer.W)
    W, b, a = balanced(layer.W, layer.b, start.coef[skip:])
    a_0 = start.intercept.astype(np.float32)
    inputs, offsets = network_inputs(rows, layer, start)
    held_out_inputs, held_out_offsets = network_inputs(held_out, layer, start)
    t = rows.t.astype(np.float32)
    w = (rows.w / rows.w.mean()).astype(np.float32)

    def held_out_loss() -> float:
        h = np.maximum(held_out_inputs @ W.T + b, 0)
        f = h @ a + held_out_offsets + a_0
        if isinstance(targets, NumericTargets):
            losses = targets.loss(f, held_out.t, held_out.w)
        else:  # at the slope they are trained at
            losses = targets.log_loss(f, held_out.t, UNIT_SLOPE)
        return float(held_out.w @ losses / held_out.w.sum())

    def gradients(batch: Any) -> list[Single]:
        x = inputs[batch]
        h = x @ W.T
        h += b
        np.maximum(h, 0, out=h)
        f = h @ a
        f += offsets[batch]
        f += a_0
        r = targets.residual(f, t[batch])
        r *= -w[batch, None] / np.float32(len(x))
        slopes = r @ a.T
        slopes *= h > 0
        return [slopes.T @ x, slopes.sum(0), h.T @ r, r.sum(0)]

    best = train(
        [W, b, a, a_0],
        gradients,
        lambda: minibatches(len(rows), rng),
        Schedule(rate, MAX_EPOCHS, patience=patience),
        held_out_loss,
        first_loss=held_out_loss(),
        stopped=lambda: training_set.progress.stopped,
    )
    if not best.epoch:
        return None
    directions, biases, weights, intercept = (p.astype(np.float64) for p in best.parameters)
    deviation = NeuronSampler.of(rows, layer.bound).deviations(directions)
    coef = np.concatenate([start.coef[:skip], weights * deviation[:, None]])
    directions /= deviation[:, None]
    trained = replace(layer, W=directions, b=biases / deviation, step=None)
    return TrainedNetwork(trained, Readout(start.ridge, coef, intercept), best.loss, best.epoch)


def balanced(W: Floats, b: Floats, a: Floats) -> tuple[Single, Single, Single]:
    """Return neurons whose weights in and out are of equal size, in single precision.

    A ReLU may be scaled before or after: c relu(h) = relu(c h). One rate then suits both.
    """
    into = np.sqrt((W**2).sum(1) + b**2)
    # a neuron that ridge does not use would shrink to nothing, and its coefficients be 0/0
    out = np.sqrt((a**2).sum(1)) + 1e-3
    c = np.sqrt(out / np.maximum(into, EPSILON))
    as_single = (np.asarray(v, np.float32) for v in (W * c[:, None], b * c, a / c[:, None]))
    return tuple(as_single)  # type: ignore[return-value]


def network_inputs(rows: ScaledRows, layer: Layer, readout: Readout) -> tuple[Single, Single]:
    """Return the neurons' inputs (m, d), and the (m, K) part of the skip in the predictions."""
    skip = layer.width - len(layer.W)
    offsets = rows.z[:, :skip] @ readout.coef[:skip]
    return clip(rows.z, layer.bound).astype(np.float32), offsets.astype(np.float32)
