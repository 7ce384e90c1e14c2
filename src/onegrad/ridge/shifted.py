r"""Solutions of :math:`(C + s)\,x = b` for many shifts s and one symmetric C.

Few shifts: a Cholesky factor each, :math:`m^3/3` operations. Many: one orthogonal reduction to a
band matrix, :math:`C = Q B Q^\top` in :math:`4m^3/3` operations, nearly all of them matrix
products; a shift then costs no more than a factor of :math:`B + s`, :math:`m w^2` for w diagonals.
C lives in its upper triangle and is overwritten. A solution is NaN where rounding has made C + s
indefinite.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from onegrad.arrays import (
    ROW_PADDING,
    Array,
    Floats,
    blas,
    copy_upper,
    namespace,
    ops_of,
    transpose,
)

MAX_CHOLESKY_SHIFTS = 4  # up to which factors of C are faster: a reduction costs as much as four
BAND_WIDTH = 64  # diagonals of the band above the main one; wider: faster products, slower shifts


def solve_shifted(C: Array, shifts: Sequence[float], b: Array) -> Array:
    """Return the solutions (B, m, R) for matrices C (B, m, m) and one vector b (B, m) each."""
    ops = ops_of(C)
    if len(shifts) > MAX_CHOLESKY_SHIFTS and ops.device == "cpu":
        return np.stack([_solve_by_band(c, shifts, v) for c, v in zip(C, b, strict=True)])
    x, definite = ops.solve_shifted(C, shifts, b)
    x *= namespace(x).where(definite, 1.0, float("nan"))[..., None]
    return transpose(x)


def _solve_by_band(C: Floats, shifts: Sequence[float], b: Floats) -> Floats:
    """Return the solutions (m, R) for one matrix C (m, m) and one vector b (m,)."""
    m = len(C)
    w = max(1, min(BAND_WIDTH, m - 1))
    stride = m + ROW_PADDING
    memory = np.empty(m * stride + w, C.dtype)
    A = memory[: m * stride].reshape(m, stride)[:, :m]
    copy_upper(C, A)
    z = b.copy()
    reflections = []
    for j in range(w, m, w):  # rows j - w to j leave the square S = A[j:, j:] that remains
        V, T = blas.reflect(A[j - w : j, j:])
        X = T @ blas.symmetric_product(V, A[j:, j:])
        X -= (0.5 * T @ (V @ X.T)).T @ V
        blas.subtract_products(A[j:, j:], V, X)  # S <- Q^T S Q
        z[j:] -= (T @ (V @ z[j:])) @ V
        reflections.append((j, V, T))
    step = C.itemsize  # row i of the band is A[i, i : i + w + 1]; beyond the last column: unused
    band = np.lib.stride_tricks.as_strided(memory, (m, w + 1), ((stride + 1) * step, step))
    x = np.empty((len(shifts), m), C.dtype)
    for i, shift in enumerate(shifts):
        B = band.copy()
        B[:, 0] += shift
        x[i] = blas.band_solve(B, z)
    for j, V, T in reversed(reflections):
        x[:, j:] -= ((x[:, j:] @ V.T) @ T) @ V
    return x.T
