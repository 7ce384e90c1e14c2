"""The pass over the data gives the moments of NumPy on every device: its sums are exact."""

import numpy as np
import pytest

import onegrad as og


@pytest.mark.parametrize("weighted", [False, True])
def test_fits_are_equal_to_the_last_bit(each_backend, weighted):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((5000, 4)).astype(np.float32)
    y = np.tanh(X[:, 0] * X[:, 1])
    weights = rng.integers(1, 4, 5000) if weighted else None

    def fit(device):
        model = og.AlternatingRegressor(50, rounds=2, random_state=0, device=device)
        return model.fit(X, y, weights)

    ours, reference = fit(each_backend.device), fit("cpu")
    np.testing.assert_array_equal(ours.fitted_.moments.FtF, reference.fitted_.moments.FtF)
    np.testing.assert_array_equal(ours.fitted_.moments.Fty, reference.fitted_.moments.Fty)
    np.testing.assert_array_equal(ours.coef_, reference.coef_)
