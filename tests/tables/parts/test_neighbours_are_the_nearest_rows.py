"""Mean targets of the nearest rows, against their definition; who is a neighbour."""

from dataclasses import replace

import numpy as np
import pytest

from onegrad.tables.parts import neighbours
from onegrad.tables.parts.neighbours import NEAREST, NearbyRows, Neighbours, kernel_means, nearest


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
    empty = Neighbours(np.eye(z.shape[1]), count, 1.0, None)
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
        total = rows[:cut].nearby() + rows[cut:].nearby()
        np.testing.assert_array_equal(total.keys, np.arange(10))
        np.testing.assert_array_equal(total.t, rows.nearby().t)
