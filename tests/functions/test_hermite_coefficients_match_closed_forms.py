"""Hermite coefficients c_k = E[f He_k]/k! against closed forms, and quadrature that knows kinks."""

import itertools
import math

import numpy as np
import pytest
import scipy.integrate
from numpy.polynomial.hermite_e import hermeval

import onegrad as og
from onegrad.functions import REGISTRY, resolve
from onegrad.functions.hermite import (
    expect,
    gauss_hermite,
    gaussian_rule,
    hermite_at_zero,
    hermite_coefficients,
    normalised_hermite,
)
from onegrad.functions.index_calculus import mean_of

DENSITY_AT_ZERO = 1 / math.sqrt(2 * math.pi)


def relu(k):
    """relu'' is a delta: c_k = He_{k-2}(0) phi(0)/k! for k >= 2."""
    if k < 2:
        return (DENSITY_AT_ZERO, 0.5)[k]
    return hermite_at_zero(k - 2) * DENSITY_AT_ZERO / math.factorial(k)


def erf(k, width):
    """E erf((z + t)/s) = erf(t/width), so c_k is its Taylor coefficient."""
    if k % 2 == 0:
        return 0.0
    m = k // 2
    sign = (-1) ** m
    return 2 / math.sqrt(math.pi) * sign / (math.factorial(m) * k * width**k)


CLOSED = {
    "relu:raw": relu,
    "erf:raw": lambda k: erf(k, math.sqrt(3)),
    "erf2:raw": lambda k: erf(k, 2.0),
}


def test_coefficients_are_exact_to_1e_12():
    for (name, closed), k in itertools.product(CLOSED.items(), range(21)):
        ours, exact = float(resolve(name).c[k]), closed(k)
        normalised = math.sqrt(math.factorial(k))
        assert abs(ours - exact) * normalised < 1e-12, (name, k)
        assert ours == pytest.approx(exact, rel=1e-12, abs=0.0), (name, k)


def test_the_nonlinear_energy_is_a_difference_and_no_truncated_sum():
    for name, value in (
        ("relu", 0.5 - 1 / (2 * math.pi) - 0.25),
        ("erf", 2 / math.pi * math.asin(2 / 3) - 4 / (3 * math.pi)),
        ("erf2", 1 / 3 - 1 / math.pi),
        ("H1 + H2/sqrt(2)", 1.0),
        ("H1", 0.0),
    ):
        energy = resolve(name).nonlinear_energy
        assert energy == pytest.approx(value, rel=1e-12, abs=1e-15), name
    f = resolve("relu:unit")  # a sum over forty degrees would miss a part of it
    truncated = sum(math.factorial(k) * float(f.c[k]) ** 2 for k in range(2, 41))
    assert f.nonlinear_energy - truncated > 4e-4
    assert f.nonlinear_energy == pytest.approx(0.266530, abs=2e-6)


def test_every_registered_function():
    """Moments against adaptive quadrature between the kinks; the derivative against differences."""
    x = np.linspace(-4, 4, 81) + 0.0173  # off the kinks
    accuracy = {"epsabs": 1e-13, "epsrel": 1e-12, "limit": 200}

    def energy_density(x, f):
        return float(f(np.float64(x)) ** 2) * math.exp(-x * x / 2) * DENSITY_AT_ZERO

    for name in REGISTRY:
        f = resolve(name)
        assert abs(f.c[0]) < 1e-14, name  # centred by default
        slope = expect(f.derivative, f.kinks)  # Stein: c_1 = E[z f] = E f'
        assert f.c[1] == pytest.approx(slope, rel=1e-12, abs=1e-14), name
        second_moment = sum(
            scipy.integrate.quad(energy_density, low, high, (f,), **accuracy)[0]
            for low, high in itertools.pairwise([-12.0, *f.kinks, 12.0])
        )
        assert f.second_moment == pytest.approx(second_moment, rel=1e-10), name
        difference = (f(x + 1e-6) - f(x - 1e-6)) / 2e-6
        assert f.derivative(x) == pytest.approx(difference, abs=1e-8), name


