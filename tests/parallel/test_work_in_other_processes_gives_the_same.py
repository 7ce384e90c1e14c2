"""Serial, in processes and on a cluster: the same results, in order or as they finish."""

from __future__ import annotations

import operator
import os
from collections.abc import Iterator
from typing import Any

import pytest

from onegrad.parallel.children import child_map, process_map
from onegrad.parallel.cluster import cluster_client, cluster_map, cluster_sum

pytestmark = pytest.mark.filterwarnings("default")  # dask's own, about ports and forks
ITEMS = range(40)
SQUARES = [i * i for i in ITEMS]


def square(x: int) -> int:
    return x * x


def inverse(x: int) -> float:
    return 1 / x


def unexpected(item: int, message: str) -> int:
    raise AssertionError(message)


def where(_: int) -> tuple[int, str | None]:
    return os.getpid(), os.environ.get("OPENBLAS_NUM_THREADS")


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    pytest.importorskip("distributed")
    with cluster_client(workers=2) as client:
        yield client


@pytest.mark.parametrize("jobs", [1, 2])
def test_processes(jobs: int) -> None:
    assert list(process_map(square, ITEMS, jobs)) == SQUARES
    assert sorted(child_map(square, ITEMS, jobs, lost=unexpected)) == SQUARES


def test_one_job_stays_in_this_process_and_draws_items_as_they_are_due() -> None:
    source = iter(ITEMS)
    results = process_map(where, source, 1)
    assert next(results)[0] == os.getpid()
    assert next(source) == 1


def test_processes_of_one_thread() -> None:
    found = set(child_map(where, ITEMS, 2, lost=unexpected))
    assert os.getpid() not in {pid for pid, _ in found}
    assert {threads for _, threads in found} == {"1"}


def test_a_cluster(client: Any) -> None:
    def lost(item: int, message: str) -> int:
        raise AssertionError(message)

    assert sorted(cluster_map(square, ITEMS, client, lost=lost)) == SQUARES


def test_what_comes_to_nothing_on_a_cluster_is_said(client: Any) -> None:
    found = list(cluster_map(inverse, [2, 0, 4], client, lost=lambda item, why: (item, why)))
    assert (0, "ZeroDivisionError: division by zero") in found
    assert {0.5, 0.25} <= set(found)


def test_a_sum_on_a_cluster_and_its_progress(client: Any) -> None:
    import dask

    calls: list[tuple[int, int]] = []
    pairs = [(i, dask.delayed(square)(i)) for i in range(7)]  # computed first, there
    total = cluster_sum(operator.mul, pairs, client, operator.add, lambda *call: calls.append(call))
    assert total == sum(i**3 for i in range(7))
    assert calls == [(i, 7) for i in range(1, 8)]
