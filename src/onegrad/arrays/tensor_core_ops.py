r"""Float32 tensors whose products run on the tensor cores, in half precision with float32 sums.

With :math:`h(x)` the half-precision number nearest to x, of 11 bits, and
:math:`l(x) = h(x - h(x))`,

.. math:: x \approx h(x), \qquad a \approx h(a) + l(a)

for features x, inputs and weights, and for readouts and labels a. The features *are* numbers of
half precision: Gram matrix, F^T y and predictions are those of one and the same matrix, so that
rounding acts like a little noise in the features and not like a Gram matrix that is not one. Normal
equations are solved in float64.

Tensor cores round every addition towards zero: a sum of k products is 5e-9 k of itself too small.
So sums are taken in parts, added to each other in float32, and the diagonal of a Gram matrix is a
sum of its own.
"""

from functools import cached_property

from onegrad.arrays.namespace import Array, namespace, transpose
from onegrad.arrays.ops import Elementwise
from onegrad.arrays.torch_ops import TorchOps

# Terms of a sum inside the tensor cores. More are faster: on an H200, sums of 16,384 terms would
# put errors at n = N = 16,384 off by 3e-3 instead of 4e-4.
SUMMED_TERMS = 2048
FEW_TERMS = 256  # of sums of any sign, which are small beside their terms
MIN_WHOLE_BLOCK = 128  # columns of a Gram matrix whose block on the diagonal is computed whole


class TensorCoreOps(TorchOps):
    """Torch tensors in single precision; see `Ops` for what each operation does."""

    def __init__(self, device: str) -> None:
        super().__init__(device, "float32")
        self.precision = "fast"
        self.working_bytes = 8

    @cached_property
    def exact(self) -> TorchOps:
        return TorchOps(self.device, "float64", drawn="float32")

    def stored(self, F: Array) -> Array:
        return F.half()

    # -- products ----------------------------------------------------------------------------

    def product(self, X: Array, W: Array, f: Elementwise | None = None) -> Array:
        P = _bmm(X.half(), transpose(W.half()), in_half=f is not None)
        return P if f is None else self.stored(f(P))

    def read_out(self, F: Array, A: Array) -> Array:
        size = A.abs().amax((-2, -1), keepdim=True)  # A has small and large entries: 22 bits
        F, both = F.half(), self.torch.cat(_halves(A / size), -1)
        out = self.zeros(*F.shape[:-1], both.shape[-1])
        for k in _parts(F.shape[-1]):
            _add_bmm(out, F[..., k], both[:, k])
        return (out[..., : A.shape[-1]] + out[..., A.shape[-1] :]) * size

    def add_weighted_rows(self, c: Array, y: Array, F: Array) -> None:
        rows, F = self.torch.stack(_halves(y), 1), F.half()
        (B, n, N), full_rows = F.shape, F.shape[1] // FEW_TERMS * FEW_TERMS
        if full_rows:  # one product for all parts
            left = rows[..., :full_rows].reshape(B, 2, -1, FEW_TERMS).transpose(1, 2)
            right = F[:, :full_rows].reshape(-1, FEW_TERMS, N)
            c += _bmm(left.reshape(-1, 2, FEW_TERMS), right).view(B, -1, N).sum(1)
        if full_rows < n:
            c += _bmm(rows[..., full_rows:], F[:, full_rows:]).sum(1)

    def add_product(self, C: Array, A: Array, B: Array) -> None:
        C, A, B = (x.reshape(-1, *x.shape[-2:]) for x in (C, A, B))
        A, B = A.half(), B.half()
        for k in _parts(A.shape[1]):
            _add_bmm(C, transpose(A[:, k]), B[:, k])

    def add_gram(self, C: Array, A: Array, over_rows: bool = False) -> None:
        C, A = (x.reshape(-1, *x.shape[-2:]) for x in (C, A))
        axis, A = 2 if over_rows else 1, A.half()
        wide = self.kind if A.is_cuda else self.torch.float64  # a CPU adds one by one
        squares = self.torch.linalg.vector_norm(A, dim=axis, dtype=wide) ** 2
        diagonal = C.diagonal(0, -2, -1) + squares
        leaf = max(MIN_WHOLE_BLOCK, C.shape[-1] // 8)
        for k in _parts(A.shape[axis]):
            part = A.narrow(axis, k.start, k.stop - k.start)
            left, right = (part, transpose(part)) if over_rows else (transpose(part), part)
            self._add_upper(C, left, right, leaf)
        C.diagonal(0, -2, -1).copy_(diagonal)

    def _add_matmul(self, C: Array, A: Array, B: Array) -> None:
        _add_bmm(C, A, B)


def _parts(length: int) -> list[slice]:
    """Return slices of at most SUMMED_TERMS terms."""
    return [slice(i, min(i + SUMMED_TERMS, length)) for i in range(0, length, SUMMED_TERMS)]


def _halves(x: Array) -> tuple[Array, Array]:
    """Return h(x) and h(x - h(x)), 11 bits each."""
    high = x.half()
    return high, (x - high.float()).half()  # kernels of one type are the fast ones


def _bmm(A: Array, B: Array, in_half: bool = False) -> Array:
    """Return the product of half-precision matrices in float32, or rounded to half precision.

    Sums are in float32, on a CPU in float64.
    """
    if not A.is_cuda:
        P = A.double() @ B.double()
        return P.half() if in_half else P.float()
    torch = namespace(A)
    return torch.bmm(A, B) if in_half else torch.bmm(A, B, out_dtype=torch.float32)


def _add_bmm(C: Array, A: Array, B: Array) -> None:
    """Add A B to C (float32), for half-precision A and B."""
    if A.is_cuda:
        torch = namespace(C)
        torch.baddbmm(C, A, B, out_dtype=torch.float32, out=C)
    else:
        C.add_(_bmm(A, B))
