"""Arrays in files as NumPy writes them: nothing in them is run, none is larger than its file."""

from __future__ import annotations

import math
import warnings
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy_format

from onegrad.exceptions import InvalidInput

MAX_HEADER = 10_000  # characters
MAX_LENGTH = 10**18  # of an axis
READERS = {  # version 3.0 differs from 2.0 in names of columns alone, which are refused
    (1, 0): npy_format.read_array_header_1_0,
    (2, 0): npy_format.read_array_header_2_0,
    (3, 0): npy_format.read_array_header_2_0,
}
Header = tuple[tuple[int, ...], bool, np.dtype[Any]]


def read_header(file: IO[bytes], name: str) -> Header:
    """Return the shape, whether columns come first, and the type; Python objects are refused."""
    try:
        version = npy_format.read_magic(file)
    except ValueError:
        raise InvalidInput(name, problem="not an array that NumPy wrote") from None
    if version not in READERS:
        text = ".".join(map(str, version))
        raise InvalidInput(name, problem=f".npy version {text} is not supported")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # headers of Python 2
            shape, fortran, dtype = READERS[version](file, max_header_size=MAX_HEADER)
    except Exception:  # the header is a literal of Python: there are many ways to be none
        raise InvalidInput(name, problem="the header of the array is damaged") from None
    if dtype.hasobject:
        raise InvalidInput(name, problem="holds Python objects, which are never loaded")
    if dtype.names or dtype.subdtype or dtype.kind in "mM":
        raise InvalidInput(name, problem=f"has entries of type {dtype}, not numbers or text")
    if not dtype.itemsize:
        raise InvalidInput(name, problem="has empty entries")
    if not all(0 <= length < MAX_LENGTH for length in shape):
        raise InvalidInput(name, problem="the header of the array is damaged")
    return shape, fortran, dtype


def size_of(shape: tuple[int, ...], dtype: np.dtype[Any]) -> int:
    """Return the bytes of an array, in whole numbers that do not overflow."""
    return math.prod(shape) * dtype.itemsize


def read_array(file: IO[bytes], name: str) -> np.ndarray[Any, Any]:
    """Return the whole array; a file that ends too early or too late is refused."""
    shape, fortran, dtype = read_header(file, name)
    data, expected = file.read(), size_of(shape, dtype)
    if len(data) != expected:
        problem = f"has {len(data)} bytes of numbers where its shape says {expected}"
        raise InvalidInput(name, problem=problem)
    return np.frombuffer(data, dtype).reshape(shape, order="F" if fortran else "C")
