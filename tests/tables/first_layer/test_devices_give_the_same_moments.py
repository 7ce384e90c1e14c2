"""The pass over the data gives the moments of NumPy on every device: its sums are exact."""

import numpy as np

import onegrad as og
from onegrad.arrays import to_numpy
from onegrad.functions import resolve
from onegrad.tables.first_layer.layer import DeviceLayer, Layer
from onegrad.tables.first_layer.scaling import Scaling


def test_fits_are_equal_to_the_last_bit(each_backend):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((5000, 4)).astype(np.float32)
    y = np.tanh(X[:, 0] * X[:, 1])
    for weights in (None, rng.integers(1, 4, 5000)):
        ours, reference = (
            og.OneStepRegressor(50, random_state=0, device=device).fit(X, y, weights)
            for device in (each_backend.device, "cpu")
        )
        moments, expected = (model.fitted_.moments[0] for model in (ours, reference))
        np.testing.assert_array_equal(moments.FtF, expected.FtF)
        np.testing.assert_array_equal(moments.Fty, expected.Fty)
        np.testing.assert_array_equal(ours.readout_, reference.readout_)


def test_whole_expressions_give_what_the_loops_over_cached_memory_give(each_backend):
    """Run the code for devices on NumPy arrays, too."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((3000, 4)), rng.integers(-9, 9, (3000, 2)) / 8
    scaling = Scaling.standard(X, np.ones(3000), 20.0)
    W, b = rng.standard_normal((9, 4)), rng.standard_normal(9)
    x, t = each_backend.asarray(X), each_backend.asarray(y)
    for skip in (False, True):
        layer = Layer(scaling, W, b, resolve("relu:raw"), skip, bound=2.0).with_grid(scaling(X))
        there = DeviceLayer.of(layer, each_backend)
        np.testing.assert_allclose(to_numpy(there(x)), layer(X), rtol=1e-14, atol=1e-14)
        ours, theirs = layer.moments(X, y), there.moments(x, t)
        for sums in ("rows", "weight", "F1", "y1", "FtF", "Fty", "yty"):
            np.testing.assert_array_equal(getattr(ours, sums), to_numpy(getattr(theirs, sums)))
