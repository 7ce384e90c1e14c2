r"""The one place where a Gram matrix is factored: :math:`(C + s)\,x = b` for symmetric C.

`Factor` serves one shift, `solve_shifted` many, and `Spectral` what else many shifts are asked for.
Solutions for few shifts: a Cholesky factor each, :math:`m^3/3` operations. For many: one orthogonal
reduction to a band matrix, :math:`C = Q B Q^\top` in :math:`4m^3/3` operations, nearly all of them
matrix products; a shift then costs no more than a factor of :math:`B + s`, :math:`m w^2` for w
diagonals. C lives in its upper triangle and is overwritten. A solution is NaN where rounding has
made C + s indefinite.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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
    # the band is reduced with BLAS on the host; a GPU factors many shifted copies at once
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
    # w entries more: the last rows of the band, a view of this memory, end beyond the matrix
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


@dataclass(frozen=True)
class Factor:
    r""":math:`U^\top U = C` for positive definite C; leading axes are stacks."""

    U: Array  # (..., m, m); what lies below the diagonal has no meaning

    def solve(self, b: Array) -> Array:
        """Return C^-1 b for the columns of b (..., m, k)."""
        return ops_of(self.U).cholesky_solve(self.U, b)

    def solve_lower(self, R: Array) -> Array:
        """Return U^-T r, of squared length r.C^-1 r, for the rows r of R (..., n, m).

        R is overwritten.
        """
        return ops_of(self.U).solve_lower(self.U, R)

    def inverse_diagonal(self) -> Array:
        """Return the diagonal of C^-1 = U^-1 U^-T, shape (..., m)."""
        inverse = ops_of(self.U).invert_triangle(self.U)
        return namespace(inverse).einsum("...ij,...ij->...i", inverse, inverse)


@dataclass(frozen=True)
class Spectral:
    r"""All matrices :math:`(C + s_r)^{-1}` from :math:`C = V\,\mathrm{diag}(e)\,V^\top`."""

    V: Array  # (B, m, m)
    inverse: Array  # (B, m, R): 1 / (e_j + s_r)

    @classmethod
    def of(cls, C: Array, shifts: Array) -> Spectral:
        """Return the eigendecomposition of C, with its shifts."""
        values, V = ops_of(C).eigh(C)
        return cls(V, 1 / (values[..., None] + shifts))

    def solve(self, b: Array) -> Array:
        """Return the solutions (B, m, R) for one vector b (B, m)."""
        return self.V @ (transpose(b[..., None, :] @ self.V) * self.inverse)

    def forms(self, F: Array) -> Array:
        """Return f.(C + s)^-1 f for the rows f of F, shape (B, n, R)."""
        Q = ops_of(F).product(F, transpose(self.V))
        return (Q * Q) @ self.inverse

    def inverse_diagonal(self) -> Array:
        """Return the diagonals of (C + s)^-1, shape (B, m, R)."""
        return (self.V * self.V) @ self.inverse
