r"""Parts of a prediction that further rows do not change: networks on codes, and trees.

A network of two hidden layers on codes of single inputs, trained by gradient steps:

.. math:: q(z) = A^\top\sigma\big(W_2\,\sigma(W_1 u + b_1) + b_2\big) + a_0, \qquad
          u = \big(\mathrm{clip}(z),\ 2\,c(z) - 1\big)

A code is a function of one input between 0 and 1: a ramp between two of its quantiles, a step where
a decision tree splits, or, where an input has few values, a peak at one of them. Codes make
thresholds and single values cheap, which neurons in general position need many of.

A sum of small symmetric trees:

.. math:: q(z) = \sum_t v_t\big[\ell_t(z)\big], \qquad
          \ell_t(z) = \sum_j 2^j\,1\{z_{c_{tj}} > \theta_{tj}\}

A tree asks all rows the same few questions, each about one input, and the answers are the bits of
the number of its leaf. Products of thresholds are what neurons in general position find last.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from onegrad.arrays import Floats
from onegrad.tables.first_layer.scaling import clip, row_slices

FEW_VALUES = 16  # values of an input up to which each has a code
MAX_RAMPS = 16  # ramps of an input with more values
MAX_CODES = 512  # of all inputs together
STEP_WIDTH = 1e-9  # over which a step rises
FAR = 1e6  # beyond all scaled inputs
PRODUCTS_PER_QUESTION = 200  # products of a network in the time of one question of a tree

Single = np.ndarray[Any, np.dtype[np.float32]]
Leaves = np.ndarray[Any, np.dtype[np.intp]]


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
class CodedNetwork:
    """Weights (in, out) and biases of each layer, in single precision."""

    codes: InputCodes  # of the first copy of the inputs
    first: int  # number of the first input that it sees as it is, of the last copy
    bound: float  # where these are clipped
    weights: tuple[Single, ...]
    biases: tuple[Single, ...]

    @property
    def numbers_per_row(self) -> int:
        """Number of products that the scores of one row take."""
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

    def __call__(self, z: Floats) -> Floats:
        """Return (n, K) scores of scaled inputs."""
        blocks = [self.outputs(self.inputs(z[rows])) for rows in row_slices(len(z))]
        return np.concatenate(blocks).astype(np.float64)

    def scaled(self, factor: float) -> CodedNetwork:
        """Return the network whose scores are multiplied by a factor."""
        weights = (*self.weights[:-1], np.float32(factor) * self.weights[-1])
        biases = (*self.biases[:-1], np.float32(factor) * self.biases[-1])
        return replace(self, weights=weights, biases=biases)


def leaf_numbers(answers: Any) -> Leaves:
    """(n,) numbers whose bits are the answers (n, D)."""
    return answers @ (1 << np.arange(answers.shape[1]))


@dataclass(frozen=True)
class BoostedTrees:
    """T trees of depth D, in the order in which they were grown."""

    columns: Floats  # (T, D) inputs, as numbers, that a tree asks about
    thresholds: Floats  # (T, D) above which the answer is yes
    values: Single  # (T, 2^D, K) what a leaf adds to the scores

    def __len__(self) -> int:
        return len(self.columns)

    @property
    def numbers_per_row(self) -> int:
        """Number of products that take as long as the scores of one row."""
        return PRODUCTS_PER_QUESTION * self.columns.size

    def __call__(self, z: Floats) -> Floats:
        """Return (n, K) scores of scaled inputs."""
        return np.concatenate([self._scores(z[rows]) for rows in row_slices(len(z))])

    def _scores(self, z: Floats) -> Floats:
        scores = np.zeros((len(z), self.values.shape[2]))
        for columns, thresholds, values in zip(
            self.columns.astype(np.intp), self.thresholds, self.values, strict=True
        ):
            scores += values[leaf_numbers(z[:, columns] > thresholds)]
        return scores

    def scaled(self, factor: float) -> BoostedTrees:
        """Return the trees whose scores are multiplied by a factor."""
        return replace(self, values=np.float32(factor) * self.values)

    def __add__(self, other: BoostedTrees) -> BoostedTrees:
        """Return the trees of both, of one depth."""
        pairs = zip(vars(self).values(), vars(other).values(), strict=True)
        return BoostedTrees(*map(np.concatenate, pairs))
