r"""Steps :math:`\eta \asymp n^\alpha`, 0 < alpha < 1/2: each window learns one degree more.

The spikes act as unpenalised features, so the limit depends on alpha through their number only.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from onegrad.activations import DEGREE
from onegrad.errors import AssumptionWarning, InvalidInput, OutOfScope
from onegrad.hermite import Floats, hermite_at_zero
from onegrad.theory import random_features
from onegrad.theory.random_features import Errors, with_squared_loss
from onegrad.theory.scalars import Bools, Scalars

Counts = np.ndarray[Any, np.dtype[np.int64]]
AT_THRESHOLD = 1e-9  # alphas this close to a threshold are on it
VANISHING = 1e-10  # a coefficient this small beside the norm has no spike

_DEGREES = np.arange(DEGREE + 1)
_ROOT_FACTORIAL = np.array([math.sqrt(math.factorial(k)) for k in range(DEGREE + 1)])
# He_k(0)/sqrt(k!): the coefficients of "value at zero" in the orthonormal basis
_AT_ZERO = np.array([hermite_at_zero(k) for k in range(DEGREE + 1)]) / _ROOT_FACTORIAL


def thresholds(count: int) -> Floats:
    r"""The exponents at which the first `count` spikes appear, :math:`\alpha_k = (k-1)/(2k)`.

    See Moniri et al. 2024, Theorem 3.3; tests/theory/test_spikes_are_counted_by_windows.py.
    """
    if isinstance(count, bool) or not isinstance(count, int | np.integer) or count < 0:
        raise InvalidInput(f"count must be a whole number >= 0; got {count!r:.60}")
    k = np.arange(1, count + 1)
    return np.asarray((k - 1) / (2 * k))


def spike_count(alpha: float) -> int:
    r"""Number of spikes that one step of size :math:`\eta \asymp n^\alpha` adds.

    .. math:: \ell \text{ with } \tfrac{\ell-1}{2\ell} < \alpha < \tfrac{\ell}{2\ell+2},
        \text{ that is } \ell = \lceil 1/(1-2\alpha) \rceil - 1

    At a threshold, where the theorem is silent, the lower window is taken and a warning says so.

    Holds for c_1, ..., c_l != 0, isotropic Gaussian inputs, n, d, N proportional.
    See Moniri et al. 2024, Theorem 3.3; tests/theory/test_spikes_are_counted_by_windows.py.
    """
    try:
        alpha = float(alpha)
    except (TypeError, ValueError):
        alpha = math.nan
    if not alpha < 0.5:
        raise InvalidInput(f"alpha must be a number < 1/2; got {alpha!r:.60}")
    if alpha < -AT_THRESHOLD:
        return 0
    windows = 1 / (1 - 2 * alpha)  # the k-th threshold is where this equals k
    nearest = round(windows)
    if abs(alpha - (nearest - 1) / (2 * nearest)) < AT_THRESHOLD:
        warnings.warn(
            f"alpha = {alpha:g} is the threshold of spike {nearest}: the theorem needs alpha "
            f"strictly between thresholds; {nearest - 1} spikes are counted",
            AssumptionWarning,
            stacklevel=2,
        )
        return nearest - 1
    return math.ceil(windows) - 1


def counts(alphas: Sequence[float | None]) -> Counts:
    """Spikes at each alpha: none for None (eta = 0); from 1/2 on, with a warning, all DEGREE."""
    found: dict[float | None, int] = {None: 0}
    for alpha in alphas:
        if alpha in found:
            continue
        assert alpha is not None
        if alpha >= 0.5 - AT_THRESHOLD:
            warnings.warn(
                f"alpha = {alpha:g}: the staircase theorem needs alpha < 1/2; every degree is "
                "taken as learned",
                AssumptionWarning,
                stacklevel=2,
            )
            found[alpha] = DEGREE
        else:
            found[alpha] = min(spike_count(alpha), DEGREE)
    return np.array([found[alpha] for alpha in alphas], dtype=np.int64)


def all_degrees(count: Counts) -> Bools:
    """Degrees 1, ..., count of each point, shape (points, degrees)."""
    return np.asarray((_DEGREES >= 1) & (count[:, None] >= _DEGREES))


def learned_degrees(s: Scalars, count: Counts) -> Bools:
    """Degrees k <= count for which the activation has a spike, c_k != 0.

    The theorem assumes all of them; an activation without some (odd ones have no even c_k) learns
    the others, and a warning says so. Each parity must be unbroken from its start, so that the
    spikes span the polynomials used in :func:`drops`.
    """
    size = np.abs(s.c) * _ROOT_FACTORIAL
    spike = size > VANISHING * np.sqrt(s.second_moment)[:, None]
    expected = all_degrees(count)
    learned, missing = expected & spike, expected & ~spike
    for start in (2, 3):
        absent = missing[:, start::2]
        broken = learned[:, start::2] & (np.cumsum(absent, axis=1) > 0)
        if np.any(broken):
            k = start + 2 * int(np.argmax(np.any(absent, axis=0)))
            raise OutOfScope(
                f"activation: the staircase needs c_{k} != 0 when a higher c_k of the same parity "
                f"has a spike; got c_{k} = 0"
            )
    if np.any(missing[:, 2:]):
        k = 2 + int(np.argmax(np.any(missing[:, 2:], axis=0)))
        warnings.warn(
            f"staircase theory, activation: c_1, ..., c_l != 0 are assumed; c_{k} = 0, so degree "
            f"{k} is taken as not learned",
            AssumptionWarning,
            stacklevel=4,
        )
    return np.asarray(learned)


def drops(s: Scalars, learned: Bools, *, rank_one: bool = False) -> Errors:
    r"""How much the spikes of these degrees lower the errors: :math:`\Delta_\ell, \Lambda_\ell`.

    .. math::
        \Delta_\ell/\lambda &= c_{\star,1}^2\rho^2 M_2 + B_\ell M_1,\qquad
        \Lambda_\ell = -\partial_\lambda(\Delta_\ell/\lambda)/M_1^2 \\
        B_\ell &= w\,c_{\star,0}^2 + \sum_{k=2}^\ell k!\,c_{\star,k}^2\rho^{2k}
            - \frac{w\,(c_{\star,0} + \sum_{k=2}^\ell L_k c_{\star,k}\rho^k)^2}
                   {1 + w\sum_{k=2}^\ell L_k^2/k!},\qquad L_k = (1+\nu^2)^{k/2} He_k(0)

    The even spikes span the even polynomials that vanish at zero, smoothed over the part of the
    step that is not rank one (:math:`\nu^2`); w is the weight of the constant
    (Scalars.constant_weight). `rank_one` takes the update as exactly rank one, :math:`\nu = 0`:
    the spikes are then :math:`u, u^2, \dots` as in the printed theorem, which also has w = 1.

    Parameters
    ----------
    learned : which degrees have a spike, shape (points, degrees): `learned_degrees`.

    Holds for alpha strictly between thresholds, Gaussian readout, isotropic Gaussian inputs,
    n, d, N proportional.
    See Moniri et al. 2024, Theorem 4.3 (train; test for l = 1, 2); the corrections and the test
    drop for every l are derived in docs/theory.md; tests/theory/test_reference_values.py
    (tasks 3, 4), test_staircase_matches_the_matrix_form.py.
    """
    t, k = s.traces, _DEGREES
    w, dw = s.constant_weight
    nonlinear = learned & (k >= 2)
    # orthonormal coefficients of the smoothed teacher, c_star_k rho^k sqrt(k!)
    teacher = np.where(nonlinear, s.c_star * s.rho[:, None] ** k * _ROOT_FACTORIAL, 0.0)
    # L_k/sqrt(k!), divided by the largest power of 1 + nu^2, which may overflow
    nu_squared = np.zeros_like(w) if rank_one else s.nu_squared
    stretch = np.log1p(nu_squared)[:, None] / 2
    top = np.max(np.where(nonlinear & (k % 2 == 0), k, 0), axis=1, keepdims=True)
    at_zero = np.where(nonlinear & (k <= top), _AT_ZERO * np.exp((k - top) * stretch), 0.0)
    unit = np.exp(-top * stretch)[:, 0]

    c0 = s.c_star[:, 0]
    at_origin = unit * c0 + np.sum(teacher * at_zero, axis=1)
    denominator = unit**2 + w * np.sum(at_zero**2, axis=1)
    B = w * c0**2 + np.sum(teacher**2, axis=1) - w * at_origin**2 / denominator
    dB = dw * (c0**2 - (at_origin * unit / denominator) ** 2)
    linear = np.where(learned[:, 1], s.c_star[:, 1] ** 2 * s.rho**2, 0.0)

    D = linear * t.M2 + B * t.M1
    dD = linear * t.dM2 + B * t.dM1 + dB * t.M1
    return Errors(s.lam * D, -dD / t.M1**2)


def errors(s: Scalars, count: Counts) -> Errors:
    """Errors after a step that adds `count` spikes."""
    start, drop = random_features.errors(s), drops(s, learned_degrees(s, count))
    return with_squared_loss(s, start.train - drop.train, start.test - drop.test)


def printed_errors(s: Scalars, count: Counts) -> Errors:
    r"""The errors as printed, kept to show the difference; the test drop is wrong.

    The residual is y, W_0 spherical, the update rank one, every degree up to `count` is learned,
    and the test drops are

    .. math:: \frac{c_{\star,1}^4}{b^2}(-m_2')
        \;+\; \frac{4 c_{\star,1}^4 c_{\star,2}^2}{3 b^4 m_1^2}(-m_1') \quad (\ell = 2)

    where the first lacks the factor :math:`\phi/(\psi m_1^2)` and the second :math:`\phi/\psi`.
    """
    if np.any(count > 2):
        raise OutOfScope(
            "printed: the test error is printed for at most two spikes (alpha < 1/3); "
            f"got {int(count.max())} spikes"
        )
    s = replace(s, full=np.zeros_like(s.full), gaussian_weights=np.zeros_like(s.full))
    t, rho = s.traces, s.rho
    drop = drops(s, all_degrees(count), rank_one=True)
    test = np.where(count >= 1, s.c_star[:, 1] ** 2 * rho**2 * -t.dm2, 0.0)
    quadratic = 4 / 3 * s.c_star[:, 2] ** 2 * rho**4 * -t.dm1 / t.m1**2
    test += np.where(count >= 2, quadratic, 0.0)
    start = random_features.errors(s)
    return Errors(start.train - drop.train, start.test - test)
