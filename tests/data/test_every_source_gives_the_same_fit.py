"""Parquet, CSV, npz, npy, iterators and Dask collections give the coefficients of the array."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import onegrad as og
from onegrad.data import source
from onegrad.exceptions import InvalidInput

pytestmark = pytest.mark.compat
N_ROWS = 900
RNG = np.random.default_rng(0)
X = RNG.standard_normal((N_ROWS, 3)).round(6)
Y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2]


def table(rows=slice(None)):
    return pa.table({**dict(zip("abc", X[rows].T, strict=True)), "y": Y[rows]})


def estimator():
    return og.AlternatingRegressor(20, rounds=2, random_state=0, sample_rows=300)


@pytest.fixture(scope="module")
def reference():
    return estimator().fit(X, Y)


def in_parquet(folder):
    pq.write_table(table(), folder / "one.parquet", row_group_size=100)
    return source(folder / "one.parquet", target="y")


def in_many_parquet_files(folder):
    for i in range(3):
        pq.write_table(table(slice(i * 300, (i + 1) * 300)), folder / f"part{i}.parquet")
    return source(folder, target="y", columns=["a", "b", "c"])


def in_csv(folder):
    table().to_pandas().to_csv(folder / "one.csv", index=False, float_format="%.17g")
    return source(str(folder / "*.csv"), target="y")


def in_npz(folder):
    np.savez(folder / "one.npz", X=X, y=Y)
    return source(folder / "one.npz", target="y")


def in_compressed_npz(folder):
    np.savez_compressed(folder / "one.npz", X=np.asfortranarray(X), y=Y)
    return source(folder / "one.npz", target="y")


def in_npy(folder):
    np.save(folder / "one.npy", np.column_stack([X, Y]))
    return source(folder / "one.npy", target=-1)


def in_a_list_of_blocks(_):
    return source([(X[:17], Y[:17]), (X[17:], Y[17:])])


def in_a_function(_):
    return source(lambda: iter([(X[:500], Y[:500]), (X[500:], Y[500:])]))


def in_a_dask_array(_):
    import dask.array as da

    return source(da.from_array(X, chunks=(250, 2)), da.from_array(Y, chunks=400))


def in_a_dask_frame(_):
    import dask.dataframe as dd

    return source(dd.from_pandas(table().to_pandas(), npartitions=4), target="y")


def same_coefficients(fitted, reference):
    assert fitted.n_rows_ == N_ROWS
    scale = np.abs(reference.readout_).max()
    assert np.abs(fitted.readout_ - reference.readout_).max() <= 1e-10 * scale


def test_same_coefficients_and_predictions(tmp_path, reference):
    for i, make in enumerate(
        (in_parquet, in_many_parquet_files, in_csv, in_npz, in_compressed_npz, in_npy,
         in_a_list_of_blocks, in_a_function)
    ):  # fmt: skip
        (tmp_path / str(i)).mkdir()
        same_coefficients(estimator().fit(make(tmp_path / str(i))), reference)
    fitted, expected = estimator().fit(in_parquet(tmp_path)), reference.predict(X)
    for inputs in (str(tmp_path / "one.parquet"), table(), table().select(["y", "c", "b", "a"])):
        np.testing.assert_allclose(fitted.predict(inputs), expected, atol=1e-9)


@pytest.mark.full  # loads Dask
@pytest.mark.parametrize("make", [in_a_dask_array, in_a_dask_frame])
def test_dask_collections(make, reference):
    same_coefficients(estimator().fit(make(None)), reference)


def test_a_stream_that_is_read_once_learns_its_first_layer_from_its_beginning():
    stream = source((X[i : i + 100], Y[i : i + 100]) for i in range(0, N_ROWS, 100))
    got = estimator().fit(stream)
    head = estimator().fit(X[:300], Y[:300]).partial_fit(X[300:], Y[300:])
    assert got.n_rows_ == N_ROWS
    np.testing.assert_array_equal(got.readout_, head.readout_)


def test_bad_sources_are_named(tmp_path):
    (tmp_path / "a.txt").write_text("x")
    (tmp_path / "a.csv").write_text("x,y,hole,s\n1,2,,u\n3,4,5,v\n")
    (tmp_path / "a.parquet").write_text("not parquet")
    np.save(tmp_path / "m.npy", np.ones((4, 2)))
    np.savez(tmp_path / "m.npz", X=np.ones((4, 2)))
    objects = np.array([{}, {}], dtype=object)
    np.savez(tmp_path / "o.npz", X=objects, y=np.ones(2))
    for data, target, message in (
        ("none.csv", "y", "no such file"),
        ("a.txt", "y", "allowed is one kind of"),
        ("a.csv", "z", "target must be one of x, y, hole, s; got 'z'"),
        ("a.parquet", "y", "not a Parquet file"),
        ("m.npy", 5, "column number"),
        ("m.npz", "q", "no array 'q'"),
        ("o.npz", "y", "Python objects"),
        ("a.csv", "hole", "missing values"),
        ("a.csv", None, "no target"),
        ("a.csv", "s", "use a classifier"),
        (3.5, None, "data must be a path"),
        ([], None, "the table is empty"),
        ([(np.ones((3, 1)), np.ones(2))], None, "3 rows of inputs"),
        ([(np.full((3, 1), np.nan), np.ones(3))], None, "NaN"),
    ):
        with pytest.raises(InvalidInput, match=message):
            place = tmp_path / data if isinstance(data, str) else data
            estimator().fit(source(place, target=target))
