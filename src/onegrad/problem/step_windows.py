r"""Windows of the step exponent between the thresholds :math:`(k-1)/(2k)` of Moniri et al. 2024."""

from __future__ import annotations

import math
from typing import NamedTuple

MAX_THRESHOLD_DISTANCE = 1e-9  # an alpha this close to a threshold is on it


class StepWindow(NamedTuple):
    """Number of spikes at an exponent, and whether it is the threshold of the next one."""

    spikes: int
    at_threshold: bool


def step_window(alpha: float) -> StepWindow:
    r"""Return the window of an exponent alpha < 1/2.

    .. math:: \ell \text{ with } \tfrac{\ell-1}{2\ell} < \alpha < \tfrac{\ell}{2\ell+2},
        \text{ that is } \ell = \lceil 1/(1-2\alpha) \rceil - 1

    At a threshold the lower window is taken: the spike that begins there is not counted.
    See Moniri et al. 2024, Theorem 3.3.
    """
    if alpha < -MAX_THRESHOLD_DISTANCE:
        return StepWindow(0, False)
    windows = 1 / (1 - 2 * alpha)  # the k-th threshold is where this equals k
    nearest = round(windows)
    if abs(alpha - (nearest - 1) / (2 * nearest)) < MAX_THRESHOLD_DISTANCE:
        return StepWindow(nearest - 1, True)
    return StepWindow(math.ceil(windows) - 1, False)
