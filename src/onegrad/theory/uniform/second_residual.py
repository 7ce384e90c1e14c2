r"""The residual of a second step: labels less the output after the first.

With :math:`r_1` and the index of a row, features after the first step, and the part
:math:`R_{01}/R_{00}` of initial weights that is left in them,

.. math::
    r_2 = y - s\Big[\sqrt NE[gA] + \bar B\,\hat u\cdot x + \bar cf_\perp + f^1_\perp\Big],\qquad
    \bar B = E\Big[g^2\Big(B_1\frac{R_{01}}{R_{00}} + \frac{B_0}{|w|}\Big)\Big],\quad
    \bar c = E[g^2E[\sigma f]] .

f is the normalised part of :math:`\sigma(z_0)` beyond degree one, :math:`f_\perp = \sum_ia_if` what
the initial output has of it; :math:`f^1_\perp` is the rest, a sum over neurons and as good as
normal. Rows of ridge read both: what their features have of a neuron's part is coherent.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from onegrad.arrays import Floats
from onegrad.functions.averages import gaussian_averages
from onegrad.functions.hermite import gauss_hermite
from onegrad.theory.uniform.features import MIN_VARIANCE, features_of_step, parts_of_rows
from onegrad.theory.uniform.fit import IndexArray
from onegrad.theory.uniform.laws.neurons import Types
from onegrad.theory.uniform.laws.rows import Population, joint_moments, step_length, with_nodes
from onegrad.theory.uniform.step import Step

OUTPUT_NODES = 2  # of the second residual given the first: as five, to .02 %
# of its square given the first, over the mean square of the first: rules with signs leave so much.
# With a hundredth of it second steps after none were .3 % off in the test error
MIN_RESIDUAL_SPREAD = 1e-2
MIN_F_PERP = 1e-6  # of f_perp of the first step over the same


@dataclass(frozen=True)
class Output:
    """Averages of features after a first step, of which the rest is f_perp; (G, U) or (G,)."""

    mean: Floats  # E sigma, E[sigma z_0], E[sigma z_perp]
    along: Floats
    across: Floats
    shared: Floats  # c
    size: Floats  # deviation of f_perp over s; infinite where there is none

    def rest(self, value: Floats, u: int, z0: Floats, z1: Floats, f: Floats) -> Floats:
        """Return a neuron's part of the normalised f_perp of type u, (G, z_0, z_perp)."""
        A, B, C = (x[:, u, None, None] for x in (self.mean, self.along, self.across))
        c, size = self.shared[:, None, None], self.size[:, None, None]
        return np.asarray((value - A - B * z0 - C * z1 - c * f) / size)


def output_of_fresh(
    step: Step, first: Types, remaining: Floats, along_v: Floats, kappa: Floats, length: float
) -> tuple[Floats, Floats, Floats]:
    """Return the output after the first step at the index of fresh rows, as `_output` does."""
    variance = length * first.rho**2 + along_v * (kappa[:, None] ** 2 - 1)
    deviation = np.sqrt(np.maximum(variance, MIN_VARIANCE * first.rho**2))
    sigma = step.laws.neurons.activation
    A, B, square = gaussian_averages(sigma, first.s * kappa[:, None], deviation)
    B = B / deviation
    return _output(step, first, remaining, A, B, np.zeros_like(B), square - A**2, length)


def _output(
    step: Step,
    first: Types,
    remaining: Floats,
    A: Floats,
    B1: Floats,
    B0: Floats,
    variance: Floats,
    length: Any,
) -> tuple[Floats, Floats, Floats]:
    """Return the mean, coefficients of the special directions and the variance of the rest.

    They are those of the readout row.

    A, B1, B0, variance : of features, (G, U), with B_0 on the weights themselves.
    remaining : R_01/R_00, (U, R).
    """
    neurons, scale, square = step.laws.neurons, step.scale, first.weight * first.g**2
    mean = scale * np.sqrt(neurons.N) * (A @ (first.weight * first.g))
    if not neurons.mean_readout:  # else it is in A
        mean = mean + scale * step.laws.update.constant
    row = B1 @ (square[:, None] * remaining) + (B0 @ square)[:, None]
    row = scale * row @ step.row_overlap.T
    rest = scale**2 * (variance @ square) - step_length(step, length) * (row**2).sum(1)
    return mean, row, np.maximum(rest, 0.0)


