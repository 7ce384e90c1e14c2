"""Candidates are compared in single precision where the ridge is large, and in double elsewhere."""

import numpy as np
import pytest

import onegrad as og
from onegrad.functions import resolve_activation
from onegrad.tables.first_layer.layer import SINGLE_ROWS, Layer
from onegrad.tables.first_layer.scaling import ScaledRows, Scaling
from onegrad.tables.fitting.candidates import MIN_SINGLE_RIDGE

RNG = np.random.default_rng(0)
N_ROWS = SINGLE_ROWS + 500


def example():
    W, b = RNG.standard_normal((30, 4)), RNG.standard_normal(30)
    z, t = RNG.standard_normal((N_ROWS, 4)), RNG.standard_normal((N_ROWS, 2))
    layer = Layer(Scaling.identity(4), W, b, resolve_activation("relu:raw"), True, 3.0)
    return layer.with_grid(z[:500]), ScaledRows(z, t, RNG.integers(1, 3, N_ROWS).astype(float))


def in_single(rows):
    return ScaledRows(*(np.asarray(x, np.float32) for x in (rows.z, rows.t, rows.w)))


def test_sums_are_those_of_double_precision_on_any_number_of_threads():
    layer, rows = example()
    double = layer.scaled_moments(rows)
    single = layer.in_single()
    one, two = (single.scaled_moments(in_single(rows), threads) for threads in (1, 2))
    for a, b, exact in zip(one.arrays, two.arrays, double.arrays, strict=True):
        np.testing.assert_array_equal(a, b)
        assert a.dtype == np.float32
        np.testing.assert_allclose(a, exact, rtol=2e-4, atol=2e-4 * np.abs(exact).max())


@pytest.mark.parametrize("noise", [0.5, 0.0])
def test_targets_without_noise_are_fitted_in_double_precision(noise, monkeypatch):
    in_double = []
    with_grid = Layer.with_grid  # of candidates in double precision alone

    def counted(layer, z):
        in_double.append(layer)
        return with_grid(layer, z)

    monkeypatch.setattr(Layer, "with_grid", counted)
    rng = np.random.default_rng(1)
    X = rng.standard_normal((400, 2))
    y = np.abs(X[:, 0]) + noise * rng.standard_normal(400)
    model = og.AlternatingRegressor(budget="fast", rounds=4, random_state=0).fit(X, y)
    ridges = np.array([trial["ridge"] for trial in model.fitted_.statistics.trials])
    small = int((ridges <= MIN_SINGLE_RIDGE).sum())
    assert small < 2 if noise else small > len(ridges) / 2
    assert small <= len(in_double) - 2 <= small + 2  # two after the trials; first ones may be both
