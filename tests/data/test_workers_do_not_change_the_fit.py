"""Serial, several processes, a Dask cluster, and a cluster that loses a worker: one result."""

import os
import signal
import warnings

import numpy as np
import pytest

import onegrad as og
from onegrad.data import Source, source
from onegrad.data.partitions import PARTITION_ROWS
from onegrad.parallel import blas_threads

N_ROWS = 24_000


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((N_ROWS, 4))
    return X, np.tanh(X[:, 0] + X[:, 1] * X[:, 2])


def many_partitions(data):
    X, y = data
    pieces = [slice(i, i + 1000) for i in range(0, N_ROWS, 1000)]
    assert PARTITION_ROWS > 1000
    return Source([source(X[rows], y[rows]).partitions[0] for rows in pieces])  # 24


def estimator(**settings):
    return og.OneStepRegressor(200, sample_rows=2000, random_state=0, **settings)


def alternating():
    return og.AlternatingRegressor(200, sample_rows=2000, rounds=2, random_state=0)


@pytest.fixture(scope="module")
def serial(data):
    return estimator().fit(*data)


@pytest.fixture(scope="module")
def cluster():
    distributed = pytest.importorskip("distributed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # not about the fit
        with (
            distributed.LocalCluster(
                n_workers=2, threads_per_worker=1, dashboard_address=None, memory_limit=0
            ) as cluster,
            distributed.Client(cluster) as client,
        ):
            yield client


@pytest.mark.parametrize("make", [estimator, alternating])
def test_blas_threads(data, make):
    """Products round differently on one thread and on two; kinks that lie on rows notice."""
    with blas_threads(1):
        one = make().fit(*data)
    with blas_threads(2):
        two = make().fit(*data)
    np.testing.assert_array_equal(two.fitted_.layers[0].W, one.fitted_.layers[0].W)
    np.testing.assert_allclose(
        two.readout_, one.readout_, rtol=0, atol=1e-10 * np.abs(one.readout_).max()
    )


def test_processes(data, serial):
    got = estimator(n_jobs=2).fit(many_partitions(data))
    np.testing.assert_array_equal(got.readout_, serial.readout_)


def test_a_cluster(data, serial, cluster):
    got = estimator().fit(many_partitions(data), client=cluster)
    np.testing.assert_array_equal(got.readout_, serial.readout_)


def test_dask_arrays_on_a_cluster(data, serial, cluster):
    import dask.array as da

    X, y = (da.from_array(a, chunks=(5000, *a.shape[1:])) for a in data)
    got = estimator().fit(X, y, client=cluster)
    np.testing.assert_array_equal(got.readout_, serial.readout_)


def test_a_worker_killed_in_the_pass_changes_nothing(data, serial, cluster):
    pids = cluster.run(os.getpid)
    killed = []

    def kill_one_worker(done, total):
        # the first pass counts to 24, the second starts again at 1
        kill_one_worker.calls += 1  # type: ignore[attr-defined]
        if kill_one_worker.calls == total + 3:  # type: ignore[attr-defined]
            os.kill(next(iter(pids.values())), signal.SIGKILL)
            killed.append((done, total))

    kill_one_worker.calls = 0  # type: ignore[attr-defined]
    got = estimator().fit(many_partitions(data), client=cluster, progress=kill_one_worker)
    assert killed == [(3, 24)]  # three parts of the second pass were done
    np.testing.assert_array_equal(got.readout_, serial.readout_)


def test_a_committee_on_processes_and_on_a_cluster(data, cluster):
    def make(**settings):
        return og.AlternatingRegressor(
            40, members=2, sample_rows=1000, rounds=2, random_state=0, **settings
        )

    serial = make().fit(*data)
    np.testing.assert_array_equal(
        make(n_jobs=2).fit(many_partitions(data)).readout_, serial.readout_
    )
    np.testing.assert_array_equal(
        make().fit(many_partitions(data), client=cluster).readout_, serial.readout_
    )
