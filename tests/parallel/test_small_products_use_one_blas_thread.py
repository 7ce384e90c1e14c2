"""`one_blas_thread` limits BLAS while any thread is inside, and leaves it as it was.

The uniform theory is inside: its products are small, and on a busy machine threads that wait for
each other cost ten times the work.
"""

from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Barrier

import pytest
from threadpoolctl import threadpool_info

import onegrad as og
from onegrad.parallel import cores
from onegrad.parallel.cores import blas_threads, one_blas_thread
from onegrad.theory.uniform import refinement


def threads():
    return {
        library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"
    }


@pytest.fixture(autouse=True)
def _two_threads():
    with blas_threads(2):
        yield


def test_threads_share_one_limit_whatever_the_order_they_leave_in(monkeypatch):
    limits, together = [], Barrier(2, timeout=60)

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
    evaluate = refinement.evaluate_at_nodes

    def watched(*arguments, **named):
        seen.append(threads())
        return evaluate(*arguments, **named)

    monkeypatch.setattr(refinement, "evaluate_at_nodes", watched)
    og.predict(og.Problem(n=200, d=100, N=150))
    assert seen and all(s == {1} for s in seen)
    assert threads() == {2}
