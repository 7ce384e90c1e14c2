r"""Solutions of :math:`(C + s)\,x = b` for many shifts s and one symmetric C.

Few shifts: a Cholesky factor each, :math:`m^3/3` operations. Many: one orthogonal reduction to a
band matrix, :math:`C = Q B Q^\top` in :math:`4m^3/3` operations, nearly all of them matrix
products; a shift then costs no more than a factor of :math:`B + s`, :math:`m w^2` for w diagonals.
C lives in its lower triangle and is used up. A solution is NaN where rounding has made C + s
indefinite.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from onegrad.arrays import blas as _blas
from onegrad.arrays.blas import Matrix

FEW = 4  # shifts up to which factors of C are faster
WIDTH = 64  # diagonals of the band above the main one
COPIED = 128  # rows at a time when half a matrix is copied
PADDING = 8  # entries that keep the rows of a copy from falling into the same cache lines


def solve_shifted(C: Matrix, shifts: Sequence[float], b: Matrix) -> Matrix:
    """Solutions for one vector b, shape (m, shifts)."""
    return _by_factors(C, shifts, b) if len(shifts) <= FEW else _by_band(C, shifts, b)


def _by_factors(C: Matrix, shifts: Sequence[float], b: Matrix) -> Matrix:
    m = len(C)
    x = np.full((m, len(shifts)), np.nan, C.dtype)
    for j, shift in enumerate(shifts):
        L = C  # the last factor needs no copy
        if j + 1 < len(shifts):
            L = np.empty((m, m + PADDING), C.dtype)[:, :m]
            for r in range(0, m, COPIED):
                L[r : r + COPIED, : r + COPIED] = C[r : r + COPIED, : r + COPIED]
        np.einsum("ii->i", L)[...] += shift
        if _blas.cholesky(L):
            x[:, j] = _blas.cholesky_solve(L, b)
    return x


def _by_band(C: Matrix, shifts: Sequence[float], b: Matrix) -> Matrix:
    m = len(C)
    w = max(1, min(WIDTH, m - 1))
    stride = m + PADDING
    memory = np.empty(m * stride + w, C.dtype)
    A = memory[: m * stride].reshape(m, stride)[:, :m]
    reverse = C[::-1, ::-1]  # its upper triangle is the lower one of C
    for r in range(0, m, COPIED):
        A[r : r + COPIED, r:] = reverse[r : r + COPIED, r:]
    z = b[::-1].copy()
    turns = []
    for j in range(w, m, w):  # rows j - w to j leave the square S = A[j:, j:] that remains
        V, T = _blas.reflect(A[j - w : j, j:])
        X = T @ _blas.symmetric_product(V, A[j:, j:])
        X -= (0.5 * T @ (V @ X.T)).T @ V
        _blas.subtract_products(A[j:, j:], V, X)  # S <- Q^T S Q
        z[j:] -= (T @ (V @ z[j:])) @ V
        turns.append((j, V, T))
    step = C.itemsize  # row i of the band is A[i, i : i + w + 1]; beyond the last column: unused
    band = np.lib.stride_tricks.as_strided(memory, (m, w + 1), ((stride + 1) * step, step))
    x = np.empty((len(shifts), m), C.dtype)
    for i, shift in enumerate(shifts):
        B = band.copy()
        B[:, 0] += shift
        x[i] = _blas.band_solve(B, z)
    for j, V, T in reversed(turns):
        x[:, j:] -= ((x[:, j:] @ V.T) @ T) @ V
    return x[:, ::-1].T
