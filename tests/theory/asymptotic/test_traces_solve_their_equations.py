"""m_1, m_2 satisfy both printed equations on a log grid, and are those of 50-digit arithmetic."""

import itertools

import mpmath
import numpy as np
import pytest

from onegrad.theory.asymptotic.resolvent import traces

LAM = np.logspace(-8, 4, 13)
RATIO = np.logspace(-3, 3, 13)
COEFFICIENTS = [(0.366880, 0.027415), (0.25, 0.0908), (1.0, 0.0), (0.0, 1.0), (1.0, 3.0)]

POINTS = list(
    itertools.product(
        [(0.36688, 0.027415), (1.0, 0.5), (1.0, 0.0)],
        [1e-3, 0.5, 1e3],
        [1e-3, 0.5, 1.7, 1e3],
        [1e-8, 0.01, 1e4],
    )
)


def printed_residuals(a, b, phi, psi, lam, m1, m2):
    """The two equations of Moniri et al. for (m_1, m_2), relative to their largest term."""
    Psi = a * m1 * m2 * (lam * psi * m1 / phi - 1)
    first = phi * (m1 - m2) * (b * m1 + a * m2) + Psi
    second = phi / psi * (a * m1 * m2 + phi * (m2 - m1)) + Psi
    size = np.abs(a * m1 * m2) * np.maximum(lam * psi * m1 / phi, 1)
    scale1 = np.maximum(size, phi * m1 * (b * m1 + a * m2))
    scale2 = np.maximum(size, phi / psi * np.maximum(a * m1 * m2, phi * m1))
    return first / scale1, second / scale2


@pytest.mark.parametrize(("a", "b"), COEFFICIENTS)
def test_both_printed_equations_hold_to_1e_10(a, b):
    phi, psi, lam = np.meshgrid(RATIO, RATIO, LAM, indexing="ij")
    t = traces(a, b, phi, psi, lam)
    m1, m2 = t.M1 * phi / psi, t.M2 * phi / psi
    for residual in printed_residuals(a, b, phi, psi, lam, m1, m2):
        assert np.max(np.abs(residual)) < 1e-10
    # and the un-cancelled form, kappa (1 + a M_2 + b M_1) = 1
    assert np.max(np.abs(t.kappa * (1 + a * t.M2 + b * t.M1) - 1)) < 1e-10
    assert np.all((m2 > 0) & (m2 <= m1) & (t.kappa > 0) & (t.kappa <= 1))


def test_ten_thousand_points_take_a_few_newton_steps():
    rng = np.random.default_rng(0)
    phi, psi = 10 ** rng.uniform(-3, 3, (2, 10_000))
    lam = 10 ** rng.uniform(-8, 4, 10_000)
    assert traces(0.367, 0.0274, phi, psi, lam).iterations <= 25


def exact(a, b, phi, psi, lam):
    """kappa, M1, M2 by bisection of the scalar equation."""
    r = psi / phi
    low, high = max(mpmath.mpf(0), 1 - r), mpmath.mpf(1)

    def f(kappa):
        h = kappa * (kappa - 1 + r) / (r * lam)
        return kappa - 1 + b * h + a * h / (1 + a * h / psi)

    for _ in range(240):
        middle = (low + high) / 2
        low, high = (middle, high) if f(middle) < 0 else (low, middle)
    kappa = (low + high) / 2
    M1 = (kappa - 1 + r) / (r * lam)
    return kappa, M1, M1 / (1 + a * kappa * M1 / psi)


def test_values_and_derivatives_are_those_of_exact_arithmetic():
    for c, *numbers in POINTS:
        t = traces(*c, *numbers)
        with mpmath.workdps(70):
            a, b, phi, psi, lam = (mpmath.mpf(x) for x in (*c, *numbers))
            kappa, M1, M2 = exact(a, b, phi, psi, lam)
            step = lam * mpmath.mpf(10) ** -20
            up, down = exact(a, b, phi, psi, lam + step), exact(a, b, phi, psi, lam - step)
            slopes = [(u - v) / (2 * step) for u, v in zip(up, down, strict=True)]
            h, h_prime = kappa * M1, slopes[0] * M1 + kappa * slopes[1]
        ours = (t.kappa, t.M1, t.M2, t.h, t.kappa_prime, t.M1_prime, t.M2_prime, t.h_prime)
        for value, reference in zip(ours, (kappa, M1, M2, h, *slopes, h_prime), strict=True):
            assert float(value) == pytest.approx(float(reference), rel=2e-12, abs=0.0), (c, numbers)
