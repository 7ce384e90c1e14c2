"""Training of a network on codes of single inputs, from random weights, by gradient steps.

Minibatches, Adam with decaying weights, dropout, a rate that falls to zero as a cosine does; the
epoch whose loss on held-out rows is lowest counts. Labels are trained on the logistic loss.
"""

import math
from dataclasses import dataclass

import numpy as np

from onegrad.arrays import Floats
from onegrad.tables.first_layer.adam import AdamSteps
from onegrad.tables.first_layer.scaling import ScaledRows
from onegrad.tables.fitting.training_set import TrainingSet, minibatches
from onegrad.tables.model.targets import ClassTargets, NumericTargets, Targets
from onegrad.tables.parts.fixed_parts import CodedNetwork, InputCodes, Single

# chosen on seven sets. On jungle chess, 30,000 rows, where they have 0.7 % errors, half the rate
# with half the codes and neurons has 8.9 %, a tenth of the decay with twice the dropout 2.6 %
RATE = 0.004  # Adam's first step
DECAY = 0.1  # share of the weights that a step of length one takes off
DROPOUT = 0.1  # share of hidden neurons that a step leaves out
MAX_BATCH, MIN_BATCH = 256, 32  # rows of a step
STEPS_PER_EPOCH = 16  # at least, where rows are few
TREE_LEAVES, MIN_LEAF_ROWS = 64, 3  # of the tree whose thresholds are codes; chosen on wall robot
MAX_TREE_NUMBERS = 1e7  # rows times inputs that it sees
MAX_FLOPS, MIN_EPOCHS = 4e12, 10  # operations, about a minute on one core, of a schedule
# of the loss, in the second half of a schedule, that asks for another; chosen on jungle chess alone
MIN_LATE_GAIN = 0.1
FIRST_OUTPUTS = 0.3  # size of the outputs before the first step


@dataclass(frozen=True)
class CodedTraining:
    """The training of networks on codes of single inputs: how many, and how."""

    networks: int = 0
    hidden: tuple[int, ...] = (512, 256)  # neurons of the hidden layers
    epochs: int = 50  # of a schedule: its rate falls to zero; fewer where rows and inputs are many
    patience: int = 10  # epochs without improvement after which training ends
    schedules: int = 1  # at most; another one begins where the last still lowered the loss


def tree_thresholds(rows: ScaledRows, targets: Targets, columns: int) -> Floats:
    """Return (s, 2) inputs, by number, and thresholds at which a decision tree splits."""
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    seen = rows[: max(int(MAX_TREE_NUMBERS / columns), 1)]
    labels = isinstance(targets, ClassTargets)
    t = (seen.t > 0).argmax(1) if targets.outputs > 1 and labels else seen.t
    tree = (DecisionTreeClassifier if labels else DecisionTreeRegressor)(
        max_leaf_nodes=TREE_LEAVES, min_samples_leaf=MIN_LEAF_ROWS, random_state=0
    )
    splits = tree.fit(seen.z[:, :columns], t, seen.w).tree_
    inner = splits.feature >= 0
    pairs = np.stack([splits.feature[inner], splits.threshold[inner]], 1)
    return np.unique(pairs.astype(np.float64), axis=0)


def train_coded_network(
    training_set: TrainingSet,
    plan: CodedTraining,
    bound: float,
    rng: np.random.Generator,
    last_epoch: int | None = None,
) -> tuple[CodedNetwork, int]:
    """Train a network on the rows that are not held out; return it with its epoch.

    `bound` clips the inputs that it sees as they are. `last_epoch` counts where no rows are held
    out to choose one.
    """
    rows, held_out, targets = training_set.update, training_set.held_out, training_set.targets
    d = training_set.scaling.columns
    codes = InputCodes.learn(rows.z[:, :d], tree_thresholds(rows, targets, d))
    first = training_set.inputs - d
    sizes = [d + len(codes.column), *plan.hidden, targets.outputs]
    layers = range(len(sizes) - 1)
    scales = [math.sqrt(2.0 / size) for size in sizes[:-1]]
    scales[-1] *= FIRST_OUTPUTS
    weights = [
        np.float32(scales[i]) * rng.standard_normal(sizes[i : i + 2], np.float32) for i in layers
    ]
    biases = [np.zeros(size, np.float32) for size in sizes[1:]]
    network = CodedNetwork(codes, first, bound, tuple(weights), tuple(biases))
    u, u_held_out = network.inputs(rows.z), network.inputs(held_out.z)
    t, w = rows.t.astype(np.float32), (rows.w / rows.w.mean()).astype(np.float32)
    logits_per_score = np.float32(1.0 if isinstance(targets, NumericTargets) else 2.0)
    batch_rows = min(max(len(rows) // STEPS_PER_EPOCH, MIN_BATCH), MAX_BATCH)
    flops = 6.0 * training_set.sample_rows * sum(W.size for W in weights)  # of one epoch
    epochs = min(plan.epochs, max(int(MAX_FLOPS / flops), MIN_EPOCHS))
    affordable = int(2 * MAX_FLOPS / flops)  # epochs of all schedules
    schedules = min(plan.schedules, max(affordable // epochs, 1))
    adam = AdamSteps([*weights, *biases])
    lowest, best, best_epoch, halfway = np.inf, network, 0, np.inf
    for epoch in range(1, schedules * epochs + 1):
        for batch, progress in minibatches(len(rows), rng, batch_rows):
            h = [u[batch]]
            for W, b in zip(weights[:-1], biases[:-1], strict=True):
                h.append(h[-1] @ W)
                h[-1] += b
                np.maximum(h[-1], 0, out=h[-1])
                h[-1] *= rng.random(h[-1].shape, np.float32) >= DROPOUT
                h[-1] *= np.float32(1 / (1 - DROPOUT))
            f = h[-1] @ weights[-1] + biases[-1]
            slope = targets.residual(f / logits_per_score, t[batch])
            slope *= -w[batch, None] / np.float32(len(batch))
            gradients: list[Single] = [None] * (2 * len(weights))  # type: ignore[list-item]
            for i in reversed(layers):
                gradients[i] = h[i].T @ slope
                gradients[len(weights) + i] = slope.sum(0)
                if i:
                    slope = slope @ weights[i].T
                    slope *= h[i] > 0
                    slope *= np.float32(1 / (1 - DROPOUT))
            over = (epoch - 1 + progress) / epochs % 1  # part of this schedule
            adam.step(gradients, RATE * (0.5 * (1 + math.cos(math.pi * over))), DECAY)
        if last_epoch is not None:
            if epoch == last_epoch or training_set.progress.stopped:
                return network.scaled(1 / float(logits_per_score)), epoch
            continue
        scores = (network.outputs(u_held_out) / logits_per_score).astype(np.float64)
        loss = training_set.score(training_set.losses(scores))
        if loss < lowest:
            copies = (tuple(p.copy() for p in part) for part in (weights, biases))
            lowest, best_epoch = loss, epoch
            best = CodedNetwork(codes, first, bound, *copies)
        if epoch % epochs == epochs // 2:
            halfway = lowest
        # a rate that is large again undoes what was learned, and takes some epochs to pay
        expected = best_epoch if epoch <= epochs else max(best_epoch, epoch // epochs * epochs)
        if epoch - expected >= plan.patience or training_set.progress.stopped:
            break
        if epoch % epochs == 0 and lowest > (1 - MIN_LATE_GAIN) * halfway:
            break
    return best.scaled(1 / float(logits_per_score)), best_epoch
