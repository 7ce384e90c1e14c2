"""What the engine asks of arrays, on NumPy.

Arrays carry leading axes that count replicates. Symmetric matrices live in their upper triangles;
what lies below is neither filled nor read.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from onegrad.arrays import blas
from onegrad.arrays.memory import free_bytes
from onegrad.arrays.namespace import Array, transpose, upper
from onegrad.arrays.threads import Item, Value, abreast
from onegrad.errors import InvalidInput

Elementwise = Callable[..., Array]  # f(x), and f(x, out=...) on NumPy arrays; out may be x

CACHED = 2**16  # entries of an elementwise slice: they stay in a core's own cache
COPIED = 128  # rows at a time when half a matrix is copied
PADDING = 8  # entries that keep the rows of a copy from falling into the same cache lines


class Backend:
    """NumPy arrays on the host; matrices come in stacks, with any number of leading axes."""

    device = "cpu"

    def __init__(self, dtype: str = "float64", threads: int = 1) -> None:
        self.dtype: Any = np.dtype(dtype)
        self.itemsize = self.dtype.itemsize
        self.threads = threads
        self._pool = ThreadPoolExecutor(threads) if threads > 1 else None

    # -- arrays ------------------------------------------------------------------------------

    def asarray(self, x: Any) -> Array:
        """A host array on this device, in this precision."""
        return np.asarray(x, dtype=self.dtype)

    def zeros(self, *shape: int) -> Array:
        return np.zeros(shape, dtype=self.dtype)

    def host_buffer(self, *shape: int) -> np.ndarray[Any, Any]:
        """Host memory that is filled with float64 numbers and then handed to `from_buffer`."""
        return np.empty(shape)

    def from_buffer(self, buffer: np.ndarray[Any, Any]) -> Array:
        return buffer.astype(self.dtype, copy=False)

    def stretch(self, block: int, entries: int) -> int:
        """Rows handled at a time, a multiple of `block`, when a row makes so many entries."""
        return block

    def preferred_batch(self, entries: int) -> int:
        """Replicates to stack when each has a weight matrix of so many entries."""
        return 1

    def side_by_side(self) -> tuple[int, Backend]:
        """Stacks that run at a time, and the backend of each: here one per core."""
        return self.threads, Backend(self.dtype.name)

    def free_bytes(self) -> int:
        """Memory that is available now to this process."""
        return free_bytes()

    def map(self, f: Callable[[Item], Value], items: Sequence[Item]) -> list[Value]:
        """f(item) for every item, on threads of one BLAS thread each where all have work."""
        return list(abreast(f, items, self.threads if len(items) >= self.threads else 1))

    def each(self, f: Callable[[Any], None], items: Iterable[Any]) -> None:
        """f(item) for every item, on threads that are kept: short work that calls no BLAS."""
        deque(abreast(f, items, self.threads, pool=self._pool), maxlen=0)

    # -- elementwise -------------------------------------------------------------------------

    def apply(
        self,
        f: Elementwise,
        x: Array,
        y: Array | None = None,
        scale: float = 0.0,
        out: Array | None = None,
    ) -> Array:
        """f(x + scale y) entry by entry, by slices that never leave the cache.

        The result may be made in `out`, which may be x.
        """
        made = np.empty_like(x) if out is None else out
        step = max(1, CACHED // max(1, x.shape[-1]))
        rows = [
            (i, slice(r, r + step)) for i in range(x.shape[0]) for r in range(0, x.shape[1], step)
        ]

        def some(places: Sequence[tuple[int, slice]]) -> None:
            scratch: Array = None if y is None else np.empty((step, x.shape[-1]), x.dtype)
            for place in places:
                z = x[place]
                if y is not None:
                    z = np.multiply(y[place], scale, out=scratch[: len(z)])
                    z += x[place]
                f(z, out=made[place])

        self.each(some, [rows[i :: self.threads] for i in range(self.threads)])
        return made

    # -- matrices ----------------------------------------------------------------------------

    def add_product(self, C: Array, A: Array, B: Array) -> None:
        """C += A^T B."""
        for i in np.ndindex(C.shape[:-2]):
            blas.add_product(C[i], A[i], B[i])

    def add_gram(self, C: Array, A: Array, over_rows: bool = False) -> None:
        """C += A^T A, or A A^T where `over_rows`, in the upper triangles."""
        for i in np.ndindex(C.shape[:-2]):
            blas.add_gram(C[i], A[i], over_rows)

    def eigh(self, C: Array) -> tuple[Array, Array]:
        """Eigenvalues and eigenvectors of symmetric matrices, from their upper triangles."""
        return np.linalg.eigh(C, UPLO="U")

    def shifts_at_once(self, C: Array) -> int:
        """How many shifted copies of C are made and factored together."""
        return 1

    def shifted(self, C: Array, shifts: Sequence[float], use_up: bool = False) -> Array:
        """C + shift for every shift, shape (..., shifts, m, m), in upper triangles.

        Where C may be used up, one shift needs no copy.
        """
        m = C.shape[-1]
        if use_up and len(shifts) == 1:
            A = C[..., None, :, :]
        else:
            A = np.empty((*C.shape[:-2], len(shifts), m, m + PADDING), C.dtype)[..., :m]
            for r in range(0, m, COPIED):
                rows = slice(r, r + COPIED)
                A[..., rows, r:] = C[..., None, rows, r:]
        np.einsum("...ii->...i", A)[...] += np.asarray(shifts, C.dtype)[:, None]
        return A

    def cholesky(self, A: Array) -> tuple[Array, Array]:
        """U with U^T U = A, made in A's upper triangles, and which matrices have one."""
        definite = np.empty(A.shape[:-2], bool)
        for i in np.ndindex(definite.shape):
            definite[i] = blas.cholesky(A[i])
        return A, definite

    def cholesky_solve(self, U: Array, b: Array) -> Array:
        """(U^T U)^-1 b for the columns of b (..., m, k)."""
        x = transpose(np.empty((*U.shape[:-2], b.shape[-1], b.shape[-2]), U.dtype))
        b = np.broadcast_to(b, x.shape)
        for i in np.ndindex(x.shape[:-2]):
            x[i] = blas.cholesky_solve(U[i], b[i])
        return x

    def half_solve(self, U: Array, R: Array) -> Array:
        """U^-T r for the rows r of R (..., n, m), which is used up."""
        for i in np.ndindex(R.shape[:-2]):
            blas.half_solve(U[i], R[i])
        return R

    def inverse_triangle(self, U: Array) -> Array:
        """U^-1, zeros below its diagonal."""
        inverse = upper(U)
        for i in np.ndindex(U.shape[:-2]):
            blas.invert_triangle(inverse[i])
        return inverse

    def device_entries(
        self, seeds: Any, law: Any, key: Any, start: int, rows: int, width: int
    ) -> Array:
        raise InvalidInput("random='device' needs device='torch' or 'cuda'")
