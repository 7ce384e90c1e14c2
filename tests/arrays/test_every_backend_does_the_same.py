"""What a backend offers, on every device, against NumPy's definitions."""

import numpy as np
import pytest

from onegrad.arrays import (
    erf,
    namespace,
    one_minus_square,
    ops_of,
    symmetric,
    to_numpy,
    transpose,
)  # fmt: skip

JUNK = np.nan  # below the diagonal: neither filled nor read


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
    import scipy.special

    x = normal(3, 4)
    there = each_backend.asarray(x)
    same(erf(there), scipy.special.erf(x))
    same(one_minus_square(there), 1 - x * x)
    same(transpose(there), x.T)
    same(namespace(there).exp(there), np.exp(x))
    same(symmetric(there[:, :3]), np.triu(x[:, :3]) + np.triu(x[:, :3], 1).T)


def test_elementwise(each_backend):
    x, y = normal(2, 300, 500), normal(2, 300, 500, seed=1)
    xp = namespace(each_backend.zeros(1))

    def f(z, out=None):
        return xp.tanh(z) if out is None else xp.tanh(z, out=out)

    there = each_backend.asarray(x.copy())
    same(each_backend.apply(f, there), np.tanh(x))
    same(each_backend.apply(f, there, each_backend.asarray(y), 0.5), np.tanh(x + 0.5 * y))
    same(each_backend.apply(f, there, out=there), np.tanh(x))


@pytest.mark.parametrize("m", [5, 130, 601])
@pytest.mark.parametrize("stack", [(), (1,), (3,)])
def test_products(each_backend, m, stack):
    A, B = normal(*stack, 8, m), normal(*stack, 8, 4, seed=1)
    at = each_backend.asarray
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


@pytest.mark.parametrize("m", [5, 127, 300])
@pytest.mark.parametrize("use_up", [False, True])
def test_factors_of_shifted_matrices(each_backend, m, use_up):
    C, b, R = grams(2, m), normal(2, 1, m, 3), normal(2, 1, 4, m, seed=1)
    at, shifts = each_backend.asarray, [0.5] if use_up else [0.5, 2.0, 4.0]
    given = at(upper(C))
    A = each_backend.shifted(given, shifts, use_up=use_up)
    shifted = C[:, None] + np.array(shifts)[:, None, None] * np.eye(m)
    same(np.triu(to_numpy(A)), np.triu(shifted))
    if not use_up:
        same(given, upper(C))
    U, definite = each_backend.cholesky(A)
    assert to_numpy(definite).all() and tuple(definite.shape) == (2, len(shifts))
    T = np.triu(to_numpy(U))
    same(T.swapaxes(-1, -2) @ T, shifted)
    same(each_backend.cholesky_solve(U, at(b)), np.linalg.solve(shifted, b), 1e-9)
    inverse = each_backend.inverse_triangle(U)
    same(inverse, np.linalg.inv(T), 1e-9)
    rows = np.broadcast_to(R, (2, len(shifts), 4, m))
    half = each_backend.solve_lower(U, at(rows.copy()))
    same(half, rows @ np.linalg.inv(T), 1e-9)


@pytest.mark.parametrize("m", [5, 300])
def test_indefinite_matrices_of_a_stack_are_named(each_backend, m):
    C = grams(3, m)
    C[1] -= 100 * np.eye(m)
    _, definite = each_backend.cholesky(each_backend.asarray(upper(C)))
    assert to_numpy(definite).tolist() == [True, False, True]


def test_eigenvectors(each_backend):
    C = grams(2, 20)
    values, V = (to_numpy(x) for x in each_backend.eigh(each_backend.asarray(upper(C))))
    same(values, np.linalg.eigvalsh(C))
    same(V * values[:, None, :] @ V.swapaxes(-1, -2), C)


def test_threads_do_not_change_what_is_made():
    from onegrad.arrays import Ops

    x, y = normal(2, 300, 500), normal(2, 300, 500, seed=1)
    made = [Ops(threads=k).apply(np.tanh, x, y, 0.5) for k in (1, 3)]
    np.testing.assert_array_equal(*made)
    assert Ops(threads=3).map(abs, [-1, -2, -3, -4]) == [1, 2, 3, 4]
