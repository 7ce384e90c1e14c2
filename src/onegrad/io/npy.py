"""Arrays in files as NumPy writes them: nothing in them is run, none is larger than its file."""

import math
import warnings
from typing import IO, Any, Literal, NamedTuple

import numpy as np
from numpy.lib import format as npy_format

from onegrad.exceptions import InvalidInput

READERS = {  # version 3.0 differs from 2.0 in names of columns alone, which are refused
    (1, 0): npy_format.read_array_header_1_0,
    (2, 0): npy_format.read_array_header_2_0,
    (3, 0): npy_format.read_array_header_2_0,
}


class Header(NamedTuple):
    """The header of an array; in the order F columns come first."""

    shape: tuple[int, ...]
    order: Literal["C", "F"]
    dtype: np.dtype[Any]

    @property
    def size(self) -> int:
        """Bytes of the array, in whole numbers that do not overflow."""
        return math.prod(self.shape) * self.dtype.itemsize


def read_header(file: IO[bytes], name: str) -> Header:
    """Return the header of an array; one of Python objects is refused."""
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
            shape, fortran, dtype = READERS[version](file)
    except Exception:  # the header is a literal of Python: there are many ways to be none
        raise InvalidInput(name, problem="the header of the array is damaged") from None
    if dtype.hasobject:
        raise InvalidInput(name, problem="holds Python objects, which are never loaded")
    if dtype.names or dtype.subdtype or dtype.kind in "mM":
        raise InvalidInput(name, problem=f"has entries of type {dtype}, not numbers or text")
    if not dtype.itemsize:
        raise InvalidInput(name, problem="has empty entries")
    if not all(0 <= length < 10**18 for length in shape):  # reshape takes no more than 2^63
        raise InvalidInput(name, problem="the header of the array is damaged")
    return Header(shape, "F" if fortran else "C", dtype)


def read_array(file: IO[bytes], name: str) -> np.ndarray[Any, Any]:
    """Return the whole array; a file that ends too early or too late is refused."""
    # not numpy.load, which allocates what the header of a member says before it reads the member
    header = read_header(file, name)
    data = file.read()
    if len(data) != header.size:
        problem = f"has {len(data)} bytes of numbers where its shape says {header.size}"
        raise InvalidInput(name, problem=problem)
    return np.frombuffer(data, header.dtype).reshape(header.shape, order=header.order)
