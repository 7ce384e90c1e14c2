"""Every BLAS and LAPACK call against NumPy: both precisions, rows of any stride, one triangle."""

import numpy as np
import pytest

from onegrad.arrays import blas

RTOL = {"float64": 1e-11, "float32": 2e-3}
MARK = 77.0  # what lies where a call promises not to write


@pytest.fixture(params=["float64", "float32"])
def dtype(request):
    return request.param


@pytest.fixture(params=[0, 5], ids=["packed", "strided"])
def matrix(request, dtype):
    """Copies of a matrix whose rows lie apart by its width and so many entries more."""

    def make(values):
        m, n = values.shape
        held = np.full((m, n + request.param), MARK, dtype)
        held[:, :n] = values
        return held[:, :n]

    return make


def normal(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape)


def definite(m):
    F = normal(2 * m, m, seed=m)
    return F.T @ F / m + 0.1 * np.eye(m)


def upper(A):
    """The upper triangle of A, and below it what no call may read or write."""
    return np.triu(A) + np.tril(np.full(A.shape, MARK), -1)


def close(found, expected, dtype):
    scale = np.abs(expected).max()
    np.testing.assert_allclose(found, expected, rtol=RTOL[dtype], atol=RTOL[dtype] * scale)


def untouched(A):
    """Below the diagonal, and between the rows."""
    assert (A[np.tril_indices(len(A), -1)] == MARK).all()
    if A.base is not None:
        assert (A.base[:, A.shape[1] :] == MARK).all()


def test_add_product(matrix, dtype):
    A, B, C = normal(7, 5), normal(7, 9, seed=1), normal(5, 9, seed=2)
    found = matrix(C)
    blas.add_product(found, matrix(A), matrix(B))
    close(found, C + A.T @ B, dtype)


def test_add_gram(matrix, dtype):
    A = normal(7, 5)
    for over_rows, product in ((False, A.T @ A), (True, A @ A.T)):
        C = matrix(upper(np.ones_like(product)))
        blas.add_gram(C, matrix(A), over_rows)
        close(np.triu(C), np.triu(1 + product), dtype)
        untouched(C)


def test_subtract_products(matrix, dtype):
    A, B = normal(4, 9), normal(4, 9, seed=1)
    C = matrix(upper(np.ones((9, 9))))
    blas.subtract_products(C, matrix(A), matrix(B))
    close(np.triu(C), np.triu(1 - A.T @ B - B.T @ A), dtype)
    untouched(C)


def test_symmetric_product(matrix, dtype):
    A, S = normal(4, 9), definite(9)
    close(blas.symmetric_product(matrix(A), matrix(upper(S))), A @ S, dtype)


def test_reflect(matrix, dtype):
    for shape in ((3, 8), (8, 8), (8, 3), (1, 1)):
        P, k = normal(*shape), shape[1]
        V, T = blas.reflect(work := matrix(P))
        Q = np.eye(k) - V.T @ T.T @ V
        close(Q.T @ Q, np.eye(k), dtype)
        close(P @ Q, np.tril(work), dtype)


def test_band_solve(dtype):
    m, b = 9, normal(9)
    for width in (1, 2, 4):
        rng = np.random.default_rng(width)
        band = rng.standard_normal((m, width)) * 0.2
        band[:, 0] = 2 + rng.random(m)
        S = np.zeros((m, m))
        for t in range(width):
            for i in range(m - t):
                S[i, i + t] = S[i + t, i] = band[i, t]
        close(blas.band_solve(band.astype(dtype), b), np.linalg.solve(S, b), dtype)
        band[4, 0] = -1
        assert np.isnan(blas.band_solve(band.astype(dtype), b)).all(), width


def test_cholesky_and_what_its_factor_solves(matrix, dtype):
    for m in (1, 6, 70, 133):
        A, b, R = definite(m), normal(m, 3), normal(4, m, seed=1)
        U = matrix(upper(A))
        assert blas.cholesky(U)
        untouched(U)
        close(np.triu(U).T @ np.triu(U), A, dtype)
        close(blas.cholesky_solve(U, b), np.linalg.solve(A, b), dtype)
        rows = matrix(R)
        blas.solve_lower(U, rows)
        close((rows * rows).sum(1), (R * np.linalg.solve(A, R.T).T).sum(1), dtype)
        blas.invert_triangle(U)
        untouched(U)
        close(np.triu(U) @ np.triu(U).T, np.linalg.inv(A), dtype)


@pytest.mark.compat  # releases of SciPy give LAPACK one triangle or the other: the last bits differ
def test_a_factor_has_the_same_bits_every_time_and_those_of_numpy_to_rounding():
    """Fits of the estimators depend on the bits of one release: their layers have kinks on rows."""
    for m in (5, 50, 133, 517):
        A, b = definite(m), normal(m, 3)
        factors = [A.copy() for _ in range(3)]
        assert all(map(blas.cholesky, factors))
        L = np.linalg.cholesky(A)
        error = m * np.finfo(float).eps * np.linalg.cond(A)  # relative to the largest entry
        np.testing.assert_allclose(np.triu(factors[0]), L.T, rtol=0, atol=error * np.abs(L).max())
        solutions = [blas.cholesky_solve(U, b) for U in factors]
        for U, x in zip(factors, solutions, strict=True):
            np.testing.assert_array_equal(np.triu(U), np.triu(factors[0]))
            np.testing.assert_array_equal(x, solutions[0])


def test_an_indefinite_matrix_has_no_factor(dtype):
    assert not blas.cholesky(np.diag([1.0, -1.0, 2.0]).astype(dtype))
