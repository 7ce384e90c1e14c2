"""Serial, in processes and on a cluster: the same results, in order or as they finish."""

import operator
import os

import pytest

from onegrad.exceptions import AssumptionWarning, warn
from onegrad.parallel.children import child_map, process_map
from onegrad.parallel.cluster import cluster_client, cluster_map, cluster_sum

pytestmark = pytest.mark.filterwarnings("default")  # dask's own, about ports and forks
ITEMS = range(40)
SQUARES = [i * i for i in ITEMS]


def square(x):
    return x * x


def inverse(x):
    return 1 / x


def doubtful(x):
    warn(AssumptionWarning("theory", "x", f"{x % 2} is doubtful"))
    return x


def unexpected(item, message):
    raise AssertionError(message)


def where(_):
    return os.getpid(), os.environ.get("OPENBLAS_NUM_THREADS")


@pytest.fixture(scope="module")
def client():
    pytest.importorskip("distributed")
    with cluster_client(workers=2) as client:
        yield client


def test_one_job_stays_in_this_process_and_draws_items_as_they_are_due():
    assert list(process_map(square, ITEMS, 1)) == SQUARES
    source = iter(ITEMS)
    results = process_map(where, source, 1)
    assert next(results)[0] == os.getpid()
    assert next(source) == 1


@pytest.mark.full
def test_processes():
    assert list(process_map(square, ITEMS, 2)) == SQUARES
    assert sorted(child_map(square, ITEMS, 2, lost=unexpected)) == SQUARES
    places = set(child_map(where, ITEMS, 2, lost=unexpected))
    assert os.getpid() not in {pid for pid, _ in places}
    assert {threads for _, threads in places} == {"1"}


@pytest.mark.full
def test_warnings_of_processes_are_those_of_their_parent(capfd):
    for work in (process_map(doubtful, ITEMS, 2), child_map(doubtful, ITEMS, 2, lost=unexpected)):
        with pytest.warns(AssumptionWarning) as caught:
            assert sorted(work) == list(ITEMS)
        ours = [w for w in caught if isinstance(w.message, AssumptionWarning)]
        assert {str(w.message) for w in ours} == {"0 is doubtful", "1 is doubtful"}
        assert {w.filename for w in ours} == {__file__} and len(ours) == len(ITEMS)
    assert "doubtful" not in capfd.readouterr().err


@pytest.mark.full
def test_a_cluster(client):
    import dask

    assert sorted(cluster_map(square, ITEMS, client, lost=unexpected)) == SQUARES
    results = list(cluster_map(inverse, [2, 0, 4], client, lost=lambda item, why: (item, why)))
    assert (0, "ZeroDivisionError: division by zero") in results
    assert {0.5, 0.25} <= set(results)
    calls = []
    pairs = [(i, dask.delayed(square)(i)) for i in range(7)]  # computed first, there
    total = cluster_sum(operator.mul, pairs, client, operator.add, lambda *call: calls.append(call))
    assert total == sum(i**3 for i in range(7))
    assert calls == [(i, 7) for i in range(1, 8)]
