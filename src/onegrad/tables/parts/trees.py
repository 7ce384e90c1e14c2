r"""Boosted symmetric trees, grown on the gradient of the loss.

.. math:: q(z) = \sum_t v_t\big[\ell_t(z)\big], \qquad
          \ell_t(z) = \sum_j 2^j\,1\{z_{c_{tj}} > \theta_{tj}\}

A tree asks all rows the same few questions, each about one input, and the answers are the bits of
the number of its leaf. Products of thresholds are what neurons in general position find last.

Inputs fall into bins between quantiles. A level of a tree takes the question that explains most of
the gradients r in all leaves together,

.. math:: \max_{c, \theta} \sum_{\text{leaves}} \frac{(\sum w r)^2}{\sum w + \lambda},

over the rows and inputs that are drawn for this tree. Where there are several outputs, r is a
random combination of them, another one for every tree: it costs as much as one. The value of a leaf
is a share of one Newton step over all rows. The number of trees is the one whose loss on held-out
rows is lowest.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from onegrad.arrays import Floats
from onegrad.exceptions import InvalidInput
from onegrad.tables.first_layer.scaling import ScaledRows, row_slices
from onegrad.tables.fitting.training_set import TrainingSet
from onegrad.tables.model.targets import MultilabelTargets, NumericTargets, Targets
from onegrad.tables.parts.learner import MANY_CLASSES, MANY_ROWS, FitSize, Learner, PartFit, Trial
from onegrad.tables.parts.part import FAR, ArraySpec, NamedArrays, Part, Single
from onegrad.tables.rows.sample import RowKeys

Leaves = np.ndarray[Any, np.dtype[np.intp]]

PRODUCTS_PER_QUESTION = 200  # in the time of one question of a tree
MAX_DEPTH = 16  # of trees in a file
# chosen with depth and rate on inner splits of ten sets with 3,000 rows; fewer bins, depth 4, a
# third of the inputs, three times the penalty and twice the rate (1.03) did not help
MAX_BINS = 128  # of an input
PERIOD = 4  # of the edges that one tree looks at
PENALTY = 1.0  # lambda, and what is added to the second derivatives of a leaf
ROW_SHARE, COLUMN_SHARE = 0.8, 0.7  # of rows and inputs that a tree's questions are chosen among
MAX_TREE_CELLS, MAX_TREE_COLUMNS = 200_000, 32  # rows times inputs, and inputs, of these at most
CHECK_PERIOD = 10  # trees between two looks at the held-out rows
BOOSTED = 2  # number of their random numbers


def leaf_numbers(answers: Any) -> Leaves:
    """(n,) numbers whose bits are the answers (n, D)."""
    return answers @ (1 << np.arange(answers.shape[1]))


@dataclass(frozen=True)
class BoostedTrees(Part):
    """T trees of depth D, in the order in which they were grown."""

    columns: Floats  # (T, D) inputs, as numbers, that a tree asks about
    thresholds: Floats  # (T, D) above which the answer is yes
    values: Single  # (T, 2^D, K) what a leaf adds to the scores

    def __len__(self) -> int:
        return len(self.columns)

    @property
    def products_per_row(self) -> int:
        return PRODUCTS_PER_QUESTION * self.columns.size

    def __call__(self, z: Floats, _: RowKeys | None = None) -> Floats:
        return np.concatenate([self._scores(z[rows]) for rows in row_slices(len(z))])

    def _scores(self, z: Floats) -> Floats:
        scores = np.zeros((len(z), self.values.shape[2]))
        for columns, thresholds, values in zip(
            self.columns.astype(np.intp), self.thresholds, self.values, strict=True
        ):
            scores += values[leaf_numbers(z[:, columns] > thresholds)]
        return scores

    def scaled(self, factor: float) -> BoostedTrees:
        return replace(self, values=np.float32(factor) * self.values)

    @classmethod
    def specs(cls, _: Mapping[str, Any]) -> dict[str, ArraySpec]:
        return {
            "columns": ArraySpec("trees depth"),
            "thresholds": ArraySpec("trees depth"),
            "values": ArraySpec("trees leaves outputs", np.float32),
        }

    @classmethod
    def from_arrays(cls, arrays: NamedArrays, _: Mapping[str, Any], inputs: int, /) -> Self:
        trees = cls(**arrays)
        if not ((trees.columns >= 0) & (trees.columns < inputs)).all():
            raise InvalidInput("trees", problem="they ask about inputs that do not exist")
        if trees.values.shape[1] != 2 ** min(trees.columns.shape[1], MAX_DEPTH):
            raise InvalidInput("trees", problem="their leaves are not those of their questions")
        return trees


@dataclass(frozen=True)
class Boosting(Learner):
    """The growth of boosted trees."""

    trees: int = 300  # at most
    rate: float = 0.1  # share of a Newton step that a tree makes
    patience: int = 40  # trees in a row that may bring nothing before growth ends
    depth: int = 6  # questions of a tree

    @classmethod
    def of(cls, size: FitSize) -> Boosting:
        """Return how trees are grown: larger ones where rows are many, and classes are not."""
        fast = size.budget == "fast"
        if size.rows >= MANY_ROWS and size.outputs < MANY_CLASSES and not fast:
            return cls(800, depth=8)
        return cls(150, 0.2) if fast else cls() if size.budget == "default" else cls(600, 0.05, 80)

    def trials(self, fit: PartFit) -> Iterator[Trial]:
        progress = fit.training_set.progress
        if progress.stopped:
            return
        trees = grow_trees(fit.training_set, self, fit.random_numbers(BOOSTED))

        def relearn() -> list[BoostedTrees]:
            plan = replace(self, trees=len(trees))
            rows = fit.training_set.without_held_out
            again = grow_trees(rows, plan, fit.random_numbers(BOOSTED))
            return [trees if progress.stopped else again]

        yield Trial(trees(fit.judged.held_out.z), trees, relearn)


@dataclass(frozen=True)
class Tree:
    """Questions, as inputs (D,) and bins (D,), and the values (2^D, K) of the leaves."""

    columns: Leaves
    bins: Leaves
    values: Floats


@dataclass(frozen=True)
class Grower:
    """Grows trees on rows."""

    rows: ScaledRows
    targets: Targets
    plan: Boosting
    edges: Floats  # (d, B) upper ends of an input's bins but the last; far away where it has fewer
    bins: Any  # (n, d) the bin of each input

    @classmethod
    def of(cls, rows: ScaledRows, targets: Targets, plan: Boosting, columns: int) -> Grower:
        """Place the bins of the first inputs, so many."""
        edges = np.full((columns, MAX_BINS), FAR)
        bins = np.empty((len(rows), columns), np.uint8)
        for j, x in enumerate(rows.z[:, :columns].T):
            ends = bin_edges(x)
            edges[j, : len(ends)] = ends
            bins[:, j] = np.searchsorted(ends, x)  # bin > b where x > ends[b]
        return cls(rows, targets, plan, edges, bins)

    def leaves(self, tree: Tree) -> Leaves:
        """Return the leaf of each row."""
        return leaf_numbers(self.bins[:, tree.columns] > tree.bins)

    def tree(self, F: Floats, rng: np.random.Generator) -> Tree:
        """Grow one more tree beside those whose sum is F (n, K)."""
        t, w = self.rows.t, self.rows.w[:, None]
        n, d = self.bins.shape
        residual = self.targets.residual(F, t)
        count = min(max(round(COLUMN_SHARE * d), 1), MAX_TREE_COLUMNS)
        columns = np.sort(rng.choice(d, count, replace=False))
        drawn = np.flatnonzero(rng.random(n) < min(ROW_SHARE, MAX_TREE_CELLS / (n * count)))
        r = w[drawn] * residual[drawn]
        r = r @ rng.standard_normal(r.shape[1])
        bins = self.bins[drawn[:, None], columns]
        # one in so many edges, other ones for every tree: as good as all, in a part of the time
        period = np.where(bins.max(0, initial=0) < MAX_BINS // PERIOD, 1, PERIOD)
        first = rng.integers(period)
        chosen, coarse = questions((bins + first) // period, r, w[drawn, 0], self.plan.depth)
        # where no question explains anything the last bin wins: its end may lie beyond all edges
        thresholds = (coarse + 1) * period[chosen] - first[chosen] - 1
        thresholds = np.clip(thresholds, 0, MAX_BINS - 1)
        tree = Tree(columns[chosen], thresholds, np.zeros((0, 1)))
        leaf = self.leaves(tree)
        curvature = np.ones_like(F)
        if not isinstance(self.targets, NumericTargets):
            p = (t > 0) - residual
            curvature = p * (1 - p)
        leaves = 2**self.plan.depth
        sums, curvatures = (  # (leaves, K) each
            np.stack([np.bincount(leaf, v, leaves) for v in (w * values).T], 1)
            for values in (residual, curvature)
        )
        step = sums / (curvatures + PENALTY)
        return replace(tree, values=self.plan.rate / logits_per_score(self.targets) * step)

    def sum(self, trees: Sequence[Tree]) -> BoostedTrees:
        """Return the sum of trees as a function of scaled inputs."""
        shape = len(trees), self.plan.depth
        columns = np.array([tree.columns for tree in trees], np.intp).reshape(shape)
        bins = np.array([tree.bins for tree in trees], np.intp).reshape(shape)
        values = np.array([tree.values for tree in trees], np.float32)
        values = values.reshape(len(trees), 2**self.plan.depth, self.targets.outputs)
        return BoostedTrees(columns.astype(np.float64), self.edges[columns, bins], values)


def logits_per_score(targets: Targets) -> float:
    """Return the units of the loss's argument in one of the scores: one where they are numbers."""
    if isinstance(targets, NumericTargets):
        return 1.0
    each_alone = targets.outputs == 1 or isinstance(targets, MultilabelTargets)
    return 4.0 if each_alone else 2.0


