"""Operations on NumPy arrays in host memory, shared by the threads of the pool."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from onegrad.arrays import blas, tiles
from onegrad.arrays.namespace import Array, transpose
from onegrad.arrays.ops import Elementwise, Ops, in_chunks
from onegrad.arrays.policy import MAX_KEPT_ENTRIES, ExecutionPolicy
from onegrad.arrays.tiles import ROW_PADDING, copy_upper
from onegrad.parallel.threads import Item, Value, all_blas_threads, pool_map, pool_size

CACHE_ENTRIES = 2**16  # of an elementwise slice: 512 kB, which a core's own cache holds
# docs/performance.md measures what these make together with those of the policy; neither was tuned
SHARED_BLOCK_ENTRIES = 2**22  # entries of a block whose products all threads share: 32 MB
MAX_WORKER_ENTRIES = 2**27  # entries that the sums of all row workers may have together: 1 GB


class NumpyOps(Ops):
    """NumPy arrays; see `Ops` for what each operation does."""

    @staticmethod
    def device_of(x: Array) -> str:
        return "cpu" if isinstance(x, np.ndarray | np.generic) else ""

    def policy(self, threads: int) -> ExecutionPolicy:
        if threads == 1:
            return ExecutionPolicy()
        # as many stacks as cores, and one worker each; or all cores for the products of one stack
        return ExecutionPolicy(
            threads=threads,
            stacks_at_once=threads,
            min_blocks=min(threads, 4),
            block_entries=SHARED_BLOCK_ENTRIES,
            max_kept_entries=MAX_KEPT_ENTRIES * min(threads, 4),
            max_worker_entries=MAX_WORKER_ENTRIES,
            per_worker=ExecutionPolicy(),
        )

    def draw(self, *_: Any, **__: Any) -> Array:
        raise NotImplementedError  # the host draws

    def asarray(self, x: Any) -> Array:
        return np.asarray(x, dtype=self.dtype)

    def cast(self, x: Array) -> Array:
        return x.astype(self.dtype, copy=False)

    def zeros(self, *shape: int) -> Array:
        return np.zeros(shape, dtype=self.dtype)

    def map(self, function: Callable[[Item], Value], items: Sequence[Item]) -> list[Value]:
        return pool_map(function, items)

    def by_rows(self, function: Callable[[slice], Array], rows: int) -> Array:
        if pool_size() == 1:
            return function(slice(0, rows))
        return np.concatenate(pool_map(function, tiles.slices(rows, pool_size())), 1)

    # -- elementwise -------------------------------------------------------------------------

    def apply(
        self,
        f: Elementwise,
        x: Array,
        y: Array | None = None,
        scale: float = 0.0,
        out: Array | None = None,
    ) -> Array:
        result = np.empty_like(x) if out is None else out
        # rows of a slice: as many as the cache holds, and few enough that every thread gets some
        step = max(1, min(_cache_entries() // max(1, x.shape[-1]), -(-x.shape[1] // pool_size())))
        rows = [
            (i, slice(r, r + step)) for i in range(x.shape[0]) for r in range(0, x.shape[1], step)
        ]

        def apply_to(places: Sequence[tuple[int, slice]]) -> None:  # slices never leave the cache
            scratch: Array = None if y is None else np.empty((step, x.shape[-1]), x.dtype)
            for place in places:
                z = x[place]
                if y is not None:
                    z = np.multiply(y[place], scale, out=scratch[: len(z)])
                    z += x[place]
                f(z, out=result[place])

        pool_map(apply_to, [rows[i :: pool_size()] for i in range(pool_size())])
        return result

    def scale_rows(self, X: Array, r: Array) -> Array:
        out = np.empty_like(X)
        parts = tiles.slices(X.shape[1], pool_size())
        pool_map(lambda i: np.multiply(X[:, i], r[:, i, None], out=out[:, i]), parts)
        return out

    # -- matrices ----------------------------------------------------------------------------

    def product(self, X: Array, W: Array, f: Elementwise | None = None) -> Array:
        P = np.empty((*X.shape[:-1], W.shape[-2]), X.dtype)
        parts, cached = tiles.rectangle(P.shape[-2:], pool_size()), _cache_entries()

        def tile(place: tuple[int, slice, slice]) -> None:
            b, i, j = place
            np.matmul(X[b, i], W[b, j].T, out=P[b, i, j])
            if f is not None:  # while the tile is in the cache
                step = max(1, cached // (j.stop - j.start))
                for r in range(i.start, i.stop, step):
                    z = P[b, r : min(r + step, i.stop), j]
                    f(z, out=z)

        pool_map(tile, [(b, i, j) for b in range(len(P)) for i, j in parts])
        return P

    def read_out(self, F: Array, A: Array) -> Array:
        return self.product(F, transpose(A))  # by tiles, on all threads

    def add_product(self, C: Array, A: Array, B: Array) -> None:
        parts = tiles.rectangle(C.shape[-2:], pool_size())

        def tile(place: tuple[tuple[int, ...], slice, slice]) -> None:
            b, i, j = place
            blas.add_product(C[b][i, j], A[b][:, i], B[b][:, j])

        pool_map(tile, [(b, i, j) for b in np.ndindex(C.shape[:-2]) for i, j in parts])

    def add_gram(self, C: Array, A: Array, over_rows: bool = False) -> None:
        matrices = math.prod(C.shape[:-2])
        parts = tiles.triangle(C.shape[-1], pool_size(), matrices)

        def tile(place: tuple[tuple[int, ...], slice, slice]) -> None:
            b, i, j = place
            left, right = (A[b][i], A[b][j]) if over_rows else (A[b][:, i], A[b][:, j])
            if i == j:
                blas.add_gram(C[b][i, i], left, over_rows)
            else:
                blas.add_product(C[b][i, j], left, right, over_rows)

        pool_map(tile, [(b, i, j) for i, j in parts for b in np.ndindex(C.shape[:-2])])

    def add_weighted_rows(self, c: Array, y: Array, F: Array) -> None:
        def add_to(columns: slice) -> None:
            c[:, columns] += (y[:, None, :] @ F[..., columns])[:, 0]

        pool_map(add_to, tiles.slices(F.shape[-1], pool_size()))

    def add_arrays(self, total: Sequence[Array], others: Sequence[Sequence[Array]]) -> None:
        for k, into in enumerate(total):
            flat = into.reshape(-1)  # a view: the array is contiguous
            rest = [other[k].reshape(-1) for other in others]

            def add_to(part: slice, flat: Array = flat, rest: Sequence[Array] = rest) -> None:
                for x in rest:
                    flat[part] += x[part]

            pool_map(add_to, tiles.slices(len(flat), pool_size()))

    def eigh(self, C: Array) -> tuple[Array, Array]:
        with all_blas_threads():
            return np.linalg.eigh(C, UPLO="U")

    def shifted_cholesky(
        self, C: Array, shifts: Sequence[float], overwrite: bool = False
    ) -> tuple[Array, Array]:
        m, A = C.shape[-1], C[..., None, :, :]
        if not overwrite or len(shifts) > 1:
            A = np.empty((*C.shape[:-2], len(shifts), m, m + ROW_PADDING), C.dtype)[..., :m]
            copy_upper(C[..., None, :, :], A)
        np.einsum("...ii->...i", A)[...] += np.asarray(shifts, C.dtype)[:, None]
        places = list(np.ndindex(A.shape[:-2]))
        if len(places) > 1:  # a thread for each matrix, or all threads of BLAS for the only one
            definite = pool_map(lambda i: blas.cholesky(A[i]), places)
        else:
            with all_blas_threads():
                definite = [blas.cholesky(A[i]) for i in places]
        return A, np.reshape(definite, A.shape[:-2])

    def solve_shifted(self, C: Array, shifts: Sequence[float], b: Array) -> tuple[Array, Array]:
        def solve(chunk: Sequence[float], last: bool) -> tuple[Array, Array]:
            U, definite = self.shifted_cholesky(C, chunk, overwrite=last)
            return self.cholesky_solve(U, b[:, None, :, None])[..., 0], definite

        return in_chunks(solve, shifts, pool_size())  # a copy of C for each thread

    def cholesky_solve(self, U: Array, b: Array) -> Array:
        x = transpose(np.empty((*U.shape[:-2], b.shape[-1], b.shape[-2]), U.dtype))
        b = np.broadcast_to(b, x.shape)
        for i in np.ndindex(x.shape[:-2]):
            x[i] = blas.cholesky_solve(U[i], b[i])
        return x

    def solve_lower(self, U: Array, R: Array) -> Array:
        for i in np.ndindex(R.shape[:-2]):
            blas.solve_lower(U[i], R[i])
        return R

    def invert_triangle(self, U: Array) -> Array:
        inverse = np.triu(U)
        for i in np.ndindex(U.shape[:-2]):
            blas.invert_triangle(inverse[i])
        return inverse


def _cache_entries() -> int:
    """Return the entries of an elementwise slice: more where threads would queue for a lock."""
    return CACHE_ENTRIES * min(4, max(1, pool_size() // 4))
