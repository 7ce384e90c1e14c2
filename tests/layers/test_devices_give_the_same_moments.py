"""The pass over the data on torch gives the moments of NumPy: sums are exact on every device."""

import numpy as np
import pytest

import onegrad as og
from onegrad.arrays import backend
from onegrad.functions import resolve
from onegrad.layers.layer import DeviceLayer, Layer
from onegrad.layers.scaling import Scaling


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


def test_whole_expressions_are_the_loops_over_warm_memory():
    """The code for devices, on NumPy arrays."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((3000, 4)), rng.integers(-9, 9, (3000, 2)) / 8
    scaling = Scaling.standard(X, np.ones(3000), 20.0)
    for skip in (False, True):
        layer = Layer(scaling, rng.standard_normal((9, 4)), rng.standard_normal(9),
                      resolve("relu:raw"), skip, bound=2.0)  # fmt: skip
        layer = layer.with_grid(layer(X))
        there = DeviceLayer.of(layer, backend("cpu"))
        np.testing.assert_array_equal(there(X), layer(X))
        a, b = layer.moments(X, y), there.moments(X, y)
        for sums in ("rows", "weight", "F1", "y1", "FtF", "Fty", "yty"):
            np.testing.assert_array_equal(getattr(a, sums), getattr(b, sums))
