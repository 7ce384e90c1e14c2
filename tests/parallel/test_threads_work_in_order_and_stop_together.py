"""One way to map over threads: in order, failures stop the rest, BLAS keeps to its share."""

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
from threadpoolctl import threadpool_info

import onegrad as og
from onegrad.parallel import cores
from onegrad.parallel.cores import blas_threads, core_count, one_blas_thread, thread_count
from onegrad.parallel.threads import WorkCancelled, pool_map, thread_map, thread_pool
from onegrad.theory.uniform import refine


def blas_counts(_=None):
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


def test_results_come_in_order():
    for count in (0, 1, 2, 7):
        for threads in (1, 2, 3, 8, None):
            others = threading.Event()

            def first_is_last(i, others=others, several=count > 1 and threads not in (1, None)):
                if i == 0 and several:
                    assert others.wait(60)
                others.set()
                return i * i

            results = thread_map(first_is_last, range(count), threads)
            assert list(results) == [i * i for i in range(count)], (count, threads)


def test_few_items_are_taken_ahead():
    items = iter(range(100))
    results = thread_map(abs, items, 2)
    assert next(results) == 0
    results.close()  # type: ignore[attr-defined]  # a generator
    assert next(items) <= 4


def test_a_failure_is_raised_and_nothing_further_starts():
    for threads in (1, 3):
        started, failed = [], threading.Event()

        def fail(i, started=started, failed=failed, several=threads > 1):
            started.append(i)
            if i == 2:
                failed.set()
                raise KeyError("two")
            if several:
                assert failed.wait(60)
            return i

        with pytest.raises(KeyError, match="two"):
            list(thread_map(fail, range(50), threads))
        assert len(started) < 12


def test_what_runs_is_asked_to_stop_and_the_first_failure_is_the_one_raised():
    for first in (0, 1):
        stop, begun = threading.Event(), threading.Barrier(2)

        def work(i, first=first, stop=stop, begun=begun):
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
    not_needed = threading.Event()
    assert list(thread_map(abs, [-1, -2, -3], 2, stop=not_needed)) == [1, 2, 3]
    assert not not_needed.is_set()


def test_each_thread_has_one_blas_thread_and_afterwards_all_is_as_before():
    with blas_threads(2):
        before = blas_counts()
        assert list(thread_map(blas_counts, range(4), 2)) == [{1}] * 4
        assert blas_counts() == before
        (alone,) = thread_map(blas_counts, [0], 2)
        assert alone == before


def test_a_pool_outlives_the_call_and_leaves_blas_alone():
    with blas_threads(2), thread_pool(2, blas=None):
        before = blas_counts()
        for _ in range(2):
            assert pool_map(blas_counts, range(4)) == [before] * 4
        with pytest.raises(ZeroDivisionError):
            pool_map(lambda i: 1 / i, [1, 0, 1, 1])
        assert pool_map(abs, [-1, -2]) == [1, 2]


def test_the_number_of_threads_respects_the_limits_of_blas():
    with blas_threads(1):
        assert thread_count() == 1
    assert 1 <= thread_count() <= core_count()


# -- one BLAS thread for small products, such as those of the uniform theory -------------------


def test_threads_share_one_limit_whatever_the_order_they_leave_in(monkeypatch):
    limits, together = [], threading.Barrier(2, timeout=60)

    @contextmanager
    def recorded(count):
        limits.append(count)
        yield
        limits.append(0)

    def stay(longer):
        with one_blas_thread:
            together.wait()
            if longer:
                together.wait()

    monkeypatch.setattr(cores, "blas_threads", recorded)
    with ThreadPoolExecutor(2) as pool:
        first, second = pool.submit(stay, True), pool.submit(stay, False)
        second.result()
        assert limits == [1]
        together.wait()
        first.result()
    assert limits == [1, 0]


def test_the_uniform_theory_is_inside(monkeypatch):
    seen = []
    evaluate = refine.evaluate

    def watched(*arguments, **named):
        seen.append(blas_counts())
        return evaluate(*arguments, **named)

    monkeypatch.setattr(refine, "evaluate", watched)
    with blas_threads(2):
        og.predict(og.Problem(n=200, d=100, N=150))
        assert seen and all(s == {1} for s in seen)
        assert blas_counts() == {2}
