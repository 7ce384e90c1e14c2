"""The pass over the data on torch gives the moments of NumPy: sums are exact on every device."""

import numpy as np
import pytest

import onegrad as og


def test_torch():
    pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    X = rng.standard_normal((5000, 4)).astype(np.float32)
    y = np.tanh(X[:, 0] * X[:, 1])
    w = rng.integers(1, 4, 5000)
    for weights in (None, w):
        fits = [
            og.AlternatingRegressor(50, rounds=2, random_state=0, device=device).fit(X, y, weights)
            for device in ("cpu", "torch")
        ]
        a, b = (f.fitted_.moments for f in fits)
        assert np.array_equal(a.FtF, b.FtF)
        assert np.array_equal(a.Fty, b.Fty)
        np.testing.assert_array_equal(fits[0].coef_, fits[1].coef_)
