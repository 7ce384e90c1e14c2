"""The bulk's density with its atom: mass one, the right mean, the edges where it ends."""

import itertools

import numpy as np
import pytest

import onegrad as og
from onegrad.theory.asymptotic.bulk import Bulk

COEFFICIENTS = [(0.3669, 0.0274), (0.25, 0.09), (1.0, 0.0), (0.0, 1.0), (1.0, 1e-3), (0.5, 0.5)]


def moments(bulk, points=2500):
    """Mass and mean of the density, by the midpoint rule in x = low + (high - low) sin^2."""
    theta = (np.arange(points) + 0.5) * np.pi / (2 * points)
    mass = mean = 0.0
    for low, high in bulk.support:
        x = low + (high - low) * np.sin(theta) ** 2
        weights = (high - low) * np.sin(2 * theta) * np.pi / (2 * points)
        rho = bulk.density(x)
        mass, mean = mass + rho @ weights, mean + (rho * x) @ weights
    return mass, mean


@pytest.mark.parametrize(("a", "b"), COEFFICIENTS)
def test_mass_and_mean(a, b):
    for phi, psi in itertools.product((0.05, 0.5, 20.0), (0.05, 0.52, 2.0, 20.0)):
        bulk = Bulk(a, b, psi, psi / phi)
        mass, mean = moments(bulk)
        assert mass + bulk.atom == pytest.approx(1, abs=1e-6)
        assert mean == pytest.approx((a + b) / bulk.r, rel=1e-6)  # Tr F_0 F_0^T/n^2 = (N/n) E s^2
        assert bulk.support[-1][1] == bulk.edge
        assert len(bulk.support) <= 2  # a linear and a nonlinear part


@pytest.mark.parametrize("seed", range(8))
def test_density_follows_the_root_continued_from_far_above_the_axis(seed):
    """Newton's method from z = x + 50i down to the axis, never near another root."""
    a, b, psi, r = np.random.default_rng(seed).uniform([0.05, 0.02, 0.05, 0.05], [2, 2, 10, 10])
    bulk = Bulk(a, b, psi, r)
    low, high = bulk.support[-1]
    x = low + (high - low) * np.array([0.02, 0.1, 0.3, 0.6, 0.9])
    heights = np.geomspace(50 * high, 1e-9 * high, 400)
    kappa = np.ones(len(x), complex)
    for height in heights:
        lam = -(x + 1j * height)
        for _ in range(4):
            M1 = (kappa - 1 + r) / (r * lam)
            h, h_prime = kappa * M1, M1 + kappa / (r * lam)
            q = 1 + a * h / psi
            f = kappa - 1 + b * h + a * h / q
            kappa = kappa - f / (1 + (b + a / q**2) * h_prime)
    rho = ((kappa - 1 + r) / (r * lam)).imag / np.pi
    assert bulk.density(x) == pytest.approx(rho, rel=1e-5)


def test_density_is_zero_outside_and_vectorised():
    spectrum = og.spectrum(og.Problem(n=800, d=400, N=600), method="asymptotic")
    x = np.array([[-1.0, 0.0, spectrum.lower_edge * 0.99], [1.0, spectrum.edge * 1.01, np.inf]])
    rho = spectrum.density(x)
    assert rho.shape == x.shape
    assert np.flatnonzero(rho).tolist() == [3]
    inside = (spectrum.x > spectrum.lower_edge) & (spectrum.x < spectrum.edge)
    assert np.all(spectrum.rho[inside] > 0)
    assert np.all(spectrum.rho[~inside] < 1e-6 * spectrum.rho.max())


def test_square_features_touch_zero():
    spectrum = og.spectrum(og.Problem(n=800, d=400, N=800), method="asymptotic")
    assert spectrum.lower_edge is None
    assert spectrum.atom == 0.0
