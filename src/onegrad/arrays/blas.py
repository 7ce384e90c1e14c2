"""The BLAS and LAPACK that SciPy carries, called without holding Python's lock.

SciPy's own wrappers keep the lock while they compute, so that threads would wait for each other;
a call through ctypes lets it go. Matrices are row-major with rows of any stride: to BLAS a
row-major matrix is the transposed column-major one. Symmetric matrices live in their upper
triangle, which BLAS sees as the lower one.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

Matrix = np.ndarray[Any, Any]

LAPACK = ("geqrt", "pbsv", "potrf", "potrs", "trtri")  # the routines that report through `info`


@lru_cache(maxsize=64)
def _routine(name: str, dtype: str) -> tuple[Callable[..., None], Any, Any]:
    """A routine of SciPy's Cython interface, with its integer and its scalar type."""
    from scipy.linalg import cython_blas, cython_lapack

    module = cython_lapack if name in LAPACK else cython_blas
    capsule = module.__pyx_capi__[("d" if dtype == "float64" else "s") + name]
    api = ctypes.pythonapi
    api.PyCapsule_GetName.restype = ctypes.c_char_p
    api.PyCapsule_GetName.argtypes = [ctypes.py_object]
    api.PyCapsule_GetPointer.restype = ctypes.c_void_p
    api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    signature = api.PyCapsule_GetName(capsule)
    pointer = api.PyCapsule_GetPointer(capsule, signature)
    integer = ctypes.c_int if b" int *" in signature else ctypes.c_int64
    real = ctypes.c_double if dtype == "float64" else ctypes.c_float
    return ctypes.CFUNCTYPE(None)(pointer), integer, real


def _call(name: str, dtype: Any, *arguments: Any) -> int:
    """Fortran calls take everything by reference; returns `info` where the routine has one."""
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
    if name in LAPACK:
        passed.append(ctypes.byref(info))
    routine(*passed)
    return int(info.value)


def _stride(A: Matrix) -> int:
    """Entries from one row to the next; entries of a row are neighbours."""
    assert A.ndim == 2 and A.strides[1] == A.itemsize
    return A.strides[0] // A.itemsize


def add_product(C: Matrix, A: Matrix, B: Matrix, over_rows: bool = False) -> None:
    """C += A^T B, or A B^T where `over_rows`."""
    (m, n), k = C.shape, A.shape[1] if over_rows else len(A)
    sizes = (n, m, k, 1.0, B, _stride(B), A, _stride(A), 1.0, C, _stride(C))
    _call("gemm", C.dtype, *((b"T", b"N") if over_rows else (b"N", b"T")), *sizes)


def add_gram(C: Matrix, A: Matrix, over_rows: bool) -> None:
    """C += A^T A, or A A^T where `over_rows`, in the upper triangle."""
    rows, columns = A.shape
    n, k, trans = (rows, columns, b"T") if over_rows else (columns, rows, b"N")
    _call("syrk", C.dtype, b"L", trans, n, k, 1.0, A, _stride(A), 1.0, C, _stride(C))


def subtract_products(C: Matrix, A: Matrix, B: Matrix) -> None:
    """C -= A^T B + B^T A, in the upper triangle."""
    k, n = A.shape
    sizes = (n, k, -1.0, A, _stride(A), B, _stride(B), 1.0, C, _stride(C))
    _call("syr2k", C.dtype, b"L", b"N", *sizes)


def symmetric_product(A: Matrix, S: Matrix) -> Matrix:
    """A S for a symmetric S in its upper triangle."""
    k, n = A.shape
    C = np.empty_like(A)
    sizes = (n, k, 1.0, S, _stride(S), A, _stride(A), 0.0, C, _stride(C))
    _call("symm", A.dtype, b"L", b"L", *sizes)
    return C


def reflect(P: Matrix) -> tuple[Matrix, Matrix]:
    r"""Reflections that make P (w, k) lower triangular, in place: (V, T).

    :math:`P\,Q = (L\ 0)` with :math:`Q = I - V^\top T^\top V`; V is (r, k) with r = min(w, k).
    """
    w, k = P.shape
    r = min(w, k)
    T, work = np.empty((r, r), P.dtype), np.empty(r * w, P.dtype)
    _call("geqrt", P.dtype, k, w, r, P, _stride(P), T, r, work)
    V = np.triu(P[:r], 1)
    V.flat[:: k + 1] = 1.0
    return V, np.tril(T)


def band_solve(A: Matrix, b: Matrix) -> Matrix:
    """S^-1 b for the band matrix S_{i,i+t} = A_{i,t}, of which A is overwritten; else NaN."""
    m, w = A.shape
    x = np.array(b, dtype=A.dtype)
    failed = _call("pbsv", A.dtype, b"L", m, w - 1, 1, A, w, x, m)
    return np.full_like(x, np.nan) if failed else x


def cholesky(A: Matrix) -> bool:
    """The upper triangle of A becomes U with U^T U = A; whether A was positive definite."""
    return _call("potrf", A.dtype, b"L", len(A), A, _stride(A)) == 0


def cholesky_solve(U: Matrix, b: Matrix) -> Matrix:
    """(U^T U)^-1 b for the columns of b (m, k)."""
    x = np.array(b.T, dtype=U.dtype, order="C")
    _call("potrs", U.dtype, b"L", len(U), len(x), U, _stride(U), x, len(U))
    return x.T


def solve_lower(U: Matrix, R: Matrix) -> None:
    """The rows r of R become U^-T r."""
    sizes = (len(U), len(R), 1.0, U, _stride(U), R, _stride(R))
    _call("trsm", U.dtype, b"L", b"L", b"N", b"N", *sizes)


def invert_triangle(U: Matrix) -> None:
    """The upper triangle of U becomes that of U^-1."""
    _call("trtri", U.dtype, b"L", b"N", len(U), U, _stride(U))