def bin_edges(x: Floats) -> Floats:
    """Return the upper ends of the bins of one input but the last."""
    values = np.unique(x)
    if len(values) > MAX_BINS:
        inner = np.linspace(0, 1, MAX_BINS + 1)[1:-1]
        return np.unique(np.quantile(x, inner, method="lower"))
    return (values[1:] + values[:-1]) / 2


def questions(bins: Any, r: Floats, w: Floats, depth: int) -> tuple[Leaves, Leaves]:
    """Return the inputs (D,) and bins (D,) of the questions that explain r (n,) best.

    `r` are gradients times the weights w (n,).
    """
    n, d = bins.shape
    counts = bins.max(0, initial=0).astype(np.intp) + 1
    ends = np.cumsum(counts)
    column = np.repeat(np.arange(d), counts)  # of each cell: the bins of all inputs in a row
    cells = bins + (ends - counts)
    r, w = np.repeat(r, d), np.repeat(w, d)
    leaf = np.zeros(n, np.intp)
    chosen = []
    for level in range(depth):
        index = (cells + (leaf * ends[-1])[:, None]).ravel()
        size = 2**level * ends[-1]
        below = np.stack([np.bincount(index, v, size) for v in (r, w)])
        below = below.reshape(2, 2**level, -1)
        np.cumsum(below, 2, out=below)
        total = below[:, :, -1:] / d  # every input has all rows in its bins
        below -= column * total
        cell = int(np.argmax(explained_squares(below.astype(np.float32), total.astype(np.float32))))
        c = int(column[cell])
        b = cell - int(ends[c] - counts[c])
        leaf += (bins[:, c] > b).astype(np.intp) << level
        chosen.append((c, b))
    columns, thresholds = np.array(chosen).T
    return columns, thresholds


