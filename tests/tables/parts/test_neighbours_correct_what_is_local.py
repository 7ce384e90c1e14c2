"""The nearest rows in the learned metric: where they help, and what they are."""

from dataclasses import replace

import numpy as np
import pytest

import onegrad as og
from onegrad.tables.parts import neighbours, networks, trees
from onegrad.tables.parts.neighbours import (
    NEAREST,
    NearbyRows,
    Neighbours,
    kernel_means,
    local_means,
    nearest,
)

RNG = np.random.default_rng(0)
CELLS = RNG.random((16, 16))  # a number for each cell of a grid: no ridge, no direction, no trend
X = RNG.uniform(0, 16, (2000, 2))
Y = CELLS[tuple(X.astype(int).T)]
X_NEW = RNG.uniform(0, 16, (600, 2))
Y_NEW = CELLS[tuple(X_NEW.astype(int).T)]
SMALL = {"budget": "fast", "rounds": 0, "random_state": 0}


@pytest.mark.full
def test_they_help_where_targets_are_local():
    local, plain = (
        og.AlternatingRegressor(corrections=corrections, **SMALL).fit(X, Y)
        for corrections in ("auto", "none")
    )
    assert plain.fitted_.parts == ()
    assert local.choice_["neighbours_weight"] > 0.3
    assert 1 - local.score(X_NEW, Y_NEW) < 0.85 * (1 - plain.score(X_NEW, Y_NEW))
    local, plain = (
        og.AlternatingClassifier(corrections=corrections, **SMALL).fit(X, Y > 0.5)
        for corrections in ("auto", "none")
    )
    assert local.score(X_NEW, Y_NEW > 0.5) > plain.score(X_NEW, Y_NEW > 0.5) + 0.02


@pytest.mark.full
def test_parts_are_left_out_where_they_cannot_help(monkeypatch):
    """Neighbours, networks on codes and trees know nothing of a line that ridge does not."""
    for module in (networks, trees):
        monkeypatch.setattr(module, "MANY_ROWS", 1000)
    line = X @ [1.0, -2.0] + 3 * RNG.standard_normal(len(X))
    model = og.AlternatingRegressor(50, rounds=0, corrections="auto", random_state=0).fit(X, line)
    assert model.fitted_.parts == ()
    assert not any(name.endswith("_weight") for name in model.choice_)


class Memory:
    """In place of trees: as good on held-out rows as neighbours are."""

    def __init__(self, training_set):
        self.means = local_means(training_set, np.eye(2), (1,))[1]

    def __call__(self, z):
        return self.means[: len(z)]

    def scaled(self, factor):
        return self


@pytest.mark.full
def test_they_are_chosen_before_parts_that_stay(monkeypatch):
    """Both explain the same; held-out rows join the neighbours after the fit."""
    monkeypatch.setattr(trees, "grow_trees", lambda rows, *_: Memory(rows))
    model = og.AlternatingRegressor(**SMALL).fit(X, Y)
    assert model.choice_["neighbours_weight"] > 0.3
    assert model.fitted_.fixed_parts == ()


def naive_means(points, rows, count):
    means = []
    for x in points.astype(float):
        square = ((rows.points.astype(float) - x) ** 2).sum(1)
        near = np.argsort(square, kind="stable")[:NEAREST]
        width = square[near[count - 1]] + 1e-12
        kernel = np.exp(-2 * square[near] / width) - np.exp(-2 * square[near[-1]] / width)
        weight = (kernel + neighbours.MIN_KERNEL) * rows.w[near]
        means.append(weight @ rows.t[near] / weight.sum())
    return np.array(means)


def test_the_mean_is_that_of_the_definition():
    rng = np.random.default_rng(1)
    points = rng.standard_normal((300, 3)).astype(np.float32)
    rows = NearbyRows(
        np.arange(300, dtype=np.uint64), points, rng.standard_normal((300, 2)), rng.random(300)
    )
    queries = rng.standard_normal((40, 3)).astype(np.float32)
    for count in (1, 4, 16):
        means = np.concatenate([kernel_means(near, rows, count) for near in nearest(queries, rows)])
        np.testing.assert_allclose(means, naive_means(queries, rows, count), rtol=1e-9)


def neighbours_of(z, t, first=0, count=1):
    keys = np.arange(first, len(z), dtype=np.uint64)
    empty = Neighbours(np.eye(z.shape[1]), count, 1.0, None, seed=0)
    return replace(empty, rows=empty.rows_of(keys, z[first:], t[first:], np.ones(len(keys))))


def test_a_row_that_is_left_out_is_not_its_own_neighbour():
    rng = np.random.default_rng(2)
    z, t = rng.standard_normal((100, 2)), rng.standard_normal((100, 1))
    near, other = neighbours_of(z, t), neighbours_of(z, t, first=1)
    left_out = near(z[:1], np.zeros(1, np.uint64))
    np.testing.assert_allclose(left_out, other(z[:1]), rtol=1e-12)
    assert near(z[:1])[0, 0] == pytest.approx(t[0, 0], abs=1e-6)
    few = neighbours_of(np.array([[-1.0], [1.0]]), np.array([[1.0], [3.0]]), count=4)
    np.testing.assert_allclose(few(np.zeros((1, 1))), [[2.0]])


def test_only_so_many_are_kept_those_with_the_smallest_keys(monkeypatch):
    monkeypatch.setattr(neighbours, "MAX_NEIGHBOUR_ROWS", 10)
    rng = np.random.default_rng(3)
    keys = rng.permutation(40).astype(np.uint64)
    rows = NearbyRows(keys, rng.random((40, 1)), rng.random((40, 1)), np.ones(40))
    for cut in (3, 11, 25):
        total = rows[:cut].distinct() + rows[cut:].distinct()
        np.testing.assert_array_equal(total.keys, np.arange(10))
        np.testing.assert_array_equal(total.t, rows.distinct().t)
