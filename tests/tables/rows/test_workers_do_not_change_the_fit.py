"""Serial, several processes, a Dask cluster, and a cluster that loses a worker: one result."""

import os
import signal

import numpy as np
import pytest

import onegrad as og
from onegrad.parallel.cluster import cluster_client
from onegrad.parallel.cores import blas_threads
from onegrad.tables import Source, source

pytestmark = pytest.mark.filterwarnings("default")  # dask's own, about ports and forks

N_ROWS, PART_KINDS = 12_000, 24
RNG = np.random.default_rng(3)
X = RNG.standard_normal((N_ROWS, 4))
Y = np.tanh(X[:, 0] + X[:, 1] * X[:, 2])


def many_partitions():
    pieces = np.split(np.arange(N_ROWS), PART_KINDS)
    return Source([source(X[rows], Y[rows]).partitions[0] for rows in pieces])


def estimator(**settings):
    return og.OneStepRegressor(100, sample_rows=2000, random_state=0, **settings)


def alternating(**settings):
    return og.AlternatingRegressor(
        40, members=2, sample_rows=1000, rounds=2, random_state=0, **settings
    )


@pytest.fixture(scope="module")
def serial():
    return estimator().fit(X, Y)


@pytest.fixture(scope="module")
def cluster():
    pytest.importorskip("distributed")
    with cluster_client(workers=2) as client:
        yield client


def test_blas_threads():
    """Products round differently on one thread and on two; kinks that lie on rows notice."""
    for make in (estimator, alternating):
        with blas_threads(1):
            one = make().fit(X, Y)
        with blas_threads(2):
            two = make().fit(X, Y)
        np.testing.assert_array_equal(two.fitted_.layers[0].W, one.fitted_.layers[0].W)
        atol = 1e-10 * np.abs(one.readout_).max()
        np.testing.assert_allclose(two.readout_, one.readout_, rtol=0, atol=atol)


@pytest.mark.full
def test_processes(serial):
    got = estimator(n_jobs=2).fit(many_partitions())
    np.testing.assert_array_equal(got.readout_, serial.readout_)


@pytest.mark.full
def test_a_cluster(serial, cluster):
    import dask.array as da

    got = estimator().fit(many_partitions(), client=cluster)
    np.testing.assert_array_equal(got.readout_, serial.readout_)
    arrays = (da.from_array(a, chunks=(5000, *a.shape[1:])) for a in (X, Y))
    got = estimator().fit(*arrays, client=cluster)
    np.testing.assert_array_equal(got.readout_, serial.readout_)
    committee = alternating().fit(many_partitions(), client=cluster)  # members, and their rows
    np.testing.assert_array_equal(committee.readout_, alternating().fit(X, Y).readout_)


@pytest.mark.full
def test_a_worker_killed_in_the_pass_changes_nothing(serial, cluster):
    pids = cluster.run(os.getpid)
    calls = []

    def kill_one_worker(done, total):
        calls.append((done, total))  # the first pass counts to 24, the second starts again at 1
        if len(calls) == PART_KINDS + 3:
            os.kill(next(iter(pids.values())), signal.SIGKILL)

    got = estimator().fit(many_partitions(), client=cluster, progress=kill_one_worker)
    assert calls[PART_KINDS + 2] == (3, PART_KINDS)  # three parts of the second pass were done
    np.testing.assert_array_equal(got.readout_, serial.readout_)
