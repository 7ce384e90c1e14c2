"""The operations on arrays that ridge, networks and layers need, on whatever device they run.

Arrays may have leading axes that count the matrices of a stack; B stands for one such axis.
Symmetric matrices live in their upper triangles: what lies below is neither filled nor read.

A backend is a class that inherits from `Ops`: what is written out here is the plain way of doing
it, which a backend overrides where it has a faster one; the rest each backend writes itself.
`onegrad.arrays.devices` has the table of them, and `onegrad.arrays.namespace` the few functions of
single arrays that libraries spell differently.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Protocol

import numpy as np

from onegrad.arrays.memory import free_bytes
from onegrad.arrays.namespace import Array, namespace, transpose
from onegrad.arrays.policy import ExecutionPolicy
from onegrad.parallel.threads import Item, Value

Elementwise = Callable[..., Array]  # f(x), and f(x, out=...) on NumPy arrays; out may be x
Seeds = tuple[int, ...]


class Ops(Protocol):
    """Operations on the arrays of one device, in one precision."""

    device: str  # its name, as in `get_ops`
    dtype: np.dtype[Any]  # of the arrays: float64 or float32
    precision: str  # arithmetic of products: one of `PRECISIONS`, or "float32" for that alone
    working_bytes: int  # that an entry takes while it is at work
    can_draw: bool = False  # True if the device has a random generator of its own
    prefers_to_draw: bool = False  # True if that is faster than drawing on the host

    def __init__(self, device: str, dtype: str) -> None:
        self.device, self.dtype = device, np.dtype(dtype)
        self.precision = "exact" if dtype == "float64" else dtype
        self.working_bytes = self.dtype.itemsize

    @property
    def exact(self) -> Ops:
        """The operations in float64 on the same random numbers; these ones where they are exact.

        Normal equations are solved with them.
        """
        return self

    @staticmethod
    def device_of(x: Array) -> str:
        """Return the device that an array lives on; an empty string if it is not of this kind."""

    def policy(self, threads: int) -> ExecutionPolicy:
        """Return how much a run does at a time here, with this many threads of the host."""

    def queue(self) -> AbstractContextManager[None]:
        """Return a context in which a stack has a queue of the device to itself."""
        return nullcontext()

    def wait(self) -> None:
        """Wait until the device has finished."""
        return  # NumPy's operations have, when they return

    def free_bytes(self) -> int:
        """Return the memory that is available now."""
        return free_bytes()

    def draw(
        self, seeds: Seeds, key: tuple[int, ...], start: int, rows: int, width: int, normal: bool
    ) -> Array:
        """Return rows from `start` on of the random matrix of each seed, (seeds, rows, width).

        A key names the matrix; its entries are normal, or uniform over [0, 1), and do not depend on
        how many rows are drawn at a time.
        """

    # -- arrays ------------------------------------------------------------------------------

    def asarray(self, x: Any) -> Array:
        """Return a host array on this device, in this precision."""

    def cast(self, x: Array) -> Array:
        """Return an array of this device in this precision."""

    def zeros(self, *shape: int) -> Array:
        """Return an array of zeros."""

    def host_buffer(self, *shape: int) -> np.ndarray[Any, Any]:
        """Return host memory to fill with float64 numbers and hand to `from_buffer`."""
        return np.empty(shape)

    def from_buffer(self, buffer: np.ndarray[Any, Any]) -> Array:
        """Return the numbers of a host buffer on this device, in this precision."""
        return self.asarray(buffer)

    def map(self, function: Callable[[Item], Value], items: Sequence[Item]) -> list[Value]:
        """Return function(item) for every item, from the thread pool where that helps."""
        return [function(item) for item in items]

    def by_rows(self, function: Callable[[slice], Array], rows: int) -> Array:
        """Return function(slice) for slices that cover `rows` rows, joined: (B, rows, ...)."""
        return function(slice(0, rows))

    # -- elementwise -------------------------------------------------------------------------

    def apply(
        self,
        f: Elementwise,
        x: Array,
        y: Array | None = None,
        scale: float = 0.0,
        out: Array | None = None,
    ) -> Array:
        """Return f(x + scale y), (B, rows, N), entry by entry; `out` may be used, and may be x."""

    def scale_rows(self, X: Array, r: Array) -> Array:
        """Return diag(r) X for X (B, rows, d) and r (B, rows)."""
        return X * r[..., None]

    # -- products ----------------------------------------------------------------------------

    def product(self, X: Array, W: Array, f: Elementwise | None = None) -> Array:
        """Return f(X W^T), (B, rows, N), for X (B, rows, d) and W (B, N, d)."""
        P = X @ transpose(W)
        return P if f is None else f(P)

    def read_out(self, F: Array, A: Array) -> Array:
        """Return F A, (B, rows, R), for features F (B, rows, N) and A (B, N, R)."""
        return F @ A

    def add_product(self, C: Array, A: Array, B: Array) -> None:
        """Add A^T B to C, for C (..., m, k), A (..., rows, m) and B (..., rows, k)."""

    def add_gram(self, C: Array, A: Array, over_rows: bool = False) -> None:
        """Add A^T A, or A A^T if `over_rows`, to the upper triangle of C (..., m, m)."""

    def add_weighted_rows(self, c: Array, y: Array, F: Array) -> None:
        """Add y F to c, for c (B, N), weights y (B, rows) and F (B, rows, N)."""
        c += (y[:, None, :] @ F)[:, 0]

    def add_arrays(self, total: Sequence[Array], others: Sequence[Sequence[Array]]) -> None:
        """Add other[k] to total[k], for every one of the others."""
        for other in others:
            for into, x in zip(total, other, strict=True):
                into.__iadd__(x)  # in place, whatever the library

    # -- symmetric matrices ------------------------------------------------------------------

    def eigh(self, C: Array) -> tuple[Array, Array]:
        """Return the eigenvalues (B, m) and eigenvectors (B, m, m) of C (B, m, m)."""

    def shifted_cholesky(
        self, C: Array, shifts: Sequence[float], overwrite: bool = False
    ) -> tuple[Array, Array]:
        """Return U (..., R, m, m) with U^T U = C + shift for R shifts, and where that exists.

        If C may be overwritten, one shift needs no copy.
        """

    def solve_shifted(self, C: Array, shifts: Sequence[float], b: Array) -> tuple[Array, Array]:
        """Return (C + shift)^-1 b, (B, R, m), for C (B, m, m) and b (B, m); C is overwritten.

        The second result says which C + shift are positive definite, (B, R).
        """

    def cholesky_solve(self, U: Array, b: Array) -> Array:
        """Return (U^T U)^-1 b for the columns of b (..., m, k)."""

    def solve_lower(self, U: Array, R: Array) -> Array:
        """Return U^-T r for the rows r of R (..., n, m), which is overwritten."""

    def invert_triangle(self, U: Array) -> Array:
        """Return U^-1 (..., m, m), with zeros below its diagonal."""


def in_chunks(
    solve: Callable[[Sequence[float], bool], tuple[Array, Array]],
    shifts: Sequence[float],
    size: int,
) -> tuple[Array, Array]:
    """Return solve(shifts, last) of `size` shifts at a time, joined along axis 1.

    The last chunk may overwrite the matrix: its factor needs no copy.
    """
    starts = range(0, len(shifts), size)
    chunks = [solve(shifts[i : i + size], i == starts[-1]) for i in starts]
    if len(chunks) == 1:
        return chunks[0]
    x, definite = zip(*chunks, strict=True)
    return namespace(x[0]).concatenate(x, 1), namespace(x[0]).concatenate(definite, 1)
