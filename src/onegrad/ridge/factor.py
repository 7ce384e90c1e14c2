"""The one place where a Gram matrix is factored: Cholesky for one shift, eigenvectors for many."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from onegrad.arrays import Array, namespace, ops_of, transpose


@dataclass(frozen=True)
class Factor:
    r""":math:`U^\top U = C` for matrices C in their upper triangles; leading axes are stacks."""

    U: Array  # (..., m, m); what lies below the diagonal has no meaning
    definite: Array  # (...) whether C had a factor

    @classmethod
    def shifted(cls, C: Array, shifts: Sequence[float], use_up: bool = False) -> Factor:
        """Of C + shift for every shift: (..., shifts, m, m)."""
        ops = ops_of(C)
        return cls(*ops.cholesky(ops.shifted(C, shifts, use_up)))

    def __getitem__(self, index: int) -> Factor:
        return Factor(self.U[index], self.definite[index])

    def solve(self, b: Array) -> Array:
        """C^-1 b for the columns of b (..., m, k); NaN where C was indefinite."""
        x = ops_of(self.U).cholesky_solve(self.U, b)
        x *= namespace(x).where(self.definite, 1.0, float("nan"))[..., None, None]
        return x

    def solve_lower(self, R: Array) -> Array:
        """U^-T r for the rows r of R (..., n, m), which is used up: its length is r.C^-1 r."""
        return ops_of(self.U).solve_lower(self.U, R)

    def inverse_diagonal(self) -> Array:
        """(..., m) the diagonal of C^-1 = U^-1 U^-T."""
        inverse = ops_of(self.U).inverse_triangle(self.U)
        return namespace(inverse).einsum("...ij,...ij->...i", inverse, inverse)


@dataclass(frozen=True)
class Spectral:
    r"""All of :math:`(C + s_r)^{-1}` from :math:`C = V\,\mathrm{diag}(e)\,V^\top`."""

    V: Array  # (B, m, m)
    inverse: Array  # (B, m, R): 1 / (e_j + s_r)

    @classmethod
    def of(cls, C: Array, shifts: Array) -> Spectral:
        values, V = ops_of(C).eigh(C)
        return cls(V, 1 / (values[..., None] + shifts))

    def solve(self, b: Array) -> Array:
        """(B, m, R) the solutions for one vector b (B, m)."""
        return self.V @ (transpose(b[..., None, :] @ self.V) * self.inverse)

    def forms(self, F: Array) -> Array:
        """(B, n, R) f.(C + s)^-1 f for the rows f of F."""
        Q = ops_of(F).product(F, transpose(self.V))
        return (Q * Q) @ self.inverse

    def inverse_diagonal(self) -> Array:
        """(B, m, R)"""
        return (self.V * self.V) @ self.inverse
