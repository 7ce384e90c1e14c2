"""What a backend offers, on every device and any number of threads, against NumPy's definitions."""

import threading
from itertools import product

import numpy as np
import pytest
import scipy.special

from onegrad.arrays import (
    blas,
    erf,
    get_ops,
    namespace,
    one_minus_square,
    ops_of,
    standard_error,
    symmetric,
    to_numpy,
    transpose,
)
from onegrad.parallel.threads import thread_pool

JUNK = np.nan  # below the diagonal: neither filled nor read
THREADS = 3


@pytest.fixture(params=[1, THREADS], autouse=True)
def threads(request):
    with thread_pool(request.param):
        yield request.param


def normal(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape)


def grams(B, m):
    F = normal(B, 2 * m, m, seed=m)
    return F.swapaxes(-1, -2) @ F / m + 0.1 * np.eye(m)


def upper(C):
    return np.where(np.triu(np.ones(C.shape[-2:], bool)), C, JUNK)


def same(found, expected, rtol=1e-10):
    np.testing.assert_allclose(to_numpy(found), expected, rtol=rtol, atol=rtol)


def test_the_backend_of_an_array_is_where_it_lives(each_backend):
    x = each_backend.zeros(2, 3)
    found = ops_of(x)
    assert found.device.split(":")[0] == each_backend.device.split(":")[0]
    assert found.dtype == each_backend.dtype and tuple(x.shape) == (2, 3)
    assert ops_of(x) is found


def test_functions_that_are_spelled_differently(each_backend):
    x = normal(3, 4)
    there = each_backend.asarray(x)
    same(erf(there), scipy.special.erf(x))
    same(one_minus_square(there), 1 - x * x)
    same(transpose(there), x.T)
    same(namespace(there).exp(there), np.exp(x))
    for m in (3, 128, 300):  # one tile, and several
        C = normal(2, m, m)
        full = np.triu(C) + np.triu(C, 1).swapaxes(-1, -2)
        same(symmetric(each_backend.asarray(C)), full)


def test_elementwise(each_backend):
    x, y = normal(2, 300, 500), normal(2, 300, 500, seed=1)
    xp = namespace(each_backend.zeros(1))

    def f(z, out=None):
        return xp.tanh(z) if out is None else xp.tanh(z, out=out)

    there = each_backend.asarray(x.copy())
    same(each_backend.apply(f, there), np.tanh(x))
    same(each_backend.apply(f, there, each_backend.asarray(y), 0.5), np.tanh(x + 0.5 * y))
    same(each_backend.apply(f, there, out=there), np.tanh(x))
    bits = get_ops().apply(np.tanh, x, y, 0.5)  # the same on any number of threads
    np.testing.assert_array_equal(bits, np.tanh(x + 0.5 * y))


def test_products(each_backend):
    at = each_backend.asarray
    X, W, A = normal(2, 300, 64), normal(2, 90, 64, seed=1), normal(2, 64, 3, seed=2)
    xp = namespace(each_backend.zeros(1))
    same(each_backend.product(at(X), at(W)), X @ W.swapaxes(-1, -2))
    found = each_backend.product(at(X), at(W), xp.tanh)
    same(found, np.tanh(X @ W.swapaxes(-1, -2)))
    same(each_backend.read_out(at(X), at(A)), X @ A)
    for m, stack in product((5, 130, 601), ((), (1,), (3,))):
        A, B = normal(*stack, 8, m), normal(*stack, 8, 4, seed=1)
        C = each_backend.zeros(*stack, m, 4)
        each_backend.add_product(C, at(A), at(B))
        same(C, A.swapaxes(-1, -2) @ B)
        C = each_backend.zeros(*stack, m, m)
        each_backend.add_gram(C, at(A))
        each_backend.add_gram(C, at(A))
        same(np.triu(to_numpy(C)), np.triu(2 * A.swapaxes(-1, -2) @ A))
        C = each_backend.zeros(*stack, 8, 8)
        each_backend.add_gram(C, at(A), over_rows=True)
        same(np.triu(to_numpy(C)), np.triu(A @ A.swapaxes(-1, -2)))


def test_factors_of_shifted_matrices(each_backend):
    at = each_backend.asarray
    for m, overwrite in product((5, 127, 300), (False, True)):
        C, b, R = grams(2, m), normal(2, 1, m, 3), normal(2, 1, 4, m, seed=1)
        shifts = [0.5] if overwrite else [0.5, 2.0, 4.0]
        triangle = at(upper(C))
        U, definite = each_backend.shifted_cholesky(triangle, shifts, overwrite=overwrite)
        shifted = C[:, None] + np.array(shifts)[:, None, None] * np.eye(m)
        if not overwrite:
            same(triangle, upper(C))
        assert to_numpy(definite).all() and tuple(definite.shape) == (2, len(shifts))
        T = np.triu(to_numpy(U))
        same(T.swapaxes(-1, -2) @ T, shifted)
        same(each_backend.cholesky_solve(U, at(b)), np.linalg.solve(shifted, b), 1e-9)
        inverse = each_backend.invert_triangle(U)
        same(inverse, np.linalg.inv(T), 1e-9)
        rows = np.broadcast_to(R, (2, len(shifts), 4, m))
        half = each_backend.solve_lower(U, at(rows.copy()))
        same(half, rows @ np.linalg.inv(T), 1e-9)


