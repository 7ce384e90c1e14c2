"""The same on torch: tensors of one device, products of whole stacks."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from onegrad.arrays.drawing import DEVICE_BLOCK, drawing
from onegrad.arrays.namespace import Array, transpose
from onegrad.arrays.numpy_ops import Elementwise, Ops
from onegrad.arrays.recording import Recorder, Recording, Repeat, recording, run_directly
from onegrad.exceptions import InvalidInput
from onegrad.parallel.threads import Item, Value

DEVICES = "cpu (NumPy), torch (torch on the CPU), cuda or cuda:k"
STRETCH = 2**28  # entries of features that a GPU makes at a time
PANEL = 128  # rows that the factorisation of a stack takes at a time
MANY = 256  # matrices from which on half as many are faster
COPIES = 2**29  # entries of shifted matrices that are factored together
SMALL = 2**23  # entries of a stack's features up to which launches take longer than the work
REPEATED = 8  # stacks from which on a recording pays: each lane makes its own
FEW = 8  # matrices in a stack up to which a small product does not fill the device
LANES = 2  # stacks in flight on a GPU
_lanes: dict[Any, deque[Any]] = {}


class TorchOps(Ops):
    """Torch tensors on one device; products of stacks, and blocks where half a matrix suffices."""

    blas_threads = None
    can_draw = True

    def __init__(self, device: str, dtype: str, threads: int = 1) -> None:
        super().__init__(dtype, threads)
        try:
            import torch
        except ImportError:
            raise InvalidInput(
                f"device {device!r} needs torch: pip install 'onegrad[torch]'"
            ) from None
        name = "cpu" if device == "torch" else device
        try:
            self.place = torch.device(name)
        except RuntimeError:
            raise InvalidInput(f"device must be {DEVICES}; got {device!r:.60}") from None
        if self.place.type == "cuda" and not torch.cuda.is_available():
            raise InvalidInput(f"device {device!r}: no CUDA device is visible; use device='cpu'")
        if self.place.type == "cuda" and (self.place.index or 0) >= torch.cuda.device_count():
            raise InvalidInput(
                f"device {device!r}: {torch.cuda.device_count()} CUDA device(s) are visible"
            )
        self.torch, self.device = torch, device
        self.kind = getattr(torch, dtype)
        self.is_cuda = self.prefers_to_draw = self.place.type == "cuda"

    def asarray(self, x: Any) -> Array:
        host = self.torch.from_numpy(np.array(x, dtype=self.dtype))
        # the device's queue is not waited for
        return self._kept(lambda: host.to(self.place, non_blocking=True))

    def _kept(self, make: Callable[[], Array]) -> Array:
        """A new array, or where stacks are repeated the one that the first of them had here."""
        now = recording()
        return make() if now is None else now.array(make)

    def zeros(self, *shape: int) -> Array:
        return self.torch.zeros(shape, dtype=self.kind, device=self.place)

    def host_buffer(self, *shape: int) -> np.ndarray[Any, Any]:
        buffer = self.torch.empty(shape, dtype=self.torch.float64, pin_memory=self.is_cuda)
        return np.asarray(buffer.numpy())

    def from_buffer(self, buffer: np.ndarray[Any, Any]) -> Array:
        host = self.torch.from_numpy(buffer)
        return host.to(self.place, non_blocking=True).to(self.kind)

    def stretch(self, block: int, entries: int, team: int = 1) -> int:
        block = max(block, DEVICE_BLOCK)  # whole streams: the numbers do not depend on the stretch
        return max(block, STRETCH // (entries * block) * block)

    def preferred_batch(self, entries: int) -> int:
        return max(1, min(128, 2**26 // entries)) if self.is_cuda else 1

    def may_hold(self, entries: int, team: int = 1) -> bool:
        return entries <= 8 * STRETCH

    def map(self, f: Callable[[Item], Value], items: Sequence[Item]) -> list[Value]:
        return [f(item) for item in items]

    def takers(self, rows: int, entries: int, team: int) -> int:
        return 1

    def by_rows(self, f: Callable[[slice], Array], rows: int) -> Array:
        return f(slice(0, rows))

    def side_by_side(self) -> tuple[int, Ops]:
        """Two on a GPU: while one waits for its results the other fills the device's queue."""
        if not self.is_cuda:
            return 1, self
        if not _lanes:  # torch loads its solvers once, not in threads
            self.torch.linalg.inv(self.zeros(1, 1) + 1)
        return LANES, self

    @contextmanager
    def lane(self) -> Iterator[None]:
        """A queue of the device: lanes are few and kept, for each has a store of memory."""
        if not self.is_cuda:
            yield
            return
        kept = _lanes.setdefault(self.place, deque())
        try:
            stream = kept.pop()
        except IndexError:
            stream = self.torch.cuda.Stream(self.place)
        try:
            with self.torch.cuda.stream(stream):
                yield
        finally:
            kept.append(stream)

    def repeater(self, stacks: int, entries: int) -> Repeat:
        """From a recording where launches would take longer than the work."""
        few = not self.is_cuda or stacks < REPEATED or entries > SMALL
        return run_directly if few else Recorder(self)

    def graph(self) -> Any:
        """What a recording is made in."""
        return self.torch.cuda.CUDAGraph()

    def wait(self) -> None:
        if self.is_cuda:
            self.torch.cuda.synchronize(self.place)

    def free_bytes(self) -> int:
        if self.is_cuda:
            cuda = self.torch.cuda
            kept = cuda.memory_reserved(self.place) - cuda.memory_allocated(self.place)
            return int(cuda.mem_get_info(self.place)[0]) + int(kept)
        return super().free_bytes()

    def apply(
        self,
        f: Elementwise,
        x: Array,
        y: Array | None = None,
        scale: float = 0.0,
        out: Array | None = None,
    ) -> Array:
        return f(x if y is None else self.torch.add(x, y, alpha=scale))

    def scaled(self, X: Array, r: Array) -> Array:
        return X * r[..., None]

    def product(self, X: Array, W: Array, f: Elementwise | None = None) -> Array:
        P = X @ transpose(W)
        return P if f is None else f(P)

    def add_mixture(self, c: Array, y: Array, F: Array) -> None:
        c += (y[:, None, :] @ F)[:, 0]

    def add_product(self, C: Array, A: Array, B: Array) -> None:
        C.view(-1, *C.shape[-2:]).baddbmm_(transpose(_stack(A)), _stack(B))

    def add_gram(self, C: Array, A: Array, over_rows: bool = False) -> None:
        A = transpose(A) if over_rows else A  # (..., k, m): C += A^T A
        C, A = C.view(-1, *C.shape[-2:]), _stack(A)
        self._add_upper(C, A, 512 if len(C) < FEW else max(128, min(512, C.shape[-1] // 8)))

    def _add_upper(self, C: Array, A: Array, leaf: int) -> None:
        """C += A^T A without the blocks below the diagonal; those of size `leaf` are whole."""
        m = C.shape[-1]
        if m <= leaf:
            C.baddbmm_(transpose(A), A)
            return
        h = max(64, m // 128 * 64)  # about half of m, at a multiple of 64
        self._add_upper(C[:, :h, :h], A[..., :h], leaf)
        C[:, :h, h:].baddbmm_(transpose(A[..., :h]), A[..., h:])
        self._add_upper(C[:, h:, h:], A[..., h:], leaf)

    def eigh(self, C: Array) -> tuple[Array, Array]:
        values, vectors = self.torch.linalg.eigh(C, UPLO="U")
        return values, vectors

    def shifts_at_once(self, C: Array) -> int:
        return max(1, COPIES // int(C.numel()))

    def shifted(self, C: Array, shifts: Sequence[float], use_up: bool = False) -> Array:
        A = C[..., None, :, :]
        if not use_up or len(shifts) > 1:
            A = A.repeat_interleave(len(shifts), -3)
        s = float(shifts[0]) if len(shifts) == 1 else self.asarray(shifts)[:, None]
        A.diagonal(dim1=-2, dim2=-1).add_(s)
        return A

    def cholesky(self, A: Array) -> tuple[Array, Array]:
        """To the solvers, which count columns, an upper triangle is the lower of its transpose."""
        L, info = self.torch.linalg.cholesky_ex(transpose(A))
        return transpose(L), info == 0

    def shifted_solve(
        self, C: Array, shifts: Sequence[float], b: Array, use_up: bool
    ) -> tuple[Array, Array]:
        """Of a stack by block rows, nearly all in products: torch's own is far slower."""
        torch, (B, m, _), R = self.torch, C.shape, len(shifts)
        p = PANEL if B * R <= MANY else PANEL // 2
        if B * R == 1 or m <= p:
            return super().shifted_solve(C, shifts, b, use_up)
        alone = use_up and R == 1
        U = C if alone else torch.empty(B * R, m, m, dtype=self.kind, device=self.place)
        x, s = b.repeat_interleave(R, 0)[..., None], self.asarray(shifts).repeat(B)[:, None]
        eye, inverses = torch.eye(p, dtype=self.kind, device=self.place), []
        definite = torch.ones(B * R, dtype=torch.bool, device=self.place)
        for j in range(0, m, p):  # U^T U = C + s and U^T z = b; rows of U and z become known
            row, z = U[:, j : j + p, j:], x[:, j : j + p]
            if not alone:
                row.view(B, R, *row.shape[1:])[...] = C[:, None, j : j + p, j:]
            row.diagonal(dim1=-2, dim2=-1).add_(s)
            if j:
                above = transpose(U[:, :j, j : j + p])
                row.baddbmm_(above, U[:, :j, j:], alpha=-1)
                z.baddbmm_(above, x[:, :j], alpha=-1)
            L, info = torch.linalg.cholesky_ex(transpose(row[..., :p]))
            definite &= info == 0
            k = L.shape[-1]
            inverse = torch.linalg.solve_triangular(L, eye[:k, :k], upper=False)
            inverses.append(inverse)
            row[..., p:] = inverse @ row[..., p:]
            z[...] = inverse @ z
        for j, inverse in zip(range(0, m, p)[::-1], inverses[::-1], strict=True):  # U x = z
            z = x[:, j : j + p]
            if j + p < m:
                z.baddbmm_(U[:, j : j + p, j + p :], x[:, j + p :], alpha=-1)
            z[...] = transpose(inverse) @ z
        return x.view(B, R, m), definite.view(B, R)

    def cholesky_solve(self, U: Array, b: Array) -> Array:
        b = b.expand(*U.shape[:-2], *b.shape[-2:])
        z = self.torch.linalg.solve_triangular(transpose(U), b, upper=False)
        return self.torch.linalg.solve_triangular(U, z, upper=True)

    def solve_lower(self, U: Array, R: Array) -> Array:
        return self.torch.linalg.solve_triangular(U, R, upper=True, left=False)

    def inverse_triangle(self, U: Array) -> Array:
        eye = self.torch.eye(U.shape[-1], dtype=self.kind, device=self.place)
        return self.torch.linalg.solve_triangular(U, eye.expand(U.shape), upper=True)

    def draw(
        self,
        seeds: Sequence[int],
        normal: bool,
        key: Sequence[int],
        start: int,
        rows: int,
        width: int,
    ) -> Array:
        """Numbers from the device's own generator, shape (seeds, rows, width); see `drawing`."""
        shape, kind = (len(seeds), rows, width), {"dtype": self.kind, "device": self.place}
        out = self._kept(lambda: self.torch.empty(shape, **kind))
        draw = drawing(out, normal, key, start)
        if isinstance(now := recording(), Recording):
            now.draws.append(draw)
        else:
            draw(seeds)
        return out


def _stack(A: Array) -> Array:
    """A with one leading axis."""
    return A.reshape(-1, *A.shape[-2:])
