r"""Windows of the step exponent: the number of spikes that a step n^alpha adds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from onegrad.arrays import Floats
from onegrad.exceptions import AssumptionWarning, InvalidInput, warn
from onegrad.functions.function import MAX_HERMITE_DEGREE
from onegrad.problem.conventions import MAX_THRESHOLD_DISTANCE, step_window

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
