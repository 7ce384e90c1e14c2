"""Parquet, CSV, npz, npy, iterators and Dask collections give the coefficients of the array."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import onegrad as og
from onegrad.exceptions import InvalidInput
from onegrad.tables import source

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


def sources(folder):
    """Write the rows in every format; return what reads them."""
    pq.write_table(table(), folder / "one.parquet", row_group_size=100)
    (folder / "many").mkdir()
    for i in range(3):
        pq.write_table(table(slice(i * 300, (i + 1) * 300)), folder / f"many/part{i}.parquet")
    table().to_pandas().to_csv(folder / "one.csv", index=False, float_format="%.17g")
    np.savez(folder / "one.npz", X=X, y=Y)
    np.savez_compressed(folder / "packed.npz", X=np.asfortranarray(X), y=Y)
    np.save(folder / "one.npy", np.column_stack([X, Y]))
    return [
        source(folder / "one.parquet", target="y"),
        source(folder / "many", target="y", columns=["a", "b", "c"]),
        source(str(folder / "*.csv"), target="y"),
        source(folder / "one.npz", target="y"),
        source(folder / "packed.npz", target="y"),
        source(folder / "one.npy", target=-1),
        source([(X[:17], Y[:17]), (X[17:], Y[17:])]),
        source(lambda: iter([(X[:500], Y[:500]), (X[500:], Y[500:])])),
    ]


def same_coefficients(fitted, reference):
    assert fitted.n_rows_ == N_ROWS
    scale = np.abs(reference.readout_).max()
    assert np.abs(fitted.readout_ - reference.readout_).max() <= 1e-10 * scale


def test_same_coefficients_and_predictions(tmp_path, reference):
    of_file, *others = (estimator().fit(data) for data in sources(tmp_path))
    for fitted in (of_file, *others):
        same_coefficients(fitted, reference)
    for inputs in (str(tmp_path / "one.parquet"), table(), table().select(["y", "c", "b", "a"])):
        np.testing.assert_allclose(of_file.predict(inputs), reference.predict(X), atol=1e-9)


@pytest.mark.full  # loads Dask
def test_dask_collections(reference):
    import dask.array as da
    import dask.dataframe as dd

    arrays = source(da.from_array(X, chunks=(250, 2)), da.from_array(Y, chunks=400))
    frame = source(dd.from_pandas(table().to_pandas(), npartitions=4), target="y")
    for data in (arrays, frame):
        same_coefficients(estimator().fit(data), reference)


def test_a_stream_that_is_read_once_learns_its_first_layer_from_its_beginning():
    stream = source((X[i : i + 100], Y[i : i + 100]) for i in range(0, N_ROWS, 100))
    got = estimator().fit(stream)
    head = estimator().fit(X[:300], Y[:300]).partial_fit(X[300:], Y[300:])
    assert got.n_rows_ == N_ROWS
    np.testing.assert_array_equal(got.readout_, head.readout_)


def test_bad_sources_are_named(tmp_path):
    (tmp_path / "a.txt").write_text("x", "utf-8")
    (tmp_path / "a.csv").write_text("x,y,hole,s\n1,2,,u\n3,4,5,v\n", "utf-8")
    (tmp_path / "a.parquet").write_text("not parquet", "utf-8")
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
