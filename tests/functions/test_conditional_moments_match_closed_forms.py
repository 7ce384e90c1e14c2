"""Moments with a moving kink, a moving strip of analyticity, and a flattened density."""

import numpy as np
import pytest
from scipy.special import erf, ndtr

from onegrad.functions import resolve
from onegrad.functions.averages import gaussian_averages

MEAN = np.linspace(-4, 4, 9)[:, None]
DEVIATION = np.array([0.3, 1.0, 2.5])


def test_relu():
    value, slope, square = gaussian_averages(resolve("relu:raw"), MEAN, DEVIATION)
    x = MEAN / DEVIATION
    density = np.exp(-x * x / 2) / np.sqrt(2 * np.pi)
    assert value == pytest.approx(MEAN * ndtr(x) + DEVIATION * density, abs=1e-9)
    assert slope == pytest.approx(DEVIATION * ndtr(x), abs=1e-9)
    energy = (MEAN**2 + DEVIATION**2) * ndtr(x) + MEAN * DEVIATION * density
    assert square == pytest.approx(energy, abs=1e-9)


def test_erf():
    # E erf(m + s z) = erf(m/sqrt(1 + 2 s^2)), and its derivative by m
    value, slope, _ = gaussian_averages(resolve("erf:raw"), MEAN, DEVIATION)
    width = np.sqrt(1 + 2 * DEVIATION**2)
    assert value == pytest.approx(erf(MEAN / width), abs=1e-8)
    exact = DEVIATION * 2 / np.sqrt(np.pi) / width * np.exp(-((MEAN / width) ** 2))
    assert slope == pytest.approx(exact, abs=1e-8)


def test_any_activation_against_brute_force():
    z = np.linspace(-10, 10, 400001)
    w = np.exp(-z * z / 2) / np.sqrt(2 * np.pi) * (z[1] - z[0])
    for name in ("tanh:raw", "arctan:raw", "gelu:raw", "hardtanh:raw"):
        f = resolve(name)
        averages = gaussian_averages(f, np.array([0.7]), np.array([1.6]))
        y = f(0.7 + 1.6 * z)
        expected = [y @ w, y @ (w * z), (y * y) @ w]
        np.testing.assert_allclose(np.ravel(averages), expected, rtol=0, atol=1e-6, err_msg=name)


def test_flattening_is_what_a_fixed_length_does_to_one_coordinate():
    # E z^4 = 3 d/(d + 2) on the sphere of radius sqrt(d); mixing over lengths gives back 3
    d = 1000
    f = resolve("H2:raw")
    _, _, square = gaussian_averages(f, np.zeros(1), np.ones(1), flattening=1 / (4 * d))
    assert square[0] + 1 == pytest.approx(3 * d / (d + 2), rel=1e-5)
    lengths = np.sqrt(1 + np.array([1, -1]) * np.sqrt(2 / d))
    mixed = gaussian_averages(f, np.zeros(2), lengths, flattening=1 / (4 * d)).square
    assert mixed.mean() == pytest.approx(2, rel=1e-5)


def test_fast_oscillations_are_not_taken_for_constants():
    for turns in (1, 4, 8, 16):
        deviation = 2 * np.pi * turns * np.ones(1)  # cos is 1 at every multiple of a step 1/turns
        averages = gaussian_averages(resolve("cos:raw"), np.zeros(1), deviation)
        assert np.ravel(averages) == pytest.approx([0, 0, 0.5], abs=1e-8), turns
