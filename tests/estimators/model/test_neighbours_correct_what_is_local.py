"""The nearest rows in the learned metric: where they help, what they are, how they come and go."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

import onegrad as og
from onegrad.estimators import load
from onegrad.estimators.fitting import corrections
from onegrad.estimators.fitting.corrections import local_means
from onegrad.estimators.model import neighbours
from onegrad.estimators.model.neighbours import (
    NEAREST,
    NearbyRows,
    Neighbours,
    kernel_means,
    nearest,
)
from onegrad.exceptions import AssumptionWarning

RNG = np.random.default_rng(0)
CELLS = RNG.random((16, 16))  # a number for each cell of a grid: no ridge, no direction, no trend
X = RNG.uniform(0, 16, (2000, 2))
Y = CELLS[tuple(X.astype(int).T)]
X_NEW = RNG.uniform(0, 16, (600, 2))
Y_NEW = CELLS[tuple(X_NEW.astype(int).T)]
SMALL = {"budget": "fast", "rounds": 0, "random_state": 0}


@pytest.fixture(scope="module")
def local():
    return og.AlternatingRegressor(**SMALL).fit(X, Y)


@pytest.fixture(scope="module")
def local_classes():
    return og.AlternatingClassifier(**SMALL).fit(X, Y > 0.5)


def error(model, X=X_NEW, y=Y_NEW):
    return np.mean((model.predict(X) - y) ** 2)


@pytest.mark.full
def test_they_help_where_targets_are_local(local, local_classes):
    plain = og.AlternatingRegressor(corrections="none", **SMALL).fit(X, Y)
    assert plain.fitted_.neighbours == ()
    assert local.choice_["neighbours_weight"] > 0.3
    assert error(local) < 0.85 * error(plain)
    plain = og.AlternatingClassifier(corrections="none", **SMALL).fit(X, Y > 0.5)
    assert local_classes.score(X_NEW, Y_NEW > 0.5) > plain.score(X_NEW, Y_NEW > 0.5) + 0.02


@pytest.mark.full
def test_they_are_left_out_where_they_cannot_help():
    """A line with noise: neighbours know nothing that ridge does not."""
    line = X @ [1.0, -2.0] + RNG.standard_normal(len(X))
    model = og.AlternatingRegressor(**SMALL).fit(X, line)
    assert model.fitted_.neighbours == ()
    assert "neighbours" not in model.choice_


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
    monkeypatch.setattr(corrections, "grow_trees", lambda rows, *_: Memory(rows))
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
    left_out = near(z[:1], exclude=np.zeros(1, np.uint64))
    np.testing.assert_allclose(left_out, other(z[:1]), rtol=1e-12)
    assert near(z[:1])[0, 0] == pytest.approx(t[0, 0], abs=1e-6)
    few = neighbours_of(np.array([[-1.0], [1.0]]), np.array([[1.0], [3.0]]), count=4)
    np.testing.assert_allclose(few(np.zeros((1, 1))), [[2.0]])


def test_parts_in_any_order_are_the_whole(local):
    whole = local.blank().partial_fit(X, Y)
    parts = local.blank()
    for rows in np.array_split(np.random.default_rng(1).permutation(len(X)), 5):
        parts.partial_fit(X[rows], Y[rows])
    np.testing.assert_array_equal(parts.predict(X_NEW), whole.predict(X_NEW))
    merged = local.blank().partial_fit(X[:700], Y[:700])
    merged.merge(local.blank().partial_fit(X[700:], Y[700:]))
    np.testing.assert_array_equal(merged.predict(X_NEW), whole.predict(X_NEW))
    alone = np.concatenate([whole.predict(X_NEW[i : i + 1]) for i in range(20)])
    np.testing.assert_allclose(alone, whole.predict(X_NEW[:20]), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("kind", ["local", "local_classes"])
def test_files_and_pickles_keep_them(kind, request, tmp_path):
    model = request.getfixturevalue(kind)
    y = Y if kind == "local" else Y > 0.5
    model.save(tmp_path / "local.model")
    model.save(tmp_path / "frozen.model", rows="frozen")
    again, frozen = (load(tmp_path / f"{name}.model") for name in ("local", "frozen"))
    np.testing.assert_array_equal(again._scores(X_NEW), model._scores(X_NEW))
    for other in (frozen, pickle.loads(pickle.dumps(model))):
        np.testing.assert_allclose(other._scores(X_NEW), model._scores(X_NEW), rtol=1e-9)
    merged = model.blank().merge(model).remove(X[:10], y[:10])
    np.testing.assert_array_equal(
        again.remove(X[:10], y[:10])._scores(X_NEW), merged._scores(X_NEW)
    )


@pytest.mark.parametrize("kind", ["local", "local_classes"])
def test_removed_rows_are_no_neighbours_any_more(kind, request):
    start = request.getfixturevalue(kind)
    y = Y if kind == "local" else Y > 0.5
    forgotten = start.blank().partial_fit(X, y).remove(X[1000:], y[1000:])
    never = start.blank().partial_fit(X[:1000], y[:1000])
    (left,), (known,) = (model.fitted_.neighbours for model in (forgotten, never))
    np.testing.assert_array_equal(left.rows.keys, known.rows.keys)
    np.testing.assert_array_equal(forgotten._scores(X_NEW), never._scores(X_NEW))
    with pytest.warns(AssumptionWarning, match="importances"):
        assert forgotten.feature_importances_.shape == (2,)


def test_only_so_many_are_kept_those_with_the_smallest_keys(monkeypatch):
    monkeypatch.setattr(neighbours, "MAX_NEIGHBOUR_ROWS", 10)
    rng = np.random.default_rng(3)
    keys = rng.permutation(40).astype(np.uint64)
    rows = NearbyRows(keys, rng.random((40, 1)), rng.random((40, 1)), np.ones(40))
    for cut in (3, 11, 25):
        total = rows[:cut].distinct() + rows[cut:].distinct()
        np.testing.assert_array_equal(total.keys, np.arange(10))
        np.testing.assert_array_equal(total.t, rows.distinct().t)


@pytest.mark.full
def test_every_member_has_neighbours_of_its_own(tmp_path):
    model = og.AlternatingRegressor(members=2, **SMALL).fit(X, Y)
    assert len(model.fitted_.neighbours) == 2
    model.save(tmp_path / "two.model")
    again = load(tmp_path / "two.model")
    np.testing.assert_array_equal(again.predict(X_NEW), model.predict(X_NEW))
    forgotten = model.blank().partial_fit(X, Y).remove(X[1000:], Y[1000:])
    never = model.blank().partial_fit(X[:1000], Y[:1000])
    np.testing.assert_array_equal(forgotten.predict(X_NEW), never.predict(X_NEW))
