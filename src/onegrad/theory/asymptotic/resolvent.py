r"""The traces of the untrained resolvent :math:`R_0 = (F_0 F_0^\top + \lambda n)^{-1}`.

Every asymptotic error is a combination of :math:`M_1 = \mathrm{Tr}\,R_0` and
:math:`M_2 = \frac1d \mathrm{Tr}\,\tilde X^\top R_0 \tilde X` (unnormalised traces) and their
derivatives in :math:`\lambda`.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from onegrad.arrays import Floats
from onegrad.exceptions import NotConverged

MAX_TRACE_ITERATIONS = 200


class Untrained(NamedTuple):
    """Parameters of the law of F_0: a = c_1^2, b = c_{>1}^2, psi = d/N, r = psi/phi = n/N."""

    a: Floats
    b: Floats
    psi: Floats
    r: Floats


@dataclass(frozen=True)
class Traces:
    r"""M_1, M_2, :math:`\kappa`, :math:`h = \kappa M_1` and their derivatives d/d lam.

    The papers' traces are :math:`m_i = M_i/r` with :math:`r = \psi/\phi = n/N`. `residual` is of
    the scalar equation, whose terms are at most one, after `iterations` Newton steps.
    """

    lam: Floats
    kappa: Floats
    M1: Floats
    M2: Floats
    h: Floats
    kappa_prime: Floats
    M1_prime: Floats
    M2_prime: Floats
    h_prime: Floats
    residual: Floats | float
    iterations: int


def traces(
    c1_squared: ArrayLike, c_gt1_squared: ArrayLike, phi: ArrayLike, psi: ArrayLike, lam: ArrayLike
) -> Traces:
    r"""Return the physical solution of the trace equations, over broadcast arrays.

    .. math:: \kappa = 1 - r + r\lambda M_1,\quad
        \kappa (1 + c_1^2 M_2 + c_{>1}^2 M_1) = 1,\quad
        M_2 = \frac{M_1}{1 + c_1^2 \kappa M_1/\psi}

    With :math:`h = \kappa M_1` one scalar equation is left,
    :math:`\kappa - 1 + c_{>1}^2 h + c_1^2 h/(1 + c_1^2 h/\psi) = 0`, increasing in :math:`\kappa`
    on :math:`(\max(0, 1-r), 1]`. It is solved for :math:`\log e` with :math:`e = \kappa` where
    :math:`r \ge 1` and :math:`e = \kappa - (1-r)` elsewhere, which avoids cancellation, by Newton
    steps kept inside a bracket.

    c1_squared, c_gt1_squared : squares of the linear and of the nonlinear part of the activation.
    phi, psi : d/n and d/N.
    lam : the ridge, > 0.

    Holds for isotropic Gaussian inputs, centred activation, n, d, N proportional; Gaussian or
    spherical weights alike.
    See Moniri et al. 2024 (the system for m_1, m_2), Adlam and Pennington 2020;
    tests/theory/asymptotic/test_traces_solve_their_equations.py.
    """
    columns = np.broadcast_arrays(c1_squared, c_gt1_squared, phi, psi, lam)
    a, b, phi, psi, lam = (np.array(x, dtype=float) for x in columns)
    law = Untrained(a, b, psi, psi / phi)
    return complete_traces(law, lam, *_root(law, lam))


def complete_traces(
    law: Untrained,
    lam: Floats,
    kappa: Floats,
    M1: Floats,
    residual: Floats | float = 0.0,
    iterations: int = 0,
) -> Traces:
    r"""Return the traces from :math:`\kappa` and :math:`M_1`; also at negative lam.

    .. math:: E = c_{>1}^2 + \frac{c_1^2}{(1 + c_1^2 h/\psi)^2},\quad
        D = 1 + E\Big(M_1 + \frac{\kappa}{r\lambda}\Big),\quad
        M_1' = -\frac{M_1(1 + E M_1)}{\lambda D},\quad
        M_2' = -\frac{M_2(\frac{1}{1 + c_1^2 h/\psi} + E M_1)}{\lambda D},\quad
        \kappa' = \frac{E h}{\lambda D},\quad h' = -\frac{h}{\lambda D}

    Each is one term of one sign: nothing cancels.
    """
    a, b, psi, r = law
    h = kappa * M1
    q = 1 + a * h / psi
    E = b + a / q**2
    scale = lam * (1 + E * (M1 + kappa / (r * lam)))  # lam D
    M2 = M1 / q
    return Traces(
        lam=lam,
        kappa=kappa,
        M1=M1,
        M2=M2,
        h=h,
        kappa_prime=E * h / scale,
        M1_prime=-M1 * (1 + E * M1) / scale,
        M2_prime=-M2 * (1 / q + E * M1) / scale,
        h_prime=-h / scale,
        residual=residual,
        iterations=iterations,
    )


def _root(law: Untrained, lam: Floats) -> tuple[Floats, Floats, Floats, int]:
    """Return kappa, M1, the residual and the number of Newton steps."""
    a, b, psi, r = law
    top = np.minimum(r, 1.0)  # e lies in (0, top], and kappa - 1 == e - top
    shift_kappa = np.maximum(1.0 - r, 0.0)  # kappa == e + shift_kappa
    shift_M1 = np.maximum(r - 1.0, 0.0)  # r lam M1 == e + shift_M1

    # h <= e/(top lam), so this left end has f <= 0
    low = np.log(top) - np.log1p((a + b) / (top * lam))
    high = np.log(top)
    x = 0.5 * (low + high)
    for iteration in range(1, MAX_TRACE_ITERATIONS + 1):
        e = np.exp(x)
        kappa, M1 = e + shift_kappa, (e + shift_M1) / (r * lam)
        h = kappa * M1
        q = 1 + a * h / psi
        # a h/q = psi - psi/q; the second form keeps digits where q is large and psi near top
        saturated = q > 2
        start = np.where(saturated, psi - top, -top)
        last = np.where(saturated, -psi / q, a * h / q)
        f = (e + start) + last + b * h
        slope = e * (1 + (b + a / q**2) * (M1 + kappa / (r * lam)))  # df/dlog e
        low, high = np.where(f <= 0, x, low), np.where(f >= 0, x, high)
        new = x - f / slope
        new = np.where((new >= low) & (new <= high), new, 0.5 * (low + high))
        rounding = 2e-16 * (e + np.abs(start) + np.abs(last) + b * h)
        if np.all((np.abs(f) <= rounding) | (np.abs(new - x) <= 4e-16 * (1 + np.abs(x)))):
            return kappa, M1, np.abs(f), iteration
        x = new
    raise NotConverged(
        f"traces: residual {np.max(np.abs(f)):.1e} after {MAX_TRACE_ITERATIONS} Newton steps"
    )
