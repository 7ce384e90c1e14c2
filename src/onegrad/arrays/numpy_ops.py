"""What the engine asks of arrays, on NumPy.

Arrays carry leading axes that count replicates. Symmetric matrices live in their upper triangles;
what lies below is neither filled nor read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from onegrad.arrays import blas, tiles
from onegrad.arrays.memory import free_bytes
from onegrad.arrays.namespace import Array, transpose, upper
from onegrad.arrays.recording import Repeat, run_directly
from onegrad.parallel.threads import Item, Value, all_blas_threads, pool_map, pool_size

Elementwise = Callable[..., Array]  # f(x), and f(x, out=...) on NumPy arrays; out may be x

CACHED = 2**16  # entries of an elementwise slice: they stay in a core's own cache
COPIED = 128  # rows at a time when half a matrix is copied
PADDING = 8  # entries that keep the rows of a copy from falling into the same cache lines
SHARED = 2**22  # entries of features that a team makes at a time
BLOCK = 1024  # rows that a thread takes at a time
EVEN = 0.85  # share of the threads that must have work until the end
PRIVATE = 2**27  # entries that the sums of all threads may have together
HELD = 2**24  # entries of features that are kept where that spares making them again


class Ops:
    """NumPy arrays on the host; matrices come in stacks, with any number of leading axes."""

    device = "cpu"
    can_draw = False  # whether the device has a generator of its own
    prefers_to_draw = False  # whether that is faster than drawing on the host
    blas_threads: int | None = 1  # of each thread of a team; None: BLAS is left as it is

    def __init__(self, dtype: str = "float64", threads: int = 1) -> None:
        self.dtype: Any = np.dtype(dtype)
        self.itemsize = self.dtype.itemsize
        self.threads = threads

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

    def stretch(self, block: int, entries: int, team: int = 1) -> int:
        """Rows handled at a time, a multiple of `block`, when a row makes so many entries."""
        blocks = 1 if team == 1 else max(min(team, 4), SHARED // (entries * block))
        return blocks * block

    def may_hold(self, entries: int, team: int = 1) -> bool:
        """Whether so many entries of features may be kept."""
        return entries <= HELD * min(4, team)

    def preferred_batch(self, entries: int) -> int:
        """Replicates to stack when each has a weight matrix of so many entries."""
        return 1

    def side_by_side(self) -> tuple[int, Ops]:
        """Stacks that run at a time, and the backend of each: here one per core."""
        return self.threads, Ops(self.dtype.name)

    def lane(self) -> AbstractContextManager[None]:
        """What a stack of replicates runs in: on a GPU, a queue of its own."""
        return nullcontext()

    def repeater(self, stacks: int, entries: int) -> Repeat:
        """How to call the work of so many equal stacks, each with features of so many entries."""
        return run_directly

    def wait(self) -> None:
        """Until the device has done what it was given."""

    def free_bytes(self) -> int:
        """Memory that is available now to this process."""
        return free_bytes()

    def map(self, f: Callable[[Item], Value], items: Sequence[Item]) -> list[Value]:
        """f(item) for every item, by the team."""
        return pool_map(f, items)

    def takers(self, rows: int, entries: int, team: int) -> int:
        """Threads that take rows by themselves and have sums of so many entries of their own.

        With many rows that is fastest: nobody waits for anybody. It takes memory, and few blocks
        leave threads idle; then one thread takes all rows and the team shares every product.
        """
        rounds = -(-rows // (BLOCK * team))
        few = rows < EVEN * rounds * team * BLOCK
        return 1 if few or team * entries > PRIVATE else team

    def by_rows(self, f: Callable[[slice], Array], rows: int) -> Array:
        """f(slice) for the slices of so many rows, joined again: (B, rows, ...), by the team."""
        if pool_size() == 1:
            return f(slice(0, rows))
        return np.concatenate(pool_map(f, tiles.slices(rows, pool_size())), 1)

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
        step = max(1, min(_cached() // max(1, x.shape[-1]), -(-x.shape[1] // pool_size())))
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

        pool_map(some, [rows[i :: pool_size()] for i in range(pool_size())])
        return made

    def scaled(self, X: Array, r: Array) -> Array:
        """diag(r) X for X (B, rows, d) and r (B, rows)."""
        out = np.empty_like(X)
        parts = tiles.slices(X.shape[1], pool_size())
        pool_map(lambda i: np.multiply(X[:, i], r[:, i, None], out=out[:, i]), parts)
        return out

    # -- matrices ----------------------------------------------------------------------------

    def product(self, X: Array, W: Array, f: Elementwise | None = None) -> Array:
        """f(X W^T) for X (B, rows, d) and W (B, N, d); f follows while a tile is in the cache."""
        P = np.empty((*X.shape[:-1], W.shape[-2]), X.dtype)
        parts, cached = tiles.grid(P.shape[-2:], pool_size()), _cached()

        def tile(place: tuple[int, slice, slice]) -> None:
            b, i, j = place
            np.matmul(X[b, i], W[b, j].T, out=P[b, i, j])
            if f is not None:
                step = max(1, cached // (j.stop - j.start))
                for r in range(i.start, i.stop, step):
                    z = P[b, r : min(r + step, i.stop), j]
                    f(z, out=z)

        pool_map(tile, [(b, i, j) for b in range(len(P)) for i, j in parts])
        return P

    def add_product(self, C: Array, A: Array, B: Array) -> None:
        """C += A^T B."""
        parts = tiles.grid(C.shape[-2:], pool_size())

        def tile(place: tuple[tuple[int, ...], slice, slice]) -> None:
            b, i, j = place
            blas.add_product(C[b][i, j], A[b][:, i], B[b][:, j])

        pool_map(tile, [(b, i, j) for b in np.ndindex(C.shape[:-2]) for i, j in parts])

    def add_gram(self, C: Array, A: Array, over_rows: bool = False) -> None:
        """C += A^T A, or A A^T where `over_rows`, in the upper triangles."""
        parts = tiles.triangle(C.shape[-1], pool_size())

        def tile(place: tuple[tuple[int, ...], slice, slice]) -> None:
            b, i, j = place
            left, right = (A[b][i], A[b][j]) if over_rows else (A[b][:, i], A[b][:, j])
            if i == j:
                blas.add_gram(C[b][i, i], left, over_rows)
            else:
                blas.add_product(C[b][i, j], left, right, over_rows)

        pool_map(tile, [(b, i, j) for b in np.ndindex(C.shape[:-2]) for i, j in parts])

    def add_mixture(self, c: Array, y: Array, F: Array) -> None:
        """c += y F: rows of F (B, rows, N) mixed with weights y (B, rows)."""

        def some(columns: slice) -> None:
            c[:, columns] += (y[:, None, :] @ F[..., columns])[:, 0]

        pool_map(some, tiles.slices(F.shape[-1], pool_size()))

    def add_all(self, total: Sequence[Array], others: Sequence[Sequence[Array]]) -> None:
        """Every array of `total` becomes its sum with those of the others, by the team."""
        for k, into in enumerate(total):
            flat = into.reshape(-1)  # a view: these arrays were made whole
            rest = [other[k].reshape(-1) for other in others]

            def some(part: slice, flat: Array = flat, rest: Sequence[Array] = rest) -> None:
                for x in rest:
                    flat[part] += x[part]

            pool_map(some, tiles.slices(len(flat), pool_size()))

    def eigh(self, C: Array) -> tuple[Array, Array]:
        """Eigenvalues and eigenvectors of symmetric matrices, from their upper triangles."""
        with all_blas_threads():
            return np.linalg.eigh(C, UPLO="U")

    def shifts_at_once(self, C: Array) -> int:
        """How many shifted copies of C are made and factored together."""
        return pool_size()

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
        places = list(np.ndindex(A.shape[:-2]))
        if len(places) > 1:
            found = pool_map(lambda i: blas.cholesky(A[i]), places)
        else:
            with all_blas_threads():
                found = [blas.cholesky(A[i]) for i in places]
        return A, np.reshape(found, A.shape[:-2])

    def shifted_solve(
        self, C: Array, shifts: Sequence[float], b: Array, use_up: bool
    ) -> tuple[Array, Array]:
        """(C + s)^-1 b for matrices C (B, m, m), vectors b (B, m) and every shift s: (B, R, m).

        And which C + s are positive definite. C may be used up.
        """
        U, definite = self.cholesky(self.shifted(C, shifts, use_up))
        return self.cholesky_solve(U, b[:, None, :, None])[..., 0], definite

    def cholesky_solve(self, U: Array, b: Array) -> Array:
        """(U^T U)^-1 b for the columns of b (..., m, k)."""
        x = transpose(np.empty((*U.shape[:-2], b.shape[-1], b.shape[-2]), U.dtype))
        b = np.broadcast_to(b, x.shape)
        for i in np.ndindex(x.shape[:-2]):
            x[i] = blas.cholesky_solve(U[i], b[i])
        return x

    def solve_lower(self, U: Array, R: Array) -> Array:
        """U^-T r for the rows r of R (..., n, m), which is used up."""
        for i in np.ndindex(R.shape[:-2]):
            blas.solve_lower(U[i], R[i])
        return R

    def inverse_triangle(self, U: Array) -> Array:
        """U^-1, zeros below its diagonal."""
        inverse = upper(U)
        for i in np.ndindex(U.shape[:-2]):
            blas.invert_triangle(inverse[i])
        return inverse

    def draw(
        self,
        seeds: Sequence[int],
        normal: bool,
        key: Sequence[int],
        start: int,
        rows: int,
        width: int,
    ) -> Array:
        raise NotImplementedError("NumPy arrays have no device that draws")


def _cached() -> int:
    """Entries of an elementwise slice: longer where many threads would queue for Python's lock."""
    return CACHED * min(4, max(1, pool_size() // 4))
