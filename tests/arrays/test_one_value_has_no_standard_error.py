"""Standard errors of means: unknown for one value, never zero."""

import numpy as np

from onegrad.arrays import standard_error


def test_against_the_definition():
    x = np.random.default_rng(0).standard_normal((7, 3))
    np.testing.assert_allclose(standard_error(x), np.std(x, axis=0, ddof=1) / np.sqrt(7))
    np.testing.assert_allclose(standard_error(x, axis=1), np.std(x, axis=1, ddof=1) / np.sqrt(3))
    assert standard_error([1, 3]) == 1.0


def test_one_value():
    assert np.isnan(standard_error([4.0]))
    assert np.isnan(standard_error(np.ones((1, 2, 3)))).all()
    assert standard_error(np.ones((1, 2, 3))).shape == (2, 3)
