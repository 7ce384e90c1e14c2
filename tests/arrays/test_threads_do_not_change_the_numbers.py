"""Operations on NumPy arrays run on all threads of the pool, and find what one thread finds."""

from __future__ import annotations

import threading

import numpy as np

from onegrad.arrays import blas, get_ops
from onegrad.parallel.threads import thread_pool

THREADS = 3
ops = get_ops()


def normal(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape)


class Spy:
    """An elementwise function that notes its threads, and keeps each until all have come."""

    def __init__(self, function):
        self.function, self.threads = function, set()
        self.all_here = threading.Event()

    def __call__(self, *args, **kwargs):
        self.threads.add(threading.get_ident())
        if len(self.threads) == THREADS:
            self.all_here.set()
        self.all_here.wait(10.0)
        return self.function(*args, **kwargs)


def gram(A):
    C = ops.zeros(2, A.shape[-1], A.shape[-1])
    ops.add_gram(C, A)
    return np.triu(C)


def cross(A):
    C = ops.zeros(2, A.shape[-1], A.shape[-1])
    ops.add_product(C, A, A)
    return C


def mixture(A):
    c = ops.zeros(2, A.shape[-1])
    ops.add_weighted_rows(c, A[..., 0], A)
    return c


def factors(A):
    C = gram(A) + A.shape[-1] * np.eye(A.shape[-1])
    return np.triu(ops.shifted_cholesky(C, [1.0, 2.0, 3.0])[0])


WORK = {
    "apply": lambda A: ops.apply(np.tanh, A, A, 0.5),
    "product": lambda A: ops.product(A, A, np.tanh),
    "scale_rows": lambda A: ops.scale_rows(A, A[..., 0]),
    "by_rows": lambda A: ops.by_rows(lambda i: np.tanh(A[:, i]), A.shape[1]),
    "add_gram": gram,
    "add_product": cross,
    "add_weighted_rows": mixture,
    "shifted_cholesky": factors,
}


def test_every_operation_finds_the_same():
    A = normal(2, 300, 64)
    for name, work in WORK.items():
        alone = work(A)
        with thread_pool(THREADS):
            together = work(A)
        np.testing.assert_allclose(together, alone, rtol=1e-12, atol=1e-12, err_msg=name)


def test_the_work_really_runs_on_several_threads(monkeypatch):
    A = normal(2, 300, 64)
    for name, work in {
        "apply": lambda f: ops.apply(f, A),
        "product": lambda f: ops.product(A, A, f),
    }.items():
        spy = Spy(np.tanh)
        with thread_pool(THREADS):
            work(spy)
        assert len(spy.threads) == THREADS and threading.get_ident() not in spy.threads, name
    for routine, work in {"add_gram": gram, "add_product": cross, "cholesky": factors}.items():
        spy = Spy(getattr(blas, routine))
        monkeypatch.setattr(blas, routine, spy)
        with thread_pool(THREADS):
            work(normal(2, 30, 512))
        assert len(spy.threads) == THREADS, routine


def test_entries_are_the_same_bit_for_bit():
    x, y = normal(2, 300, 500), normal(2, 300, 500, seed=1)
    alone = ops.apply(np.tanh, x, y, 0.5)
    with thread_pool(THREADS):
        np.testing.assert_array_equal(ops.apply(np.tanh, x, y, 0.5), alone)


def test_without_a_pool_everything_stays_in_this_thread():
    spy = Spy(np.tanh)
    spy.all_here.set()
    ops.apply(spy, normal(2, 300, 64))
    assert spy.threads == {threading.get_ident()}
