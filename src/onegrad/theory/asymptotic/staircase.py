r"""Errors after steps :math:`\eta \asymp n^\alpha`: each window of alpha learns one degree more.

The spikes act as unpenalised features, so the limit depends on alpha through their number only:
that of the spikes which a step n^alpha adds.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from onegrad.arrays import Floats
from onegrad.exceptions import AssumptionWarning, InvalidInput, OutOfScope, warn
from onegrad.functions.function import MAX_HERMITE_DEGREE
from onegrad.functions.hermite import hermite_at_zero
from onegrad.problem import Problem
from onegrad.problem.conventions import MAX_THRESHOLD_DISTANCE, step_window
from onegrad.theory.asymptotic import random_features
from onegrad.theory.asymptotic.assumptions import assumption_warnings, require_linear_part
from onegrad.theory.asymptotic.scalars import Scalars
from onegrad.theory.prediction import Errors

Bools = np.ndarray[tuple[int, ...], np.dtype[np.bool_]]

MIN_RELATIVE_COEFFICIENT = 1e-10  # below this share of the norm a coefficient has no spike

_DEGREES = np.arange(MAX_HERMITE_DEGREE + 1)
_ROOT_FACTORIAL = np.array([math.sqrt(math.factorial(k)) for k in range(MAX_HERMITE_DEGREE + 1)])
# He_k(0)/sqrt(k!): the coefficients of "value at zero" in the orthonormal basis
_AT_ZERO = np.array([hermite_at_zero(k) for k in range(MAX_HERMITE_DEGREE + 1)]) / _ROOT_FACTORIAL
Ints = np.ndarray[Any, np.dtype[np.int64]]


def thresholds(count: int) -> Floats:
    r"""Return the exponents :math:`\alpha_k = (k-1)/(2k)` at which the first `count` spikes appear.

    Examples
    --------
    >>> import onegrad as og
    >>> og.thresholds(4)
    array([0.        , 0.25      , 0.33333333, 0.375     ])

    See Moniri et al. 2024, Theorem 3.3;
    tests/theory/asymptotic/test_spikes_are_counted_by_windows.py.
    """
    if isinstance(count, bool) or not isinstance(count, int | np.integer) or count < 0:
        raise InvalidInput("count", count, "a whole number >= 0")
    k = np.arange(1, count + 1)
    return (k - 1) / (2 * k)


def spike_count(alpha: float) -> int:
    r"""Number of spikes that one step of size :math:`\eta \asymp n^\alpha` adds.

    .. math:: \ell \text{ with } \tfrac{\ell-1}{2\ell} < \alpha < \tfrac{\ell}{2\ell+2},
        \text{ that is } \ell = \lceil 1/(1-2\alpha) \rceil - 1

    At a threshold, where the theorem is silent, the lower window is taken and a warning says so.

    Holds for c_1, ..., c_l != 0, isotropic Gaussian inputs, n, d, N proportional.

    Examples
    --------
    >>> import onegrad as og
    >>> og.spike_count(0.3)
    2

    See Moniri et al. 2024, Theorem 3.3.
    """
    try:
        exponent = float(alpha)
    except (TypeError, ValueError):
        exponent = math.nan
    if not exponent < 0.5:
        raise InvalidInput("alpha", alpha, "a number < 1/2")
    count, at_threshold = step_window(exponent)
    if at_threshold:
        warn(_on_thresholds([exponent]))
    return count


def spike_counts(alphas: Sequence[float | None]) -> tuple[Ints, tuple[AssumptionWarning, ...]]:
    """Return the number of spikes at each alpha, and warnings where the theorem is silent.

    None means eta = 0: no spike. From 1/2 on all MAX_HERMITE_DEGREE are counted.
    """
    count_at: dict[float | None, int] = {None: 0}
    on_threshold, beyond = [], []
    for alpha in dict.fromkeys(alpha for alpha in alphas if alpha is not None):
        if alpha >= 0.5 - MAX_THRESHOLD_DISTANCE:
            count_at[alpha] = MAX_HERMITE_DEGREE
            beyond.append(alpha)
            continue
        count, at_threshold = step_window(alpha)
        count_at[alpha] = min(count, MAX_HERMITE_DEGREE)
        if at_threshold and count < MAX_HERMITE_DEGREE:
            on_threshold.append(alpha)
    warnings = [_on_thresholds(on_threshold)] if on_threshold else []
    if beyond:
        text = f"at {_listed(beyond)} every degree is taken as learned"
        text = f"staircase theory, alpha: alpha < 1/2 is assumed; {text}"
        warnings.append(AssumptionWarning("staircase", "alpha", text))
    return np.array([count_at[alpha] for alpha in alphas], dtype=np.int64), tuple(warnings)


def _on_thresholds(alphas: list[float]) -> AssumptionWarning:
    text = (
        f"staircase theory, alpha: values strictly between the thresholds (k-1)/(2k) are assumed; "
        f"{_listed(alphas)} is on one, and the spike that starts there is not counted"
    )
    return AssumptionWarning("staircase", "alpha", text)


def _listed(alphas: list[float]) -> str:
    shown = ", ".join(f"{alpha:g}" for alpha in alphas[:4])
    return shown + (", ..." if len(alphas) > 4 else "")


def staircase_errors(problems: Sequence[Problem]) -> Errors:
    """Return the errors after a step that adds as many spikes as the window of its exponent has."""
    require_linear_part("staircase", problems)
    without_alpha = next((p for p in problems if p.step > 0 and p.alpha is None), None)
    if without_alpha is not None:
        covered = "n >= 2, since it counts spikes by eta = n**alpha"
        raise OutOfScope("staircase", "n", without_alpha.n, covered)
    count, at_thresholds = spike_counts([p.alpha for p in problems])
    s = Scalars.of(problems)
    learned, missing = learned_degrees(s, count)
    warnings = assumption_warnings("staircase", problems, theorem=True) + at_thresholds + missing
    return random_features.lower_errors(s, staircase_drops(s, learned), warnings)


def all_degrees(count: Ints) -> Bools:
    """Return degrees 1, ..., count of each point, shape (points, degrees)."""
    return (_DEGREES >= 1) & (count[:, None] >= _DEGREES)


def learned_degrees(s: Scalars, count: Ints) -> tuple[Bools, tuple[AssumptionWarning, ...]]:
    """Return the degrees k <= count with a spike, c_k != 0, and a warning for those without.

    The theorem assumes all of them; an activation without some (odd ones have no even c_k) learns
    the others.
    """
    size = np.abs(s.c) * _ROOT_FACTORIAL
    spike = size > MIN_RELATIVE_COEFFICIENT * np.sqrt(s.second_moment)[:, None]
    expected = all_degrees(count)
    missing = np.flatnonzero(np.any(expected & ~spike, axis=0))
    text = "staircase theory, activation: c_1, ..., c_l != 0 are assumed; "
    warnings = tuple(
        AssumptionWarning(
            "staircase", "activation", f"{text}c_{k} = 0, so degree {k} is not learned"
        )
        for k in missing[:1]
    )
    return expected & spike, warnings


def unbroken(learned: Bools) -> Bools:
    """Return whether the learned degrees of each parity have no gap: 1, 3, 5, ... and 2, 4, ..."""
    parities = learned[:, 1::2], learned[:, 2::2]
    gaps = [~part & (np.cumsum(part[:, ::-1], axis=1)[:, ::-1] > 0) for part in parities]
    return ~np.any(np.hstack(gaps), axis=1)


def staircase_drops(s: Scalars, learned: Bools) -> random_features.Pair:
    r"""Return how much spikes lower the training and the test error, Delta and Lambda.

    .. math::
        \Delta_\ell/\lambda &= c_{\star,1}^2\rho^2 M_2 + B_\ell M_1,\qquad
        \Lambda_\ell = -\partial_\lambda(\Delta_\ell/\lambda)/M_1^2 \\
        B_\ell &= w\,c_{\star,0}^2 + \sum_{k=2}^\ell k!\,c_{\star,k}^2\rho^{2k}
            - \frac{w\,(c_{\star,0} + \sum_{k=2}^\ell L_k c_{\star,k}\rho^k)^2}
                   {1 + w\sum_{k=2}^\ell L_k^2/k!},\qquad L_k = (1+\nu^2)^{k/2} He_k(0)

    The even spikes span the even polynomials that vanish at zero, smoothed over the part of the
    step that is not rank one (:math:`\nu^2`); w is the weight of the constant
    (Scalars.constant_weight). For an update that is exactly rank one, :math:`\nu = 0`, the spikes
    are :math:`u, u^2, \dots` as in the printed theorem, which also has w = 1.

    learned : which degrees have a spike, shape (points, degrees): `learned_degrees`.

    Holds for alpha strictly between thresholds, Gaussian readout, isotropic Gaussian inputs,
    n, d, N proportional.
    See Moniri et al. 2024, Section 4 (train for every l, test for l = 1, 2); the corrections and
    the test drop for every l are derived in docs/theory.md; tests/theory/asymptotic/
    test_reference_values.py (tasks 3, 4), test_staircase_matches_the_matrix_form.py.
    """
    w, dw = s.constant_weight
    nu_squared = s.nu_squared
    D, dD = _closed_form(s, learned, nu_squared, w, dw)
    for i in np.flatnonzero(~unbroken(learned)):
        D[i], dD[i] = _projection(s, int(i), np.flatnonzero(learned[i]), nu_squared[i], w[i], dw[i])
    return random_features.Pair(s.lam * D, -dD / s.traces.M1**2)


def constant_gain(problem: Problem) -> float:
    r"""Return the factor by which a free constant raises the quadratic part of the test drop.

    .. math::
        \frac{(\Lambda_2-\Lambda_1)\text{ with a free constant}}{\text{without}}
        = \frac{q}{1 - w'(1+\nu^2)^2 M_1/(2qM_1')},\qquad q = 1 + \tfrac w2(1+\nu^2)^2

    with w' = dw/d lam. Rows on the sphere have w = 1 and w' = 0: the factor is
    :math:`1 + \frac12(1+\nu^2)^2`.

    Holds for 1/4 < alpha < 1/3 and a teacher of mean zero, :math:`c_{\star,0} = 0`.
    See tests/theory/asymptotic/test_a_free_constant_has_a_closed_form.py.
    """
    s = Scalars.of([problem.replace(intercept=False)])
    if abs(s.c_star[0, 0]) > MIN_RELATIVE_COEFFICIENT:
        raise OutOfScope("gain of a constant", "teacher", problem.teacher, "teachers of mean zero")
    w, dw = s.constant_weight
    stretch, t = (1 + s.nu_squared) ** 2, s.traces
    q = 1 + w * stretch / 2
    return float((q / (1 - dw * stretch * t.M1 / (2 * q * t.M1_prime)))[0])


def _closed_form(
    s: Scalars, learned: Bools, nu_squared: Floats, w: Floats, dw: Floats
) -> tuple[Floats, Floats]:
    """Return Delta/lam and its derivative where the spikes of each parity have no gap."""
    t, k = s.traces, _DEGREES
    nonlinear = learned & (k >= 2)
    # orthonormal coefficients of the smoothed teacher, c_star_k rho^k sqrt(k!)
    teacher = np.where(nonlinear, s.c_star * s.direction.rho[:, None] ** k * _ROOT_FACTORIAL, 0.0)
    # L_k/sqrt(k!), divided by the largest power of 1 + nu^2, which may overflow
    stretch = np.log1p(nu_squared)[:, None] / 2
    top = np.max(np.where(nonlinear & (k % 2 == 0), k, 0), axis=1, keepdims=True)
    at_zero = np.where(nonlinear & (k <= top), _AT_ZERO * np.exp((k - top) * stretch), 0.0)
    unit = np.exp(-top * stretch)[:, 0]

    c0 = s.c_star[:, 0]
    at_origin = unit * c0 + np.sum(teacher * at_zero, axis=1)
    denominator = unit**2 + w * np.sum(at_zero**2, axis=1)
    B = w * c0**2 + np.sum(teacher**2, axis=1) - w * at_origin**2 / denominator
    dB = dw * (c0**2 - (at_origin * unit / denominator) ** 2)
    linear = np.where(learned[:, 1], s.c_star[:, 1] ** 2 * s.direction.rho**2, 0.0)
    return linear * t.M2 + B * t.M1, linear * t.M2_prime + B * t.M1_prime + dB * t.M1


def _projection(
    s: Scalars, i: int, degrees: Ints, nu_squared: float, w: float, dw: float
) -> tuple[float, float]:
    r"""Return Delta/lam and its derivative at one point, for any set of spike degrees.

    .. math:: \Delta/\lambda = \max_{y \in V} \sum_j m_j (2 t_j y_j - y_j^2),\qquad
        V = \mathrm{span}\{E_z(u + \nu z)^k\}

    in Hermite coefficients, with t the smoothed teacher and m = (M_0, M_2, M_1, M_1, ...). At the
    maximum only m depends on lam.
    """
    t, k = s.traces, _DEGREES
    M1, M1_prime = t.M1[i], t.M1_prime[i]
    metric, slope = np.full(MAX_HERMITE_DEGREE + 1, M1), np.full(MAX_HERMITE_DEGREE + 1, M1_prime)
    metric[:2], slope[:2] = (w * M1, t.M2[i]), (dw * M1 + w * M1_prime, t.M2_prime[i])
    teacher = s.c_star[i] * s.direction.rho[i] ** k * _ROOT_FACTORIAL
    # He_j coefficient of E_z (u + nu z)^k: binom(k, j) (1 + nu^2)^((k-j)/2) (k-j-1)!!
    basis = np.zeros((len(degrees), MAX_HERMITE_DEGREE + 1))
    for row, degree in zip(basis, degrees.tolist(), strict=True):
        for j in range(degree % 2, degree + 1, 2):
            moment = abs(hermite_at_zero(degree - j)) * (1 + nu_squared) ** ((degree - j) / 2)
            row[j] = math.comb(degree, j) * moment * _ROOT_FACTORIAL[j]
    basis /= np.linalg.norm(basis, axis=1, keepdims=True)
    root = np.sqrt(metric)
    x = np.linalg.lstsq((basis * root).T, root * teacher, rcond=None)[0]
    gain = 2 * teacher * (y := x @ basis) - y**2
    return float(metric @ gain), float(slope @ gain)
