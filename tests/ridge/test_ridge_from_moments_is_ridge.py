"""Ridge from moments against scikit-learn's Ridge on the same rows."""

import numpy as np
import pytest

from naive import moments
from onegrad.exceptions import InvalidInput, NotConverged
from onegrad.ridge import NormalEquations


@pytest.mark.compat
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_coefficients(intercept, weighted):
    from sklearn.linear_model import Ridge

    rng = np.random.default_rng(1)
    F, y = rng.standard_normal((60, 7)) + 1, rng.standard_normal((60, 2)) - 2
    w = rng.random(60) if weighted else np.ones(60)
    equations = NormalEquations.of(moments(F, y, w if weighted else None), intercept)
    readout = equations.solve(0.1)
    oracle = Ridge(alpha=0.1 * w.sum(), fit_intercept=intercept).fit(F, y, sample_weight=w)
    np.testing.assert_allclose(readout.coef, oracle.coef_.T, rtol=1e-9)
    np.testing.assert_allclose(
        readout.intercept, np.broadcast_to(oracle.intercept_, 2), rtol=1e-9, atol=1e-12
    )
    residual = (w @ (y - oracle.predict(F)) ** 2) / w.sum()
    a = readout.coef
    found = equations.y_square - 2 * (a * equations.v).sum(0) + (a * (equations.G @ a)).sum(0)
    np.testing.assert_allclose(found, residual, rtol=1e-9)


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
