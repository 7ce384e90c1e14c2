r"""Averages of a function of a nearly Gaussian variable, for arrays of means and deviations.

Polynomials get a Gauss-Hermite rule that is exact. Smooth functions get the trapezoidal rule on the
whole line, which converges geometrically for functions analytic in a strip: halving the step
squares the error. Functions with kinks get Gauss-Legendre panels that end at the kinks, wherever
mean and deviation put them.
"""

from typing import NamedTuple

import numpy as np

from onegrad.arrays import Floats
from onegrad.functions.function import Function
from onegrad.functions.hermite import gauss_hermite, panel_rule

_HALF_WIDTH = 8.5  # P(|z| > 8.5) = 2e-17
_PANEL_NODES, _PANEL_WIDTH = 28, 7.2  # the Gaussian density over the whole width, to 1e-11
_CACHED_POINTS = 1 << 15  # values of a function that are averaged at once: 256 kB; not tuned
_MAX_HALVINGS = 6  # of the trapezoidal step, from 1, before its error is accepted
_MAX_COARSE_DEVIATION = 2.0  # above it step 1 is too coarse: cos(16 pi z) looks constant


class Averages(NamedTuple):
    """E f, E[z f] and E f^2 at x = mean + deviation z."""

    value: Floats
    slope: Floats
    square: Floats


def gaussian_averages(
    f: Function, mean: Floats, deviation: Floats, flattening: float = 0.0, tol: float = 1e-8
) -> Averages:
    r"""Average :math:`f(m + s z)` under the density :math:`\varphi(z)(1 - \tau He_4(z))`.

    .. math:: E f, \quad E[z f], \quad E f^2

    Parameters
    ----------
    mean, deviation : arrays that broadcast against one another; deviation > 0.
    flattening : tau. One coordinate of a d-vector of fixed length has tau = 1/(4d): mixed over the
        fluctuating length of a Gaussian vector it is Gaussian again.
    tol : relative error that ends refinement, estimated by the square of the change under halving.

    See tests/functions/test_conditional_moments_match_closed_forms.py.
    """
    mean, deviation = np.broadcast_arrays(mean, deviation)
    if f.kinks:
        return _between_kinks(f, mean, deviation, flattening)
    if f.polynomial is not None:  # exact for f^2 times He_4: degree < 2k
        z, p = gauss_hermite(len(f.polynomial) + 2)
        return _sum(f, mean, deviation, z, p * (1 - flattening * _he4(z)))
    # of the trapezoidal step, before its error is looked at
    halvings = np.ceil(np.log2(np.maximum(deviation / _MAX_COARSE_DEVIATION, 1.0)))
    halvings = np.minimum(halvings, _MAX_HALVINGS - 1)
    classes = np.unique(halvings)
    if len(classes) == 1:
        return _trapezoidal(f, mean, deviation, flattening, tol, int(classes[0]))
    averages = np.empty((3, *mean.shape))
    for first in classes:  # few deviations are large: the others need fewer points
        part = halvings == first
        averages[:, part] = _trapezoidal(
            f, mean[part], deviation[part], flattening, tol, int(first)
        )
    return Averages(*averages)


def _trapezoidal(
    f: Function, mean: Floats, deviation: Floats, flattening: float, tol: float, halvings: int
) -> Averages:
    """Return averages by the trapezoidal rule, halved until the error is below tol."""
    step = 0.5**halvings
    # the weights of both ends are not halved: the density there is below rounding
    z = np.arange(-_HALF_WIDTH, _HALF_WIDTH + step / 2, step)
    fine = _sum(f, mean, deviation, z, step * _density(z, flattening))
    for _ in range(halvings, _MAX_HALVINGS):
        middle = np.arange(-_HALF_WIDTH + step / 2, _HALF_WIDTH, step)
        odd = _sum(f, mean, deviation, middle, step * _density(middle, flattening))
        coarse, step = fine, step / 2
        fine = Averages(*((a + b) / 2 for a, b in zip(coarse, odd, strict=True)))
        change = max(float(np.abs(a - b).max()) for a, b in zip(fine, coarse, strict=True))
        # a halving squares the error, so what is left is about the square of this change
        if change <= np.sqrt(tol) * max(float(np.abs(a).max()) for a in fine):
            break
    return fine


def _density(z: Floats, flattening: float) -> Floats:
    density = np.exp(-z * z / 2) / np.sqrt(2 * np.pi)
    return density * (1 - flattening * _he4(z))


def _he4(z: Floats) -> Floats:
    return (z * z - 6) * z * z + 3


def _sum(f: Function, mean: Floats, deviation: Floats, z: Floats, w: Floats) -> Averages:
    means, deviations = mean.reshape(-1, 1), deviation.reshape(-1, 1)
    weights, together = np.column_stack([w, w * z]), max(_CACHED_POINTS // len(z), 1)
    averages = np.empty((len(means), 3))
    for start in range(0, len(means), together):
        part = slice(start, start + together)
        y = means[part] + deviations[part] * z
        y = f(y, out=y)
        averages[part, :2] = y @ weights
        averages[part, 2] = np.square(y, out=y) @ w
    return Averages(*(column.reshape(mean.shape) for column in averages.T))


def _between_kinks(f: Function, mean: Floats, deviation: Floats, flattening: float) -> Averages:
    # a kink of f at q is one of f(m + s z) at (q - m)/s, which every mean and deviation moves
    kinks = np.array([-np.inf, *sorted(f.kinks), np.inf])
    breaks = np.clip((kinks - mean[..., None]) / deviation[..., None], -_PANEL_WIDTH, _PANEL_WIDTH)
    z, lengths = panel_rule(breaks, _PANEL_NODES)
    weight = lengths * _density(z, flattening)
    y = f(mean[..., None] + deviation[..., None] * z)
    wy = weight * y
    return Averages(wy.sum(-1), (wy * z).sum(-1), (wy * y).sum(-1))
