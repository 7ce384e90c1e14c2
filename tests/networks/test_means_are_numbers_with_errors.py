"""`og.simulate(...).test` adds, compares, indexes and converts, and its errors are right."""

import pickle
from typing import Any

import numpy as np
import pytest

import onegrad as og

PROBLEM = og.Problem(n=80, d=20, N=30, activation="relu")


@pytest.fixture(scope="module")
def test_error():
    return og.simulate(PROBLEM, seeds=6, alpha=[0.0, 0.2, 0.4]).test


@pytest.fixture(scope="module")
def others():
    """Errors of other networks, which are independent of the first ones."""
    return og.simulate(PROBLEM, seeds=[10, 11, 12, 13], alpha=[0.0, 0.2, 0.4]).test


def test_a_constant_moves_the_mean_and_a_factor_scales_the_error(test_error):
    for moved in (test_error - 1.0, test_error - np.ones(3), -(1.0 - test_error)):
        np.testing.assert_allclose(np.asarray(moved), test_error.mean - 1.0)
        np.testing.assert_allclose(moved.se, test_error.se)
    np.testing.assert_allclose((np.float64(3.0) * test_error).se, 3 * test_error.se)
    np.testing.assert_allclose((test_error / -2).se, test_error.se / 2)
    np.testing.assert_allclose(np.log(test_error).se, test_error.se / test_error.mean, rtol=0.05)


def test_errors_of_independent_means_add_in_quadrature(test_error, others):
    a, b = test_error, others
    for total in (a + b, a - b, b - a):
        np.testing.assert_allclose(total.se, np.hypot(a.se, b.se))
    np.testing.assert_allclose((a * b).se, np.hypot(a.se * b.mean, b.se * a.mean), rtol=1e-6)


def test_the_same_seeds_are_compared_in_pairs(test_error):
    values = test_error.values
    difference = test_error[2] - test_error[0]
    pairs = values[:, 2] - values[:, 0]
    assert float(difference) == pytest.approx(pairs.mean())
    assert difference.se == pytest.approx(pairs.std(ddof=1) / np.sqrt(len(pairs)))
    np.testing.assert_allclose(difference.values, pairs)
    assert (test_error - test_error).se.max() == 0.0
    whole = np.mean(test_error)
    assert whole.se == pytest.approx(values.mean(1).std(ddof=1) / np.sqrt(len(values)))


def test_it_indexes_broadcasts_and_compares_as_an_array_does(test_error):
    assert len(test_error) == 3 and [t.shape for t in test_error] == [()] * 3
    assert test_error[1:].values.shape == (6, 2)
    assert test_error[np.array([True, False, True])].mean.shape == (2,)
    assert (test_error[:, None] - np.zeros((3, 2))).se.shape == (3, 2)
    assert (test_error < 100).all() and not (test_error == 0).any()
    assert np.argmin(test_error) == np.argmin(test_error.mean)
    stacked: Any = np.stack([test_error, test_error])  # NumPy's own types know arrays alone
    assert stacked.se.shape == (2, 3)


def test_it_converts_prints_and_is_drawn(test_error):
    assert float(test_error[0]) == test_error.mean[0]
    with pytest.raises(TypeError):
        float(test_error)
    with pytest.raises(TypeError):
        list(test_error[0])
    with pytest.raises(TypeError):  # an array in place would lose the errors
        numbers = np.zeros(3)
        numbers += test_error
    value, error = str(test_error[0]).split(" ± ")
    assert len(value.split(".")[1]) == len(error.split(".")[1])
    assert f"{test_error[0]:.2f}" == f"{test_error.mean[0]:.2f} ± {test_error.se[0]:.2f}"
    np.testing.assert_array_equal(np.asarray(pickle.loads(pickle.dumps(test_error))), test_error)
    import matplotlib.pyplot as plt

    (line,) = plt.plot([0, 1, 2], test_error)
    np.testing.assert_array_equal(line.get_ydata(), test_error.mean)
    plt.close()


def test_one_network_has_no_error():
    one = og.simulate(PROBLEM, seeds=1, alpha=0.2).test
    assert np.isnan((one - 1.0).se) and str(one) == f"{one.mean:.5g}"