def with_output(
    step: Step, first: Types, rows: Population, remaining: Floats
) -> tuple[Population, Floats, IndexArray, Output]:
    r"""Return rows of the first batch with nodes of the second residual.

    Given index and first residual :math:`r_2 = b\cdot x` with the row variables x and the label: a
    standard normal in place of it moves them along their covariance with it, over its deviation.

    Also these residuals, the group that each was, and the output.
    """
    f, G, q = features_of_step(step, first, rows), len(rows.length), rows.label.shape[-1]
    A, B1, B0, beta, noise, value = (
        x[:, 0] for x in (f.A, f.B1, f.B0, f.beta, f.noise, f.rests[0])
    )
    root = np.sqrt(rows.length)[:, None]
    P, Q = parts_of_rows(step, first, rows.length[:, None])
    along, across, rest = root * (P * B1 + B0), root * Q * B1, step.laws.update.rest
    remaining = rest + step.kept_fraction(1.0) * (remaining - rest)
    variance, B0 = noise + beta**2 + along**2 + across**2, B0 / first.size
    mean, row, noise = _output(step, first, remaining, A, B1, B0, variance, rows.length)
    shared = value @ (first.weight * first.g**2)
    noise = np.maximum(noise - (step.scale * shared) ** 2, 0.0)
    # row variables, of which f_perp is the last, f_perp of the first step, and the label
    second, old = np.zeros((G, q + 2, q + 2)), [*range(q), q + 1]
    second[np.ix_(range(G), old, old)] = joint_moments(rows)
    reading, p = np.zeros((G, q + 2)), step.directions
    reading[:, 0], reading[:, 1 : 1 + p], reading[:, -1] = -mean, -row, 1.0
    # the index of a group is not sharp where a fit is taken off
    steep = step.scale * np.sqrt(step.laws.neurons.N) * (B1 @ (first.weight * first.g * first.s))
    reading[:, 0] += steep * rows.kappa[:, 0]
    reading[:, 1] -= steep
    rests = slice(q - 1, q + 1)
    reading[:, rests] = -np.stack([step.scale * shared, np.sqrt(noise)], 1)
    r, every = np.einsum("gi,gi->g", reading, second[:, 0]), np.arange(q + 2)
    covariance = second - second[:, 0, :, None] * second[:, 0, None]
    covariance[:, every[rests], every[rests]] += 1.0  # the noise of features has counted one
    c = np.einsum("gij,gj->gi", covariance, reading)
    square = np.maximum(np.einsum("gi,gi->g", reading, c), 0.0)[:, None]
    largest = np.sqrt(np.maximum(np.einsum("gii->gi", covariance), 0.0))  # rules have signs
    c = np.clip(c / np.sqrt(square + MIN_RESIDUAL_SPREAD * step.energy), -largest, largest)
    t, weight = gauss_hermite(OUTPUT_NODES)
    nodes = with_nodes(rows, second, [c], t[None], weight / weight.sum())
    node = np.repeat(np.arange(G), len(t))
    groups = replace(nodes, length=rows.length[node], r=rows.r[node], r2=rows.r2[node])
    for name in ("mass", "kappa", "residual", "moments", "label", "label_square"):
        of_nodes = getattr(nodes, name)
        shape = len(node), 1, *of_nodes.shape[2:]
        groups = replace(groups, **{name: of_nodes.reshape(shape)})
    size = np.where(noise > MIN_F_PERP * step.energy, np.sqrt(noise) / step.scale, np.inf)
    output = Output(*(x[node] for x in (A, along, across, shared, size)))
    return groups, (r[:, None] + np.sqrt(square) * t).ravel(), node, output
