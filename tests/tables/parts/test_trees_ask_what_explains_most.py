"""Boosted symmetric trees: bins, questions and leaves, against their definitions."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np

from onegrad.tables.first_layer.scaling import ScaledRows
from onegrad.tables.model.targets import NumericTargets
from onegrad.tables.parts.trees import (
    MAX_BINS,
    BoostedTrees,
    Boosting,
    Grower,
    bin_edges,
    leaf_numbers,
    questions,
)

RNG = np.random.default_rng(0)
X = RNG.standard_normal((2500, 6))


def naive_question(bins, r, w):
    """The first question of a tree, by trying all of them."""
    gains = {}
    for c in range(bins.shape[1]):
        for b in range(bins[:, c].max()):
            sides = (bins[:, c] <= b, bins[:, c] > b)
            gains[c, b] = sum(r[side].sum() ** 2 / (w[side].sum() + 1.0) for side in sides)
    return max(gains, key=gains.get)


def test_the_first_question_explains_most():
    rng = np.random.default_rng(1)
    bins = rng.integers(0, [2, 9, 30], (400, 3)).astype(np.uint8)
    w = rng.random(400)
    r = w * (rng.standard_normal(400) + (bins[:, 2] > 17))
    columns, thresholds = questions(bins, r, w, 6)
    assert (columns[0], thresholds[0]) == naive_question(bins, r, w)
    assert len(columns) == 6


def test_bins_are_bounded_in_number_and_separate_few_values():
    for values in (1, 2, 7, MAX_BINS, 5 * MAX_BINS):
        x = RNG.permutation(np.arange(values).repeat(3)).astype(float)
        bins = np.searchsorted(bin_edges(x), x)
        assert bins.max() < MAX_BINS
        if values <= MAX_BINS:
            np.testing.assert_array_equal(bins, x)


def test_a_tree_says_the_same_of_bins_and_of_inputs():
    rng = np.random.default_rng(2)
    z = np.column_stack([rng.standard_normal(300), rng.integers(0, 4, 300)])
    y = rng.standard_normal(300)
    targets = NumericTargets.learn(SimpleNamespace(y=y, w=np.ones(300)), True)
    grower = Grower.of(ScaledRows(z, targets.encode(y), np.ones(300)), targets, Boosting(), 2)
    trees = [grower.tree(np.zeros((300, 1)), rng) for _ in range(5)]
    equal = replace(grower, rows=replace(grower.rows, t=np.ones((300, 1))))
    no_question_helps = [equal.tree(np.zeros((300, 1)), rng) for _ in range(5)]
    for some in (trees, no_question_helps):
        by_bins = sum(tree.values[grower.leaves(tree)] for tree in some)
        np.testing.assert_allclose(grower.sum(some)(z), by_bins, rtol=1e-6)


def test_the_answers_are_the_bits_of_the_leaf():
    answers = np.array([[False, False, False], [True, False, False], [True, False, True]])
    np.testing.assert_array_equal(leaf_numbers(answers), [0, 1, 5])
    tree = BoostedTrees(
        np.array([[1.0, 0.0]]),
        np.array([[0.5, 2.0]]),
        np.arange(4, dtype=np.float32).reshape(1, 4, 1),
    )
    z = np.array([[0.0, 0.0], [0.0, 1.0], [3.0, 0.0], [3.0, 1.0]])
    np.testing.assert_array_equal(tree(z)[:, 0], [0, 1, 2, 3])
