r"""A second step along the orthogonal factor of its gradient.

Neurons have a deviation :math:`\rho` after the first step, and the gradient is that of
:math:`\sigma(\rho z)` at :math:`w^1/\rho`: its factor is an isometry as independent of the first
one as the batch. On the same batch slopes of both steps have the correlation

.. math:: R = \mathrm{corr}\big(\sigma'(z_0), \sigma'(w^1\cdot x)\big)

beyond their linear parts, and the isometries the product

.. math:: \alpha = R\big(m_1^2 + (1 - m_1^2)R^2\big),

that of factors of independent entries within .02 where N is twice d or half of it. The first step's
weight s along the signal takes the second one along all of :math:`w^1`, by
:math:`6c_3\rho^{-2}sb`. Signals add up: on fresh batches their noise is independent, and together
they are a step along a mean of both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from onegrad.arrays import Floats
from onegrad.functions.hermite import gauss_hermite
from onegrad.theory.uniform.laws.inputs import stretched
from onegrad.theory.uniform.laws.neurons import Types, isometry_variances, relative_bend
from onegrad.theory.uniform.laws.orthogonal import OrthogonalFactor, Parts
from onegrad.theory.uniform.laws.rows import RowPoints, StepMoments, step_moments
from onegrad.theory.uniform.step import ActivationNumbers, Step, activation_numbers, take_step

INPUT_NODES = 40  # of each input, in their correlation
NO_SLOPES = 1e-18  # energy of slopes beyond their linear part, squared


def take_second_factor(
    step: Step, types: Types, points: Sequence[RowPoints], moments: StepMoments
) -> tuple[Step, StepMoments, Types]:
    """Return the step along both signals, its moments, and the types of neurons after it."""
    laws, rest = step.laws, step.laws.update.rest
    assert step.factor is not None and laws.update.second is not None
    rho = float(np.sqrt(types.weight @ types.rho**2))
    numbers = activation_numbers(stretched(laws.neurons.activation, rho))
    h = step.factor.signal / abs(step.activation.c1 or 1.0)
    factor = _second_factor(step.factor, numbers, rho, h, step.inputs.d)
    gamma, g = laws.update.second / float(np.sqrt(laws.neurons.N)), types.g
    moved = np.sign(g) * gamma * factor.length * np.sqrt(factor.share_of_neuron(g))
    signals = rest * types.s, gamma * g * numbers.c1 / rho * step.b * factor.along_signal
    A, share = factor.turns(g, 6 * numbers.c3 / rho**2 * h * types.s)
    alike = 0.0
    if laws.update.again:
        alike = agreement(_correlation_of_slopes(step, types, rho), factor.mean_value)
    step, moments, scale = _along_both_signals(step, types, points, moments, signals)
    parts, turned = _after(step, types, A, share, moved, alike)
    rho2 = step.inputs.omega @ isometry_variances(parts, step.inputs.s, types.length)
    own_slope = gamma * g * factor.mean_response(g) * 6 * numbers.c3 / rho
    bend = relative_bend(laws.neurons.activation, types.bias, np.sqrt(rho2))
    types = replace(
        types,
        s=scale * (signals[0] + signals[1]) + own_slope * h * bend / step.inputs.d,
        own_slope=types.own_slope + own_slope,
        own=rest * (rest + types.own) - rest,
        rho=np.sqrt(rho2),
        parts=parts,
        turned=turned,
    )
    return replace(step, later=factor), moments, types


def _second_factor(
    first: OrthogonalFactor, numbers: ActivationNumbers, rho: float, h: float, d: int
) -> OrthogonalFactor:
    """Return the factor of the second gradient; numbers are those of sigma(rho z)."""
    return replace(
        first,
        signal=abs(numbers.c1) / rho * h,
        even=2 * numbers.c2 / rho,
        nu=numbers.nu / rho**2,
        own=6 * abs(numbers.c3) / rho * h / float(np.sqrt(d)),
    )


def _along_both_signals(
    step: Step,
    types: Types,
    points: Sequence[RowPoints],
    moments: StepMoments,
    signals: tuple[Floats, Floats],
) -> tuple[Step, StepMoments, float]:
    """Return the step along the sum of signals, its moments, and the length of their mean."""
    first, second = (abs(float(types.weight @ (x * types.g))) for x in signals)
    if step.laws.update.again or first + second == 0.0:
        return step, moments, 1.0
    along = take_step(step.laws, noise_of_mean=float(np.hypot(first, second)) / (first + second))
    along = replace(along, factor=step.factor)
    return along, step_moments(along, tuple(points)), along.b / step.b


def _after(
    step: Step, types: Types, A: Floats, share: Floats, moved: Floats, alike: float
) -> tuple[Parts, Floats]:
    """Return what both steps leave of weights, and how those along the signal turn neurons off it.

    On fresh batches each part of the first M has all parts of the second.
    """
    before, update, groups = types.parts, step.laws.update, len(step.inputs.s)
    assert before is not None
    if not update.again:
        A, share = A[:, None], share[:, None]
    start, of_isometry, of_first = (
        x.reshape(-1, groups, x.shape[-1]) + 0.0 * A
        for x in (before.start, before.moved, before.share)
    )
    before = Parts(start, of_isometry, of_first)
    after = before.then(A, share + 0.0 * before.share, moved, alike, update.rest).flat
    total = types.turned**2 + before.flat.start.var(0) + moved**2 * A.reshape(-1, len(moved)).var(0)
    return after, np.sqrt(np.maximum(total - after.start.var(0), 0.0))


def agreement(correlation: float, mean_value: float) -> float:
    """Return the product of the orthogonal factors of two such matrices of independent entries."""
    return correlation * (mean_value**2 + (1 - mean_value**2) * correlation**2)


def _correlation_of_slopes(step: Step, types: Types, rho: float) -> float:
    """Return that of both gradients on one batch, off the linear parts."""
    z, p = gauss_hermite(INPUT_NODES)
    p = p / p.sum()
    along = float(np.clip(types.weight @ (types.along / types.rho), -1.0, 1.0))
    pre = rho * (along * z[:, None] + np.sqrt(1 - along**2) * z)
    derivative = step.laws.neurons.activation.derivative

    def off_linear(f: Floats) -> Floats:
        return np.asarray(f - p @ f - (p @ (f * z)) * z)

    first = off_linear(derivative(z))
    together = float(p @ (first * (derivative(pre) @ p)))
    sizes = float(p @ first**2) * float(p @ off_linear(derivative(rho * z)) ** 2)
    return together / float(np.sqrt(sizes)) if sizes > NO_SLOPES else 0.0
