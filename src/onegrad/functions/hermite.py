r"""Expectations under N(0, 1) and Hermite coefficients.

Probabilists' polynomials throughout: :math:`He_{k+1} = x He_k - k He_{k-1}` and
:math:`E[He_j He_k] = k!\,\delta_{jk}`.
"""

from collections.abc import Callable
from functools import lru_cache
from math import lgamma, prod

import numpy as np
import scipy.special

from onegrad.arrays import Floats

_HALF_WIDTH = 14.0  # the density at 14 is 1e-43: nothing that grows like a polynomial sees the cut
_PANELS, _NODES_PER_PANEL = 60, 40  # the tests' closed forms hold to 1e-12
_RELATIVE_ROUNDING = 2e-15  # a coefficient this small beside the function's norm is zero


@lru_cache(maxsize=64)
def gauss_hermite(k: int) -> tuple[Floats, Floats]:
    """Return nodes and weights for N(0, 1) that are exact for polynomials of degree < 2k."""
    # numpy.polynomial.hermite_e.hermegauss returns NaN weights from below 400 nodes on
    x, w = scipy.special.roots_hermitenorm(k)
    return _read_only(x), _read_only(w / w.sum())


@lru_cache
def gauss_legendre(k: int) -> tuple[Floats, Floats]:
    """Return nodes and weights on [-1, 1]."""
    x, w = np.polynomial.legendre.leggauss(k)
    return _read_only(x), _read_only(w)


@lru_cache(maxsize=64)
def gaussian_rule(kinks: tuple[float, ...] = ()) -> tuple[Floats, Floats]:
    """Return nodes and weights for N(0, 1) by Gauss-Legendre panels that break at every kink.

    Accurate to rounding for piecewise smooth functions, where Gauss-Hermite is not.
    """
    inside = [q for q in kinks if abs(q) < _HALF_WIDTH]
    breaks = np.union1d(np.linspace(-_HALF_WIDTH, _HALF_WIDTH, _PANELS + 1), inside)
    x, lengths = panel_rule(breaks, _NODES_PER_PANEL)
    weights = lengths * np.exp(-x * x / 2) / np.sqrt(2 * np.pi)
    return _read_only(x), _read_only(weights / weights.sum())


def panel_rule(breaks: Floats, k: int) -> tuple[Floats, Floats]:
    """Return k nodes in each panel between breaks (..., panels + 1), and weights for lengths."""
    t, w = gauss_legendre(k)
    half = np.diff(breaks, axis=-1)[..., None] / 2
    x, shape = breaks[..., :-1, None] + half * (1 + t), (*breaks.shape[:-1], -1)
    return x.reshape(shape), (half * w).reshape(shape)


def _read_only(x: Floats) -> Floats:
    x.flags.writeable = False  # rules are cached and shared
    return x


def expect(f: Callable[[Floats], Floats], kinks: tuple[float, ...] = ()) -> float:
    """Return E f(z), z ~ N(0, 1), for f that is smooth between its kinks."""
    x, w = gaussian_rule(kinks)
    return float(w @ f(x))


def normalised_hermite(x: Floats, degree: int) -> Floats:
    r"""Return all :math:`h_k = He_k/\sqrt{k!}`, k = 0..degree, along a new first axis.

    .. math:: h_{k+1} = (x h_k - \sqrt k\, h_{k-1}) / \sqrt{k+1}

    The normalised recurrence does not overflow where k! does (k > 170).
    """
    x = np.asarray(x, dtype=float)
    h = np.empty((degree + 1, *x.shape))
    h[0] = 1.0
    if degree:
        h[1] = x
    for k in range(1, degree):
        h[k + 1] = (x * h[k] - np.sqrt(k) * h[k - 1]) / np.sqrt(k + 1)
    return h


def hermite_coefficients(
    f: Callable[[Floats], Floats], degree: int, kinks: tuple[float, ...] = ()
) -> Floats:
    r"""Return the Hermite coefficients :math:`c_k = E[f He_k]/k!`, k = 0..degree.

    See tests/functions/test_hermite_coefficients_match_closed_forms.py (ReLU and erf to 1e-12).
    """
    x, w = gaussian_rule(kinks)
    y = f(x)
    c_bar = normalised_hermite(x, degree) @ (w * y)  # E[f h_k] = sqrt(k!) c_k
    c_bar[np.abs(c_bar) < _RELATIVE_ROUNDING * np.sqrt(w @ y**2)] = 0.0  # an odd f has no even part
    return c_bar / np.exp([lgamma(k + 1) / 2 for k in range(degree + 1)])


def hermite_at_zero(k: int) -> float:
    """Return He_k(0), which is (-1)^j (2j - 1)!! for k = 2j, zero for odd k."""
    return 0.0 if k % 2 else float((-1) ** (k // 2) * prod(range(k - 1, 0, -2)))