def test_moments_of_a_high_degree_are_exact():
    f = resolve("H40")
    assert f.second_moment == pytest.approx(math.factorial(40), rel=1e-14)
    assert f.slope_second_moment == pytest.approx(40 * math.factorial(40), rel=1e-14)
    g = resolve("H1 + H3/4")
    assert g.slope_second_moment == pytest.approx(expect(lambda x: g.derivative(x) ** 2), rel=1e-13)


def test_modes():
    raw, centred, unit = (resolve(f"softplus{mode}") for mode in (":raw", "", ":unit"))
    assert raw.c[0] == pytest.approx(0.8060592, abs=1e-7)
    assert centred.variance == pytest.approx(raw.variance, rel=1e-12)
    assert unit.second_moment == pytest.approx(1, rel=1e-12)
    assert unit.c[1] / centred.c[1] == pytest.approx(unit.scale, rel=1e-12)
    assert raw.variance == pytest.approx(raw.second_moment - raw.c[0] ** 2)
    assert raw.nonlinear_energy == pytest.approx(raw.variance - raw.c[1] ** 2)


def test_normalised_polynomials_match_numpy_and_do_not_overflow():
    x = np.linspace(-5, 5, 41)
    h = normalised_hermite(x, 300)
    assert np.all(np.isfinite(h))
    for k in range(30):
        expected = hermeval(x, [0] * k + [1]) / math.sqrt(math.factorial(k))
        assert h[k] == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_rules_are_orthonormal():
    for x, w in (gauss_hermite(60), gaussian_rule(), gaussian_rule((-0.3, 1.0))):
        h = normalised_hermite(x, 20)
        assert np.max(np.abs((h * w) @ h.T - np.eye(21))) < 1e-12


def test_hermite_at_zero():
    expected = [float(hermeval(0.0, [0] * k + [1])) for k in range(20)]
    assert [hermite_at_zero(k) for k in range(20)] == expected


def test_a_polynomial_is_its_own_expansion():
    c = hermite_coefficients(resolve("1 + 2*H1 - 0.5*H3:raw"), 6)
    assert c == pytest.approx([1, 2, 0, -0.5, 0, 0, 0], abs=1e-14)
    f = resolve("1 + 2*H1 - 0.5*H3")
    assert f(np.array([0.0, 1.0])) == pytest.approx([0.0, 2.0 + 1.0])


def test_a_teacher_that_is_written_out_keeps_its_constant():
    for teacher, mean in {
        "x + 5": 5.0,
        "x1*x2 + 5": 5.0,
        "x^2": 1.0,
        "relu(x) + x": 1 / math.sqrt(2 * math.pi),
        "x + 5:centred": 0.0,
        "x1*x2 + 5:unit": 0.0,
        "softplus": 0.0,  # a name is centred
        "relu:raw": 1 / math.sqrt(2 * math.pi),
        lambda x: x + 5: 5.0,
    }.items():
        f = og.Problem(n=10, d=5, N=5, teacher=teacher).teacher_function
        assert mean_of(f) == pytest.approx(mean, abs=1e-13), teacher
    assert abs(resolve("x^2 + tanh").c[0]) < 1e-14  # an activation is centred, also if written out
    assert og.exponents("x^2").hermite == "1 + H2"


def test_callables_are_centred_and_need_a_derivative_as_activations():
    p = og.Problem(n=10, d=5, N=5, activation=(np.exp, np.exp), teacher=np.cos)
    assert abs(p.sigma.c[0]) < 1e-14
    assert p.sigma.c[1] == pytest.approx(math.exp(0.5), rel=1e-12)
    with pytest.raises(og.InvalidInput, match="activation must be a callable with its derivative"):
        og.Problem(n=10, d=5, N=5, activation=np.tanh)
    with pytest.raises(og.InvalidInput, match="no finite second moment"):
        og.Problem(n=10, d=5, N=5, teacher=lambda x: x * np.nan)
