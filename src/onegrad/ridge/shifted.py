r"""Solutions of :math:`(C + s)\,x = b` for many shifts s and one symmetric C.

Few shifts: a Cholesky factor each, :math:`m^3/3` operations. Many: one orthogonal reduction to a
band matrix, :math:`C = Q B Q^\top` in :math:`4m^3/3` operations, nearly all of them matrix
products; a shift then costs no more than a factor of :math:`B + s`, :math:`m w^2` for w diagonals.
C lives in its upper triangle and is used up. A solution is NaN where rounding has made C + s
indefinite.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from onegrad.arrays import Array, Floats, blas, is_torch, namespace, ops_of, transpose
from onegrad.arrays.numpy_ops import COPIED, PADDING

FEW = 4  # shifts up to which factors of C are faster
WIDTH = 64  # diagonals of the band above the main one


def solve_shifted(C: Array, shifts: Sequence[float], b: Array) -> Array:
    """(B, m, R) the solutions for matrices C (B, m, m) and one vector b (B, m) each."""
    if len(shifts) > FEW and not is_torch(C):
        return np.stack([_by_band(c, shifts, v) for c, v in zip(C, b, strict=True)])
    ops, xp, parts = ops_of(C), namespace(b), []
    size = ops.shifts_at_once(C)
    for i in range(0, len(shifts), size):
        last = i + size >= len(shifts)  # its factor needs no copy of C
        x, definite = ops.shifted_solve(C, shifts[i : i + size], b, use_up=last)
        x *= xp.where(definite, 1.0, float("nan"))[..., None]
        parts.append(x)
    return transpose(parts[0] if len(parts) == 1 else xp.concatenate(parts, 1))


def _by_band(C: Floats, shifts: Sequence[float], b: Floats) -> Floats:
    m = len(C)
    w = max(1, min(WIDTH, m - 1))
    stride = m + PADDING
    memory = np.empty(m * stride + w, C.dtype)
    A = memory[: m * stride].reshape(m, stride)[:, :m]
    for r in range(0, m, COPIED):
        A[r : r + COPIED, r:] = C[r : r + COPIED, r:]
    z = b.copy()
    turns = []
    for j in range(w, m, w):  # rows j - w to j leave the square S = A[j:, j:] that remains
        V, T = blas.reflect(A[j - w : j, j:])
        X = T @ blas.symmetric_product(V, A[j:, j:])
        X -= (0.5 * T @ (V @ X.T)).T @ V
        blas.subtract_products(A[j:, j:], V, X)  # S <- Q^T S Q
        z[j:] -= (T @ (V @ z[j:])) @ V
        turns.append((j, V, T))
    step = C.itemsize  # row i of the band is A[i, i : i + w + 1]; beyond the last column: unused
    band = np.lib.stride_tricks.as_strided(memory, (m, w + 1), ((stride + 1) * step, step))
    x = np.empty((len(shifts), m), C.dtype)
    for i, shift in enumerate(shifts):
        B = band.copy()
        B[:, 0] += shift
        x[i] = blas.band_solve(B, z)
    for j, V, T in reversed(turns):
        x[:, j:] -= ((x[:, j:] @ V.T) @ T) @ V
    return x.T