def test_solutions_of_shifted_systems(each_backend):
    """One or several shifts; the second matrix of the stack is indefinite but for a large one."""
    at = each_backend.asarray
    for m, count in product((5, 130, 300), (1, 3)):
        C, b, shifts = grams(2, m), normal(2, m), [0.5, 2.0, 40.0][:count]
        C[1] -= 30 * np.eye(m)
        _, factored = each_backend.shifted_cholesky(at(upper(C)), shifts)
        x, definite = each_backend.solve_shifted(at(upper(C)), shifts, at(b))
        systems = C[:, None] + np.array(shifts)[:, None, None] * np.eye(m)
        positive = np.linalg.eigvalsh(systems)[..., 0] > 0
        assert to_numpy(definite).tolist() == to_numpy(factored).tolist() == positive.tolist()
        expected = np.linalg.solve(systems, np.broadcast_to(b[:, None, :, None], (2, count, m, 1)))
        same(to_numpy(x)[positive], expected[..., 0][positive], 1e-8)


def test_eigenvectors(each_backend):
    C = grams(2, 20)
    values, V = (to_numpy(x) for x in each_backend.eigh(each_backend.asarray(upper(C))))
    same(values, np.linalg.eigvalsh(C))
    same(V * values[:, None, :] @ V.swapaxes(-1, -2), C)


def test_sums_of_several_workers(each_backend):
    at = each_backend.asarray
    total = [at(np.ones((2, 3))), at(np.zeros(5))]
    others = [[at(np.full((2, 3), k)), at(np.arange(5.0))] for k in (1.0, 2.0)]
    each_backend.add_arrays(total, others)
    same(total[0], np.full((2, 3), 4.0))
    same(total[1], 2 * np.arange(5.0))


def test_rows_are_scaled_mixed_and_mapped(each_backend):
    X, r = normal(2, 40, 70), normal(2, 40, seed=1)
    at = each_backend.asarray
    same(each_backend.scale_rows(at(X), at(r)), X * r[..., None])
    c = each_backend.zeros(2, 70)
    each_backend.add_weighted_rows(c, at(r), at(X))
    same(c, np.einsum("br,brd->bd", r, X))
    doubled = each_backend.by_rows(lambda i: 2 * at(X)[:, i], 40)
    same(doubled, 2 * X)
    assert each_backend.map(abs, [-1, -2, -3, -4]) == [1, 2, 3, 4]


def test_one_value_has_no_standard_error():
    x = normal(7, 3)
    np.testing.assert_allclose(standard_error(x), np.std(x, axis=0, ddof=1) / np.sqrt(7))
    assert standard_error([1, 3]) == 1.0
    assert np.isnan(standard_error([4.0]))
    assert np.isnan(standard_error(np.ones((1, 2, 3)))).all()
    assert standard_error(np.ones((1, 2, 3))).shape == (2, 3)


class Spy:
    """A function that notes its threads, and keeps each until all have come."""

    def __init__(self, function, expected):
        self.function, self.expected, self.threads = function, expected, set()
        self.all_here = threading.Event()

    def __call__(self, *args, **kwargs):
        self.threads.add(threading.get_ident())
        if len(self.threads) == self.expected:
            self.all_here.set()
        self.all_here.wait(10.0)
        return self.function(*args, **kwargs)


def test_the_work_really_runs_on_several_threads_where_there_is_a_pool(threads, monkeypatch):
    ops, A, C = get_ops(), normal(2, 300, 512), grams(2, 256)
    for name, work in {
        "tanh": lambda f: ops.apply(f, A),
        "tanh of products": lambda f: ops.product(A, A, f),
        "add_gram": lambda _: ops.add_gram(ops.zeros(2, 512, 512), A),
        "add_product": lambda _: ops.add_product(ops.zeros(2, 512, 512), A, A),
        "cholesky": lambda _: ops.shifted_cholesky(C, [1.0, 2.0, 3.0]),
    }.items():
        spy = Spy(getattr(blas, name, np.tanh), threads)
        if hasattr(blas, name):
            monkeypatch.setattr(blas, name, spy)
        work(spy)
        assert len(spy.threads) == threads, name
        assert threads == 1 or threading.get_ident() not in spy.threads, name
        assert threads > 1 or spy.threads == {threading.get_ident()}, name
