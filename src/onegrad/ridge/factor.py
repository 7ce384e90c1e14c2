"""The one place where a Gram matrix is factored: Cholesky for one shift, eigenvectors for many."""

from __future__ import annotations

from dataclasses import dataclass

from onegrad.arrays import Array, namespace, ops_of, transpose


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
