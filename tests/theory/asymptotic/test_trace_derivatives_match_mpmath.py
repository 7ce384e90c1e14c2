"""Values and derivatives of the traces against 50-digit arithmetic, extremes included."""

import itertools

import mpmath
import pytest

from onegrad.theory.asymptotic.resolvent import traces

POINTS = list(
    itertools.product(
        [(0.36688, 0.027415), (1.0, 0.5), (1.0, 0.0)],
        [1e-3, 0.5, 1e3],
        [1e-3, 0.5, 1.7, 1e3],
        [1e-8, 0.01, 1e4],
    )
)


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


@pytest.mark.parametrize(("c", "phi", "psi", "lam"), POINTS)
def test_values_and_derivatives(c, phi, psi, lam):
    t = traces(*c, phi, psi, lam)  # type: ignore[call-arg]
    with mpmath.workdps(70):
        a, b, phi, psi, lam = (mpmath.mpf(x) for x in (*c, phi, psi, lam))
        kappa, M1, M2 = exact(a, b, phi, psi, lam)
        step = lam * mpmath.mpf(10) ** -20
        up, down = exact(a, b, phi, psi, lam + step), exact(a, b, phi, psi, lam - step)
        slopes = [(u - v) / (2 * step) for u, v in zip(up, down, strict=True)]
        h, h_prime = kappa * M1, slopes[0] * M1 + kappa * slopes[1]
    ours = (t.kappa, t.M1, t.M2, t.h, t.kappa_prime, t.M1_prime, t.M2_prime, t.h_prime)
    for value, reference in zip(ours, (kappa, M1, M2, h, *slopes, h_prime), strict=True):
        assert float(value) == pytest.approx(float(reference), rel=2e-12, abs=0.0)
