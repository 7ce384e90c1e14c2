"""Moments are exact sums: chunking, order and removal leave no trace, to the last bit."""

import itertools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from onegrad.functions import resolve
from onegrad.tables.first_layer.layer import Layer
from onegrad.tables.first_layer.scaling import Scaling

D, WIDTH = 3, 8


def data(n, seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, D)).astype(np.float32)
    y = np.round(rng.standard_normal((n, 2)) * 2**18) / 2**18
    W, b = rng.standard_normal((WIDTH, D)), rng.standard_normal(WIDTH)
    layer = Layer(Scaling.identity(D), W, b, resolve("relu:raw"), skip=True)
    return X.astype(np.float64), y, layer.with_grid(X.astype(np.float64))


def assert_same(a, b, names=("rows", "weight", "F1", "y1", "FtF", "Fty", "yty")):
    for name in names:
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name), name)


@settings(max_examples=40)
@given(
    n=st.integers(2, 400), seed=st.integers(0, 9), cuts=st.lists(st.integers(0, 400), max_size=6)
)
def test_chunking_and_order_do_not_matter_and_removed_rows_leave_no_trace(n, seed, cuts):
    X, y, layer = data(n, seed)
    whole = layer.moments(X, y)
    order = np.random.default_rng(seed).permutation(n)
    edges = [0, *sorted(min(c, n) for c in cuts), n]
    parts = [order[a:b] for a, b in itertools.pairwise(edges) if b > a]
    first, *others = (layer.moments(X[rows], y[rows]) for rows in parts)
    assert_same(whole, sum(others, start=first))
    for part in others:
        whole = whole - part
    assert_same(whole, first)


@settings(max_examples=20)
@given(n=st.integers(2, 100), seed=st.integers(0, 9))
def test_whole_weights_are_repetitions(n, seed):
    X, y, layer = data(n, seed)
    w = np.random.default_rng(seed).integers(0, 4, n)
    weighted = layer.moments(X, y, w.astype(float))
    repeated = layer.moments(np.repeat(X, w, axis=0), np.repeat(y, w, axis=0))
    assert_same(weighted, repeated, ("FtF", "Fty"))


def test_rounding_to_the_grid_is_small():
    X, _, layer = data(1000, 0)
    F = layer(X)
    assert np.all(np.abs(np.round(F / layer.step) * layer.step - F) <= layer.step / 2)
    rms = np.sqrt((F**2).mean(0))
    rms[D:] = np.maximum(rms[D:], layer.preactivations(X).std(0) / 16)
    assert np.all(layer.step <= rms * 2**-13)
    assert np.all(np.log2(layer.step) == np.round(np.log2(layer.step)))


def test_rows_unlike_the_first_ones_are_counted_exactly():
    """The first rows lie on kinks, where rounding activates neurons; one input is constant."""
    for first in (1, 10, 300):
        rng = np.random.default_rng(first)
        X, y = rng.standard_normal((3000, D)), rng.integers(-9, 9, (3000, 1)) / 8
        X[:first, 0] = 0.1 + 1e-17
        W = rng.standard_normal((200, D))
        b = -(X[:first] @ W.T).max(0)
        scaling = Scaling.standard(X[:first], np.ones(first), 20.0)
        layer = Layer(scaling, W, b, resolve("relu:raw"), True).with_grid(scaling(X[:first]))
        parts = layer.moments(X[:700], y[:700]) + layer.moments(X[700:], y[700:])
        assert_same(layer.moments(X, y), parts)
        assert_same(layer.moments(X[::-1], y[::-1]), parts)
