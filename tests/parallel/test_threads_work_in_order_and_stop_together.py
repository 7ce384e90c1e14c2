"""One way to map over threads: in order, failures stop the rest, BLAS keeps to its share."""

import threading
import time

import pytest
from threadpoolctl import threadpool_info

from onegrad.parallel import (
    WorkCancelled,
    blas_threads,
    core_count,
    pool_map,
    thread_count,
    thread_map,
    thread_pool,
)


def blas_counts():
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


@pytest.mark.parametrize("threads", [1, 2, 3, 8, None])
@pytest.mark.parametrize("count", [0, 1, 2, 7])
def test_results_come_in_order(threads, count):
    def slow_first(i):
        time.sleep(0.01 if i == 0 else 0)
        return i * i

    assert list(thread_map(slow_first, range(count), threads)) == [i * i for i in range(count)]


def test_few_items_are_taken_ahead():
    taken = []

    def items():
        for i in range(100):
            taken.append(i)
            yield i

    results = thread_map(lambda i: i, items(), 2)
    assert next(results) == 0
    assert len(taken) <= 4
    results.close()  # type: ignore[attr-defined]


@pytest.mark.parametrize("threads", [1, 3])
def test_a_failure_is_raised_and_nothing_further_starts(threads):
    started = []

    def fail(i):
        started.append(i)
        if i == 2:
            raise KeyError("two")
        time.sleep(0.01)
        return i

    with pytest.raises(KeyError, match="two"):
        list(thread_map(fail, range(50), threads))
    assert len(started) < 12


@pytest.mark.parametrize("first", [0, 1])
def test_what_runs_is_asked_to_stop_and_the_first_failure_is_the_one_raised(first):
    stop, begun = threading.Event(), threading.Barrier(2)

    def work(i):
        begun.wait(60)
        if i == first:
            raise ValueError(f"item {i}")
        assert stop.wait(60)  # set by the failure of the other
        raise WorkCancelled

    with pytest.raises(ValueError, match=f"item {first}"):
        list(thread_map(work, range(2), 2, stop=stop))


def test_a_caller_that_wants_no_more_stops_the_rest():
    stop, started = threading.Event(), []

    def work(i):
        started.append(i)
        if i:
            stop.wait(60)
        return i

    before = set(threading.enumerate())  # others may end meanwhile
    for value in thread_map(work, range(50), 2, stop=stop):
        assert value == 0
        break
    assert stop.is_set()
    assert len(started) < 6
    assert set(threading.enumerate()) <= before


def test_an_event_that_was_not_needed_stays_clear():
    stop = threading.Event()
    assert list(thread_map(abs, [-1, -2, -3], 2, stop=stop)) == [1, 2, 3]
    assert not stop.is_set()


def test_each_thread_has_one_blas_thread_and_afterwards_all_is_as_before():
    with blas_threads(2):
        before = blas_counts()
        counts = list(thread_map(lambda _: blas_counts(), range(4), 2))
        assert counts == [{1}] * 4
        assert blas_counts() == before
        (alone,) = thread_map(lambda _: blas_counts(), [0], 2)
        assert alone == before


def test_a_pool_outlives_the_call_and_leaves_blas_alone():
    with blas_threads(2), thread_pool(2, blas=None):
        before = blas_counts()
        for _ in range(2):
            counts = pool_map(lambda _: blas_counts(), range(4))
            assert counts == [before] * 4
        with pytest.raises(ZeroDivisionError):
            pool_map(lambda i: 1 / i, [1, 0, 1, 1])
        assert pool_map(abs, [-1, -2]) == [1, 2]


def test_the_number_of_threads_respects_the_limits_of_blas():
    with blas_threads(1):
        assert thread_count() == 1
    assert 1 <= thread_count() <= core_count()
