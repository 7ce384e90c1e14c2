"""The BLAS and LAPACK that SciPy carries, called without holding Python's lock.

SciPy's own wrappers hold the lock while they compute, so that threads would wait for each other;
a call through ctypes releases it. Matrices are row-major with rows of any stride: to BLAS a
row-major matrix is the transposed column-major one. Symmetric matrices live in their upper
triangle, which BLAS sees as the lower one.
"""

import ctypes
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

Matrix = np.ndarray[Any, Any]

LAPACK_ROUTINES = ("geqrt", "pbsv", "potrf", "potrs", "trtri")  # they report through `info`


@lru_cache(maxsize=64)
def _routine(name: str, dtype: str) -> tuple[Callable[..., None], Any, Any]:
    """Return a routine of SciPy's Cython interface, with its integer and its scalar type."""
    from scipy.linalg import cython_blas, cython_lapack

    module = cython_lapack if name in LAPACK_ROUTINES else cython_blas
    capsule = module.__pyx_capi__[("d" if dtype == "float64" else "s") + name]
    api = ctypes.pythonapi
    api.PyCapsule_GetName.restype = ctypes.c_char_p
    api.PyCapsule_GetName.argtypes = [ctypes.py_object]
    api.PyCapsule_GetPointer.restype = ctypes.c_void_p
    api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    signature = api.PyCapsule_GetName(capsule)
    pointer = api.PyCapsule_GetPointer(capsule, signature)
    # SciPy may be built with integers of 32 or 64 bits; the signature says which
    integer = ctypes.c_int if b" int *" in signature else ctypes.c_int64
    real = ctypes.c_double if dtype == "float64" else ctypes.c_float
    return ctypes.CFUNCTYPE(None)(pointer), integer, real


def _call(name: str, dtype: Any, *arguments: Any) -> int:
    """Call a routine, all arguments by reference, and return its `info` (0 if it has none)."""
    routine, integer, real = _routine(name, np.dtype(dtype).name)
    info = integer(0)
    passed: list[Any] = []
    for x in arguments:
        if isinstance(x, np.ndarray):
            passed.append(ctypes.c_void_p(x.ctypes.data))
        elif isinstance(x, bytes):
            passed.append(ctypes.c_char_p(x))
        else:
            passed.append(ctypes.byref(integer(x) if isinstance(x, int) else real(x)))
    if name in LAPACK_ROUTINES:
        passed.append(ctypes.byref(info))
    routine(*passed)
    return int(info.value)


def _stride(A: Matrix) -> int:
    """Return the entries from one row to the next; those of a row are neighbours."""
    assert A.ndim == 2 and A.strides[1] == A.itemsize
    return A.strides[0] // A.itemsize


def add_product(C: Matrix, A: Matrix, B: Matrix, over_rows: bool = False) -> None:
    """Add A^T B to C, or A B^T if `over_rows`."""
    (m, n), k = C.shape, A.shape[1] if over_rows else len(A)
    sizes = (n, m, k, 1.0, B, _stride(B), A, _stride(A), 1.0, C, _stride(C))
    _call("gemm", C.dtype, *((b"T", b"N") if over_rows else (b"N", b"T")), *sizes)


def add_gram(C: Matrix, A: Matrix, over_rows: bool) -> None:
    """Add A^T A, or A A^T if `over_rows`, to the upper triangle of C."""
    rows, columns = A.shape
    n, k, trans = (rows, columns, b"T") if over_rows else (columns, rows, b"N")
    _call("syrk", C.dtype, b"L", trans, n, k, 1.0, A, _stride(A), 1.0, C, _stride(C))


def subtract_products(C: Matrix, A: Matrix, B: Matrix) -> None:
    """Subtract A^T B + B^T A from the upper triangle of C."""
    k, n = A.shape
    sizes = (n, k, -1.0, A, _stride(A), B, _stride(B), 1.0, C, _stride(C))
    _call("syr2k", C.dtype, b"L", b"N", *sizes)


def symmetric_product(A: Matrix, S: Matrix) -> Matrix:
    """Return A S for a symmetric S in its upper triangle."""
    k, n = A.shape
    C = np.empty_like(A)
    sizes = (n, k, 1.0, S, _stride(S), A, _stride(A), 0.0, C, _stride(C))
    _call("symm", A.dtype, b"L", b"L", *sizes)
    return C


def reflect(P: Matrix) -> tuple[Matrix, Matrix]:
    r"""Make P (w, k) lower triangular in place; return the reflections (V, T) that do it.

    :math:`P\,Q = (L\ 0)` with :math:`Q = I - V^\top T^\top V`; V is (r, k) with r = min(w, k).
    """
    w, k = P.shape
    r = min(w, k)
    T, work = np.empty((r, r), P.dtype), np.empty(r * w, P.dtype)
    _call("geqrt", P.dtype, k, w, r, P, _stride(P), T, r, work)
    V = np.triu(P[:r], 1)
    V.flat[:: k + 1] = 1.0  # LAPACK leaves the ones on the diagonal out
    return V, np.tril(T)


def band_solve(A: Matrix, b: Matrix) -> Matrix:
    """Return S^-1 b for the band matrix S_{i,i+t} = A_{i,t}; NaN if it is indefinite.

    A is overwritten.
    """
    m, w = A.shape
    x = np.array(b, dtype=A.dtype)
    failed = _call("pbsv", A.dtype, b"L", m, w - 1, 1, A, w, x, m)
    return np.full_like(x, np.nan) if failed else x


def cholesky(A: Matrix) -> bool:
    """Replace the upper triangle of A by U, U^T U = A; return whether A was positive definite."""
    return _call("potrf", A.dtype, b"L", len(A), A, _stride(A)) == 0


def cholesky_solve(U: Matrix, b: Matrix) -> Matrix:
    """Return (U^T U)^-1 b for the columns of b (m, k)."""
    x = np.array(b.T, dtype=U.dtype, order="C")
    _call("potrs", U.dtype, b"L", len(U), len(x), U, _stride(U), x, len(U))
    return x.T


def solve_lower(U: Matrix, R: Matrix) -> None:
    """Replace the rows r of R by U^-T r."""
    sizes = (len(U), len(R), 1.0, U, _stride(U), R, _stride(R))
    _call("trsm", U.dtype, b"L", b"L", b"N", b"N", *sizes)


def invert_triangle(U: Matrix) -> None:
    """Replace the upper triangle of U by that of U^-1."""
    _call("trtri", U.dtype, b"L", b"N", len(U), U, _stride(U))
