"""Ridge from moments against scikit-learn's Ridge on the same rows."""

from itertools import product

import numpy as np
import pytest

from naive import moments
from onegrad.exceptions import InvalidInput, NotConverged
from onegrad.ridge import NormalEquations


@pytest.mark.compat
def test_coefficients():
    from sklearn.linear_model import Ridge

    rng = np.random.default_rng(1)
    F, y = rng.standard_normal((60, 7)) + 1, rng.standard_normal((60, 2)) - 2
    for intercept, w in product((True, False), (None, rng.random(60))):
        readout = NormalEquations.of(moments(F, y, w), intercept).solve(0.1)
        weights = np.ones(60) if w is None else w
        oracle = Ridge(alpha=0.1 * weights.sum(), fit_intercept=intercept)
        oracle.fit(F, y, sample_weight=weights)
        np.testing.assert_allclose(readout.coef, oracle.coef_.T, rtol=1e-9)
        constant = np.broadcast_to(oracle.intercept_, 2)
        np.testing.assert_allclose(readout.intercept, constant, rtol=1e-9, atol=1e-12)


def test_a_singular_system_says_so():
    F = np.ones((5, 3))
    with pytest.raises(NotConverged, match="too small"):
        NormalEquations.of(moments(F, F[:, :1]), intercept=False).factor(-1.0)


def test_moments_of_other_sizes_do_not_mix():
    a, b = moments(np.ones((4, 2)), np.ones((4, 1))), moments(np.ones((4, 3)), np.ones((4, 1)))
    with pytest.raises(InvalidInput, match="do not match"):
        a + b
    with pytest.raises(InvalidInput, match="cannot remove 4 rows from 2"):
        moments(np.ones((2, 2)), np.ones((2, 1))) - a
