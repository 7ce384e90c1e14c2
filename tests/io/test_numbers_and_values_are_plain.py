"""Numbers from text, and values as JSON has them."""

import math

import numpy as np
import pytest

from onegrad import InvalidInput
from onegrad.io.json_values import json_values
from onegrad.io.ranges import parse_numbers


def test_a_range_includes_both_ends():
    assert parse_numbers("0:0.5:3,2", "--alpha", 100) == [0.0, 0.25, 0.5, 2.0]
    assert parse_numbers("1e-2:1:3:log", "--ridge", 100) == pytest.approx([0.01, 0.1, 1.0])


def test_a_complaint_starts_with_the_name():
    for text, complaint in (
        ("two", "--n must be a number, a list or a range; got 'two'"),
        ("nan", "--n must be a number"),
        ("1:2", r"--n '1:2': a range is start:stop:count\[:log\]"),
        ("1:2:101", "--n '1:2:101': count must be 1 to 100"),
        ("0:2:3:log", "--n '0:2:3:log': a logarithmic range needs positive ends"),
        ("1:2:99,3,4", "--n: lists more than 100 values"),
    ):
        with pytest.raises(InvalidInput, match=f"^{complaint}"):
            parse_numbers(text, "--n", 100)


def test_numbers_that_are_not_finite_become_null():
    assert json_values({"a": [math.nan, 1.0, math.inf]}) == {"a": [None, 1.0, None]}
    assert json_values({1: (np.float64(2), np.arange(2))}) == {"1": [2.0, [0, 1]]}
    assert json_values([math.inf], str) == ["inf"]
