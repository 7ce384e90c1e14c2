"""Arrays in files as NumPy writes them: nothing in them is run, none is larger than its file."""

from __future__ import annotations

import math
import re
from typing import IO, Any

import numpy as np

from onegrad.exceptions import InvalidInput

MAGIC = b"\x93NUMPY"
LONGEST = 10_000  # characters of a header
FIELDS = {
    "descr": r"([<>|=]?[?bBhilqHILQfdiucSUmMOV]\d{0,9})",
    "fortran_order": "(True|False)",
    "shape": r"\(((?:\s*\d{1,18}\s*,?)*)\)",
}
Header = tuple[tuple[int, ...], bool, np.dtype[Any]]


def read_header(file: IO[bytes], name: str) -> Header:
    """Shape, whether columns come first, and type; pickled objects are refused."""
    start = file.read(8)
    if start[:6] != MAGIC or len(start) < 8:
        raise InvalidInput(f"{name} is not an array that NumPy wrote")
    if start[6:] not in (b"\x01\x00", b"\x02\x00", b"\x03\x00"):
        raise InvalidInput(f"{name}: .npy version {start[6]}.{start[7]} is not supported")
    length = int.from_bytes(file.read(2 if start[6] == 1 else 4), "little")
    text = file.read(min(length, LONGEST))
    found = [_field(key, text.decode("latin1")) for key in FIELDS]
    if len(text) < length or None in found:
        raise InvalidInput(f"{name}: the header of the array is damaged")
    descr, fortran, shape = map(str, found)
    if "O" in descr:
        raise InvalidInput(f"{name} holds Python objects, which are never loaded")
    try:
        dtype = np.dtype(descr)
    except (TypeError, ValueError):
        raise InvalidInput(f"{name} has entries of no known type, {descr!r}") from None
    if not dtype.itemsize:
        raise InvalidInput(f"{name} has empty entries")
    return tuple(int(n) for n in re.findall(r"\d+", shape)), fortran == "True", dtype


def _field(key: str, text: str) -> str | None:
    quoted = FIELDS[key] if key != "descr" else f"['\"]{FIELDS[key]}['\"]"
    match = re.search(f"['\"]{key}['\"]\\s*:\\s*{quoted}", text)
    return None if match is None else match[1]


def size_of(shape: tuple[int, ...], dtype: np.dtype[Any]) -> int:
    """Bytes of an array, in whole numbers that do not overflow."""
    return math.prod(shape) * dtype.itemsize


def read_array(file: IO[bytes], name: str) -> np.ndarray[Any, Any]:
    """All of an array; a file that ends too early or too late is refused."""
    shape, fortran, dtype = read_header(file, name)
    data = file.read()
    if len(data) != size_of(shape, dtype):
        raise InvalidInput(
            f"{name} has {len(data)} bytes of numbers where its shape says {size_of(shape, dtype)}"
        )
    return np.frombuffer(data, dtype).reshape(shape, order="F" if fortran else "C")