def explained_squares(below: Any, total: Any) -> Any:
    """(cells,) sums over the leaves and both sides of (sum w r)^2 / (sum w + lambda).

    `below` (2, leaves, cells) and `total` (2, leaves, 1) are sums of w r and of w.
    """
    both = []
    for side in (below, total - below):
        weight = np.maximum(side[1], 0)  # rounding may leave less than nothing
        weight += np.float32(PENALTY)
        square = side[0] * side[0]
        square /= weight
        both.append(square.sum(0))
    return both[0] + both[1]


def grow_trees(training_set: TrainingSet, plan: Boosting, rng: np.random.Generator) -> BoostedTrees:
    """Grow trees on the rows that are not held out; these choose how many count.

    Where none are held out, all do.
    """
    rows, held_out = training_set.update, training_set.held_out
    rows = replace(rows, w=rows.w / rows.w.mean())
    grower = Grower.of(rows, training_set.targets, plan, training_set.scaling.columns)
    F, F_held_out = np.zeros_like(rows.t), np.zeros_like(held_out.t)
    trees: list[Tree] = []
    lowest, best = np.inf, 0
    while len(trees) < min(plan.trees, best + plan.patience):
        if training_set.progress.stopped:
            break
        for _ in range(CHECK_PERIOD):
            trees.append(grower.tree(F, rng))
            F += trees[-1].values[grower.leaves(trees[-1])]
        F_held_out += grower.sum(trees[-CHECK_PERIOD:])(held_out.z)
        loss = training_set.score(training_set.losses(F_held_out)) if len(held_out) else -len(trees)
        if loss < lowest:
            lowest, best = loss, len(trees)
    return grower.sum(trees[:best])
