"""Headers of .npy files are read as data: what is no array of numbers or text is refused."""

from __future__ import annotations

import io

import numpy as np
import pytest

from onegrad.exceptions import InvalidInput
from onegrad.io.npy import read_array, read_header


def npy(descr, shape):
    return with_header(f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}")


def with_header(text, version=1):
    data = text.encode("latin1")
    size = len(data).to_bytes(2 if version == 1 else 4, "little")
    return b"\x93NUMPY" + bytes([version, 0]) + size + data


@pytest.mark.parametrize("version", [1, 2, 3])
@pytest.mark.parametrize(
    "array", [np.arange(6.0).reshape(2, 3), np.array(["a", "bc"]), np.array(7)]
)
@pytest.mark.parametrize("order", ["C", "F"])
def test_what_numpy_writes_is_read(array, order, version):
    file, array = io.BytesIO(), np.asarray(array, order=order)
    np.lib.format.write_array(file, array, version=(version, 0))
    file.seek(0)
    found = read_array(file, "x")
    assert found.dtype == array.dtype
    np.testing.assert_array_equal(found, array)


REFUSED = {
    "nothing": (b"", "not an array that NumPy wrote"),
    "other magic": (b"PK\x03\x04" + bytes(20), "not an array that NumPy wrote"),
    "a version of the future": (b"\x93NUMPY\x07\x00" + bytes(9), r"version 7\.0 is not supported"),
    "half a header": (npy("'<f8'", "(3,)")[:-9], "damaged"),
    "no shape": (with_header("{'descr': '<f8', 'fortran_order': False}"), "damaged"),
    "code": (with_header("__import__('os').getcwd()"), "damaged"),
    "deep nesting": (with_header("(" * 5000), "damaged"),
    "many signs": (with_header("-" * 9000 + "1"), "damaged"),
    "a long header": (npy("'<f8'", "(3,)" + " " * 20_000), "damaged"),
    "Python 2": (npy("'<f8'", "(3L,)"), "damaged"),
    "a negative length": (npy("'<f8'", "(-1,)"), "damaged"),
    "a huge length": (npy("'<f8'", f"(0, {10**30})"), "damaged"),
    "objects": (npy("'|O'", "(3,)"), "Python objects, which are never loaded"),
    "objects in columns": (npy("[('a', '|O')]", "(3,)"), "Python objects, which are never loaded"),
    "columns": (npy("[('a', '<f8'), ('b', '<i4')]", "(3,)"), "not numbers or text"),
    "dates": (npy("'<M8[ns]'", "(3,)"), "not numbers or text"),
    "empty entries": (npy("'|S0'", "(3,)"), "empty entries"),
    "an unknown type": (npy("'<q99'", "(3,)"), "damaged"),
}


@pytest.mark.parametrize(("data", "words"), REFUSED.values(), ids=REFUSED)
def test_anything_else_is_refused_in_one_line(data, words):
    with pytest.raises(InvalidInput, match=words) as caught:
        read_header(io.BytesIO(data), "x.npy")
    assert caught.value.argument == "x.npy" and "\n" not in str(caught.value)


@pytest.mark.parametrize("extra", [-8, 8])
def test_the_file_has_as_many_numbers_as_its_shape_says(extra):
    data = npy("'<f8'", "(3,)") + bytes(24 + extra)
    with pytest.raises(InvalidInput, match=f"has {24 + extra} bytes of numbers .* says 24"):
        read_array(io.BytesIO(data), "x")
