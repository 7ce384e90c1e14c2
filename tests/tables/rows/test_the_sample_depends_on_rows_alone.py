"""The sample is the rows of smallest key: any order, chunking and repetition give the same one."""

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from onegrad.tables.rows.sample import row_keys, sample_block


@settings(max_examples=30)
@given(seed=st.integers(0, 20), cut=st.integers(0, 50), size=st.integers(1, 60))
def test_order_and_chunking(seed, cut, size):
    rng = np.random.default_rng(seed)
    X, y = rng.integers(0, 3, (50, 2)).astype(float), rng.integers(0, 2, 50).astype(float)
    whole = sample_block(X, y, None, size, 7)
    p = rng.permutation(50)
    first, second = (sample_block(X[i], y[i], None, size, 7) for i in (p[:cut], p[cut:]))
    joined = first + second
    for part in ("keys", "X", "y", "w"):
        np.testing.assert_array_equal(getattr(whole, part), getattr(joined, part))
    if size >= 18:  # there are at most 18 distinct rows
        assert whole.w.sum() == 50


def test_a_weight_is_a_repetition_and_zero_is_absence():
    X, y = np.arange(6.0)[:, None], np.arange(6.0)
    w = np.array([0, 1, 2, 3, 0, 1])
    weighted = sample_block(X, y, w.astype(float), 10, 0)
    repeated = sample_block(np.repeat(X, w, axis=0), np.repeat(y, w), None, 10, 0)
    assert np.array_equal(weighted.X, repeated.X)
    assert np.array_equal(weighted.w, repeated.w)


def test_it_is_uniform():
    n, size = 4000, 400
    X = np.arange(float(n))[:, None]
    hits = np.zeros(n)
    for seed in range(50):
        hits[sample_block(X, np.zeros(n), None, size, seed).X[:, 0].astype(int)] += 1
    quarters = hits.reshape(4, -1).sum(1)  # each 5000 expected, deviation about 61
    assert np.all(np.abs(quarters - 5000) < 5 * 61)


def test_keys_read_numbers_not_types():
    X = np.array([[1.0, -0.0], [2.5, 3.0]])
    y = np.array([0, 1])
    assert np.array_equal(row_keys(X, y, 1), row_keys(X.astype(np.float32), y.astype(float), 1))
    table = pa.table({"a": [1.0, 2.5], "b": pa.array([0, 3], pa.int8())})
    assert np.array_equal(row_keys(X, y, 1), row_keys(table, y, 1))
    assert not np.array_equal(row_keys(X, y, 1), row_keys(X, y, 2))
