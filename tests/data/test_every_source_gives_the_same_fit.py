"""Parquet, CSV, npz, npy, iterators and Dask collections give the coefficients of the array."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import onegrad as og
from onegrad.data import source
from onegrad.exceptions import InvalidInput

N_ROWS, D = 900, 3


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N_ROWS, D)).round(6)
    return X, np.sin(X[:, 0]) + X[:, 1] * X[:, 2]


def frame(X, y):
    return pd.DataFrame(X, columns=["a", "b", "c"]).assign(y=y)


def estimator():
    return og.AlternatingRegressor(40, rounds=2, random_state=0, sample_rows=300)


@pytest.fixture(scope="module")
def reference(data):
    return estimator().fit(*data)


def in_parquet(folder, X, y):
    pq.write_table(pa.Table.from_pandas(frame(X, y)), folder / "one.parquet", row_group_size=100)
    return source(folder / "one.parquet", target="y")


def in_many_parquet_files(folder, X, y):
    for i in range(3):
        rows = slice(i * 300, (i + 1) * 300)
        table = pa.Table.from_pandas(frame(X[rows], y[rows]))
        pq.write_table(table, folder / f"part{i}.parquet")
    return source(folder, target="y", columns=["a", "b", "c"])


def in_csv(folder, X, y):
    frame(X, y).to_csv(folder / "one.csv", index=False, float_format="%.17g")
    return source(str(folder / "*.csv"), target="y")


def in_npz(folder, X, y):
    np.savez(folder / "one.npz", X=X, y=y)
    return source(folder / "one.npz", target="y")


def in_compressed_npz(folder, X, y):
    np.savez_compressed(folder / "one.npz", X=np.asfortranarray(X), y=y)
    return source(folder / "one.npz", target="y")


def in_npy(folder, X, y):
    np.save(folder / "one.npy", np.column_stack([X, y]))
    return source(folder / "one.npy", target=-1)


def in_a_list_of_blocks(folder, X, y):
    return source([(X[:17], y[:17]), (X[17:], y[17:])])


def in_a_function(folder, X, y):
    return source(lambda: iter([(X[:500], y[:500]), (X[500:], y[500:])]))


def in_a_dask_array(folder, X, y):
    import dask.array as da

    return source(da.from_array(X, chunks=(250, 2)), da.from_array(y, chunks=400))


def in_a_dask_frame(folder, X, y):
    import dask.dataframe as dd

    return source(dd.from_pandas(frame(X, y), npartitions=4), target="y")


@pytest.mark.parametrize(
    "make",
    [
        in_parquet,
        in_many_parquet_files,
        in_csv,
        in_npz,
        in_compressed_npz,
        in_npy,
        in_a_list_of_blocks,
        in_a_function,
        in_a_dask_array,
        in_a_dask_frame,
    ],
)
def test_same_coefficients(make, tmp_path, data, reference):
    got = estimator().fit(make(tmp_path, *data))
    assert got.n_rows_ == N_ROWS
    scale = np.abs(reference.readout_).max()
    assert np.abs(got.readout_ - reference.readout_).max() <= 1e-10 * scale


def test_a_stream_that_is_read_once_learns_its_first_layer_from_its_beginning(data):
    X, y = data
    stream = source((X[i : i + 100], y[i : i + 100]) for i in range(0, N_ROWS, 100))
    got = estimator().fit(stream)
    head = estimator().fit(X[:300], y[:300]).partial_fit(X[300:], y[300:])
    assert got.n_rows_ == N_ROWS
    np.testing.assert_array_equal(got.readout_, head.readout_)


def test_predictions_come_from_sources_too(tmp_path, data, reference):
    X, y = data
    got = estimator().fit(in_parquet(tmp_path, X, y))
    expected = reference.predict(X)
    np.testing.assert_allclose(got.predict(str(tmp_path / "one.parquet")), expected, atol=1e-9)
    np.testing.assert_allclose(got.predict(frame(X, y)), expected, atol=1e-9)
    np.testing.assert_allclose(got.predict(frame(X, y)[["y", "c", "b", "a"]]), expected, atol=1e-9)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda p: source(p / "none.csv", target="y"), "no such file"),
        (lambda p: source(p / "a.txt", target="y"), "allowed is one kind of"),
        (
            lambda p: source(p / "a.csv", target="z").partitions[0].blocks().__next__(),
            "target must be one of x, y, hole, s; got 'z'",
        ),
        (lambda p: source(p / "a.parquet", target="y"), "not a Parquet file"),
        (lambda p: source(p / "m.npy", target=5), "column number"),
        (
            lambda p: source(p / "m.npz", target="q").partitions[0].blocks().__next__(),
            "no array 'q'",
        ),
        (lambda p: source(3.5), "data must be a path"),
        (lambda p: estimator().fit(source(p / "a.csv", target="hole")), "missing values"),
        (lambda p: estimator().fit(source(p / "a.csv")), "no target"),
        (lambda p: estimator().fit(source(p / "a.csv", target="s")), "use a classifier"),
        (lambda p: estimator().fit(source([])), "the table is empty"),
        (lambda p: estimator().fit(source([(np.ones((3, 1)), np.ones(2))])), "3 rows of inputs"),
        (lambda p: estimator().fit(source([(np.full((3, 1), np.nan), np.ones(3))])), "NaN"),
    ],
)
def test_bad_sources_are_named(tmp_path, call, message):
    (tmp_path / "a.txt").write_text("x")
    (tmp_path / "a.csv").write_text("x,y,hole,s\n1,2,,u\n3,4,5,v\n")
    (tmp_path / "a.parquet").write_text("not parquet")
    np.save(tmp_path / "m.npy", np.ones((4, 2)))
    np.savez(tmp_path / "m.npz", X=np.ones((4, 2)))
    with pytest.raises(InvalidInput, match=message):
        call(tmp_path)


def test_objects_in_npz_are_never_loaded(tmp_path):
    np.savez(tmp_path / "o.npz", X=np.array([{}, {}], dtype=object), y=np.ones(2))
    with pytest.raises(InvalidInput, match="Python objects"):
        estimator().fit(source(tmp_path / "o.npz", target="y"))
