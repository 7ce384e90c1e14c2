r"""Activation and teacher at the actual deviation of their arguments.

With inputs of covariance :math:`\Sigma` a neuron's input has the deviation :math:`\tau =
(\mathrm{tr}\,\Sigma/d)^{1/2}` and the teacher's index :math:`\sqrt q`,
:math:`q = \beta^\top\Sigma\beta`: the theory's standard normal is stretched.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from onegrad.arrays import Floats
from onegrad.functions.function import Function
from onegrad.functions.hermite import expect, gauss_hermite

MIN_EVEN_PART = 1e-9  # E sigma'' below it is rounding


@dataclass(frozen=True)
class ActivationNumbers:
    r"""Averages of the activation and its slope at :math:`b + \tau z`, z standard normal.

    bias : b, the input of a neuron at the mean of the inputs.

    c0, c1, d2, d3 : :math:`E\sigma, E\sigma', E\sigma'', E\sigma'''`.
    variance : of :math:`\sigma`; nu : energy of its slope beyond its linear part.
    own_noise : variance of z sigma' beyond its linear part, over tau^2.
    own_output : share of its own initial output that a neuron reads back, for g^2/sqrt(N) = 1.
    """

    tau: float
    bias: float
    c0: float
    c1: float
    d2: float
    d3: float
    nu: float
    variance: float
    own_noise: float
    own_output: float


@lru_cache(maxsize=256)
def activation_numbers(sigma: Function, tau: float, bias: float = 0.0) -> ActivationNumbers:
    """Return the averages of an activation."""
    f = stretched(sigma, tau, bias)  # f' = tau sigma'

    def mean(g: Callable[[Floats], Floats]) -> float:
        return float(expect(g, f.kinks))

    def slope(z: Floats) -> Floats:
        return np.asarray(f.derivative(z) / tau)

    c0, c1 = mean(f), mean(slope)
    d2, d3 = mean(lambda z: z * slope(z)) / tau, mean(lambda z: (z * z - 1) * slope(z)) / tau**2
    d2 = d2 if abs(d2) >= MIN_EVEN_PART else 0.0
    linear = c1 + d3 * tau**2
    own_noise = mean(lambda z: (z * slope(z)) ** 2) - (d2 * tau) ** 2 - linear**2
    own_output = mean(lambda z: z * (f(z) - c0) * slope(z)) / tau - c1**2 - c1 * d3
    return ActivationNumbers(
        tau,
        bias,
        c0,
        c1,
        d2,
        d3,
        nu=max(mean(lambda z: slope(z) ** 2) - c1**2 - (d2 * tau) ** 2, 0.0),
        variance=mean(lambda z: f(z) ** 2) - c0**2,
        own_noise=max(own_noise, 0.0) / tau**2,
        own_output=own_output,
    )


@lru_cache(maxsize=1024)
def stretched(f: Function, scale: float, shift: float = 0.0) -> Function:
    """Return z -> f(shift + scale z)."""
    if abs(scale - 1) < 1e-12 and not shift:
        return f
    polynomial = None
    if f.polynomial is not None:
        degrees = np.arange(len(f.polynomial))
        z, p = gauss_hermite(len(degrees) + 2)
        basis = np.polynomial.hermite_e.hermevander(z, len(degrees) - 1)
        factorials = np.array([math.factorial(k) for k in degrees], dtype=float)
        polynomial = tuple((p * f(shift + scale * z)) @ basis / factorials)
    return Function(
        f"{f.name} at {shift:.12g} + {scale:.12g} z",
        lambda x: f(shift + scale * x),
        lambda x: scale * f.derivative(shift + scale * x),
        kinks=tuple((kink - shift) / scale for kink in f.kinks),
        polynomial=polynomial,
    )
