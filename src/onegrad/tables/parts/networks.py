r"""Networks of two hidden layers on codes of single inputs, trained by gradient steps.

.. math:: q(z) = A^\top\sigma\big(W_2\,\sigma(W_1 u + b_1) + b_2\big) + a_0, \qquad
          u = \big(\mathrm{clip}(z),\ 2\,c(z) - 1\big)

A code is a function of one input between 0 and 1: a ramp between two of its quantiles, a step where
a decision tree splits, or, where an input has few values, a peak at one of them. Codes make
thresholds and single values cheap, which neurons in general position need many of.

Training begins at random weights: minibatches, Adam with decaying weights, dropout. Labels are
trained on the logistic loss.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Self

import numpy as np

from onegrad.arrays import Floats
from onegrad.exceptions import InvalidInput
from onegrad.tables.first_layer.scaling import ScaledRows, clip, row_slices
from onegrad.tables.fitting.training_set import TrainingSet
from onegrad.tables.model.targets import ClassTargets, NumericTargets, Targets
from onegrad.tables.parts.learner import MANY_ROWS, FitSize, Learner, PartFit, Trial
from onegrad.tables.parts.part import FAR, ArraySpec, NamedArrays, Part, Single
from onegrad.tables.rows.sample import RowKeys
from onegrad.tables.training import Schedule, minibatches, train

FEW_VALUES = 16  # values of an input up to which each has a code
MAX_RAMPS = 16  # ramps of an input with more values
MAX_CODES = 512  # of all inputs together
STEP_WIDTH = 1e-9  # over which a step rises
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
FIRST_OUTPUTS = 0.3  # size of the outputs before the first step
# of their epochs: targets without noise take many. On jungle chess with 30,000 rows the held-out
# loss falls from 0.118 to 0.031 when the rate starts again
MANY_ROWS_REPEATS = 3
MAX_LAYERS = 8  # of a network in a file
CODED = 1  # number of their random numbers


@dataclass(frozen=True)
class InputCodes:
    """min((z - start)/rise, (stop - z)/fall), held between 0 and 1, of one input per code: (p,)."""

    column: Floats  # number of the input
    start: Floats
    rise: Floats
    stop: Floats
    fall: Floats

    def __call__(self, z: Floats) -> Floats:
        """(n, p) codes of scaled inputs (n, d)."""
        x = z[:, self.column.astype(np.intp)]
        code = np.minimum((x - self.start) / self.rise, (self.stop - x) / self.fall)
        return np.clip(code, 0.0, 1.0)

    @classmethod
    def learn(cls, z: Floats, steps: Floats | None = None) -> InputCodes:
        """Place ramps between quantiles of the rows, and peaks at values where these are few.

        An input with two values is its own code; where inputs are many, none has any. `steps` are
        (s, 2) numbers of inputs with thresholds.
        """
        values = [np.unique(column) for column in z.T]
        peaks = sum(len(v) for v in values if 2 < len(v) <= FEW_VALUES)
        many = sum(len(v) > FEW_VALUES for v in values)
        ramps = min((MAX_CODES - peaks) // max(many, 1), MAX_RAMPS)
        codes: list[Floats] = []
        for j, v in enumerate(values):
            if 2 < len(v) <= FEW_VALUES and peaks <= MAX_CODES:
                gap = np.diff(v, prepend=2 * v[0] - v[1], append=2 * v[-1] - v[-2])
                codes.append(np.stack([0 * v + j, v - gap[:-1], gap[:-1], v + gap[1:], gap[1:]], 1))
            elif len(v) > FEW_VALUES and ramps > 1:
                edges = np.unique(np.quantile(z[:, j], np.linspace(0, 1, ramps + 1)))
                rise = np.diff(edges)
                one = np.ones(len(rise))
                codes.append(np.stack([j * one, edges[:-1], rise, FAR * one, one], 1))
        if steps is not None:
            one = np.ones(len(steps))
            column, threshold = steps.T
            start, rise = threshold - STEP_WIDTH / 2, STEP_WIDTH * one
            codes.append(np.stack([column, start, rise, FAR * one, one], 1))
        return cls(*np.concatenate([np.zeros((0, 5)), *codes]).T)


@dataclass(frozen=True)
class CodedNetwork(Part):
    """Weights (in, out) and biases of each layer, in single precision."""

    codes: InputCodes  # of the first copy of the inputs
    first: int  # number of the first input that it sees as it is, of the last copy
    bound: float  # where these are clipped
    weights: tuple[Single, ...]
    biases: tuple[Single, ...]

    @property
    def products_per_row(self) -> int:
        return sum(W.size for W in self.weights)

    def inputs(self, z: Floats) -> Single:
        """Return what the first layer sees of scaled inputs."""
        seen = clip(z[:, self.first :], self.bound)
        return np.concatenate([seen, 2.0 * self.codes(z) - 1.0], 1).astype(np.float32)

    def outputs(self, u: Single) -> Single:
        """Return the (n, K) outputs for inputs of the first layer."""
        *hidden, last = zip(self.weights, self.biases, strict=True)
        for W, b in hidden:
            u = np.maximum(u @ W + b, 0)
        return u @ last[0] + last[1]

    def __call__(self, z: Floats, _: RowKeys | None = None) -> Floats:
        blocks = [self.outputs(self.inputs(z[rows])) for rows in row_slices(len(z))]
        return np.concatenate(blocks).astype(np.float64)

    def scaled(self, factor: float) -> CodedNetwork:
        weights = (*self.weights[:-1], np.float32(factor) * self.weights[-1])
        biases = (*self.biases[:-1], np.float32(factor) * self.biases[-1])
        return replace(self, weights=weights, biases=biases)

    @property
    def facts(self) -> dict[str, Any]:
        return {"first": self.first, "bound": self.bound, "layers": len(self.weights)}

    @classmethod
    def specs(cls, facts: Mapping[str, Any]) -> dict[str, ArraySpec]:
        layers = int(facts["layers"])
        if not 0 < layers <= MAX_LAYERS:
            raise InvalidInput("network", problem=f"it has {layers} layers")
        axes = ["seen", *(f"hidden{i}" for i in range(1, layers)), "outputs"]
        weights = {
            f"W{i}": ArraySpec(f"{before} {after}", np.float32)
            for i, (before, after) in enumerate(pairwise(axes))
        }
        biases = {f"b{i}": ArraySpec(axis, np.float32) for i, axis in enumerate(axes[1:])}
        return {"codes": ArraySpec("numbers codes"), **weights, **biases}

    def arrays(self) -> NamedArrays:
        weights = {f"W{i}": W for i, W in enumerate(self.weights)}
        biases = {f"b{i}": b for i, b in enumerate(self.biases)}
        return {"codes": np.stack([*vars(self.codes).values()]), **weights, **biases}

    @classmethod
    def from_arrays(cls, arrays: NamedArrays, facts: Mapping[str, Any], inputs: int, /) -> Self:
        codes, first, bound = InputCodes(*arrays["codes"]), int(facts["first"]), facts["bound"]
        inside = (codes.column >= 0) & (codes.column < inputs) & (codes.rise > 0) & (codes.fall > 0)
        if not inside.all() or not 0 <= first < inputs or not bound > 0:
            raise InvalidInput("network", problem="its codes are not those of the inputs")
        if len(arrays["W0"]) != inputs - first + len(codes.column):
            raise InvalidInput("network", problem="its weights and codes do not fit together")
        layers = range(int(facts["layers"]))
        weights, biases = (tuple(arrays[f"{name}{i}"] for i in layers) for name in "Wb")
        return cls(codes, first, float(bound), weights, biases)


@dataclass(frozen=True)
class CodedTraining(Learner):
    """The training of networks on codes of single inputs: how many, and how."""

    networks: int = 2
    hidden: tuple[int, ...] = (512, 256)  # neurons of the hidden layers
    epochs: int = 50  # over which the rate falls to zero; fewer where rows and inputs are many
    patience: int = 10  # epochs without improvement after which training ends
    repeats: int = 1  # of the epochs, at most

    @classmethod
    def of(cls, size: FitSize) -> CodedTraining | None:
        """Return how networks are trained: for numbers, only where rows are many."""
        few = size.rows < MANY_ROWS
        small = few and size.budget == "default"
        if size.budget == "fast" or (small and not size.labels):
            return None
        # where rows are few: half the neurons and half the epochs had the same loss, three
        # networks 0.98
        plan = cls(hidden=(256, 128), epochs=25) if small else cls()
        repeats = 1 if few else MANY_ROWS_REPEATS
        return replace(plan, repeats=repeats, patience=size.patience or plan.patience)

    def trials(self, fit: PartFit) -> Iterator[Trial]:
        progress = fit.training_set.progress
        if progress.stopped:
            return

        def network(
            rows: TrainingSet, number: int, last_epoch: int | None = None
        ) -> tuple[CodedNetwork, int]:
            rng = fit.random_numbers(CODED, number)
            return train_coded_network(rows, self, fit.best.layer.bound, rng, last_epoch)

        first, epoch = network(fit.training_set, 0)

        def relearn() -> list[CodedNetwork]:
            rows = fit.training_set.without_held_out
            further = [network(rows, i, epoch)[0] for i in range(1, self.networks)]
            return [first, *([] if progress.stopped else further)]

        yield Trial(first(fit.judged.held_out.z), first, relearn)


def tree_thresholds(rows: ScaledRows, targets: Targets, columns: int) -> Floats:
    """Return (s, 2) inputs, by number, and thresholds at which a decision tree splits."""
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    seen = rows[: max(int(MAX_TREE_NUMBERS / columns), 1)]
    labels = isinstance(targets, ClassTargets)
    t = (seen.t > 0).argmax(1) if targets.outputs > 1 and labels else seen.t
    kind = DecisionTreeClassifier if labels else DecisionTreeRegressor
    tree = kind(max_leaf_nodes=TREE_LEAVES, min_samples_leaf=MIN_LEAF_ROWS, random_state=0)
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
    sizes = [d + len(codes.column), *plan.hidden, targets.outputs]
    scales = [math.sqrt(2.0 / size) for size in sizes[:-1]]
    scales[-1] *= FIRST_OUTPUTS
    weights = tuple(
        np.float32(scale) * rng.standard_normal(shape, np.float32)
        for scale, shape in zip(scales, pairwise(sizes), strict=True)
    )
    biases = tuple(np.zeros(size, np.float32) for size in sizes[1:])
    network = CodedNetwork(codes, training_set.inputs - d, bound, weights, biases)
    u, u_held_out = network.inputs(rows.z), network.inputs(held_out.z)
    t, w = rows.t.astype(np.float32), (rows.w / rows.w.mean()).astype(np.float32)
    logits_per_score = np.float32(1.0 if isinstance(targets, NumericTargets) else 2.0)

    def gradients(batch: Any) -> list[Single]:
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
        of_weights, of_biases = [], []
        for i in reversed(range(len(weights))):
            of_weights.append(h[i].T @ slope)
            of_biases.append(slope.sum(0))
            if i:
                slope = slope @ weights[i].T
                slope *= h[i] > 0
                slope *= np.float32(1 / (1 - DROPOUT))
        return [*of_weights[::-1], *of_biases[::-1]]

    def held_out_loss() -> float:
        scores = (network.outputs(u_held_out) / logits_per_score).astype(np.float64)
        return training_set.score(training_set.losses(scores))

    flops = 6.0 * len(training_set.keys) * sum(W.size for W in weights)  # of one epoch
    epochs = min(plan.epochs, max(int(MAX_FLOPS / flops), MIN_EPOCHS))
    affordable = max(int(2 * MAX_FLOPS / flops) // epochs, 1)
    batch_rows = min(max(len(rows) // STEPS_PER_EPOCH, MIN_BATCH), MAX_BATCH)
    best = train(
        [*weights, *biases],
        gradients,
        lambda: minibatches(len(rows), rng, batch_rows),
        Schedule(RATE, epochs, DECAY, plan.patience, min(plan.repeats, affordable)),
        held_out_loss if last_epoch is None else None,
        last_epoch=last_epoch,
        stopped=lambda: training_set.progress.stopped,
    )
    layers = len(weights)
    weights, biases = tuple(best.parameters[:layers]), tuple(best.parameters[layers:])
    network = replace(network, weights=weights, biases=biases)
    return network.scaled(1 / float(logits_per_score)), best.epoch
