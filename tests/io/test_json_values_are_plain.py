"""Values of NumPy become values that JSON has."""

from __future__ import annotations

import json
import math

import numpy as np

from onegrad.io.json_values import plain


def test_arrays_are_lists_and_keys_are_text() -> None:
    value = {1: np.arange(3), "x": (np.float32(0.5), np.int64(2), np.bool_(True), "word", None)}
    assert json.dumps(plain(value)) == '{"1": [0, 1, 2], "x": [0.5, 2, true, "word", null]}'


def test_what_is_not_finite_is_null_or_text() -> None:
    value = [math.nan, np.array([1.0, -np.inf]), {"a": np.float64("nan")}]
    assert plain(value) == [None, [1.0, None], {"a": None}]
    assert plain(value, str) == ["nan", [1.0, "-inf"], {"a": "nan"}]
