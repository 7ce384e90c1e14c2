"""Headers of .npy files are read as data: what is no array of numbers or text is refused."""

import io

import numpy as np
import pytest

from onegrad.exceptions import InvalidInput
from onegrad.io.npy import read_array, read_header

pytestmark = pytest.mark.compat


def npy(descr, shape):
    return with_header(f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}")


def with_header(text):
    data = text.encode("latin1")
    return b"\x93NUMPY\x01\x00" + len(data).to_bytes(2, "little") + data


def test_what_numpy_writes_is_read():
    for version in (1, 2, 3):
        for array in (np.arange(6.0).reshape(2, 3), np.array(["a", "bc"]), np.array(7)):
            for order in ("C", "F"):
                file, array_in_order = io.BytesIO(), np.asarray(array, order=order)
                np.lib.format.write_array(file, array_in_order, version=(version, 0))
                file.seek(0)
                got = read_array(file, "x")
                assert got.dtype == array.dtype, (version, order)
                np.testing.assert_array_equal(got, array)


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


def test_anything_else_is_refused_in_one_line():
    for case, (data, words) in REFUSED.items():
        with pytest.raises(InvalidInput, match=words) as caught:
            read_header(io.BytesIO(data), "x.npy")
        assert caught.value.argument == "x.npy" and "\n" not in str(caught.value), case
    for size in (16, 32):  # of three numbers
        data = npy("'<f8'", "(3,)") + bytes(size)
        with pytest.raises(InvalidInput, match=f"has {size} bytes of numbers .* says 24"):
            read_array(io.BytesIO(data), "x")
