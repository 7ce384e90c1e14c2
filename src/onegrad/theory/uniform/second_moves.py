r"""Moves of a second step: its coherent part, and what it adds off the special directions.

It moves weights by :math:`\Sigma Z_2`, :math:`Z_2 = X^\top\psi_2/n_0` with the row functions
:math:`\psi_2 = \gamma_2gr_2\sigma'(x\cdot w^1)`.

*Coherent.* Neurons of one type move along :math:`\Sigma E[Xq]`, :math:`q(g) = r_2D_0`, of which
constraints t of the rows move nothing off the special directions: :math:`\Gamma` are the products
of what they leave of q, and the noise of moves is :math:`\Sigma\sqrt{\varphi_0}` times its root.

*Off the special directions*, with :math:`b = \gamma_2gE[r_2D_1]` and
:math:`b_0 = \gamma_2gE[r_2D_{00}]` of rows that the first step has seen,

.. math:: w^2 = (1 - \delta + \Sigma b)w^1 + \Sigma b_0w^0 + \text{noise}.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from onegrad.arrays import Floats
from onegrad.theory.uniform.laws.neurons import Types
from onegrad.theory.uniform.laws.rows import StepMoments
from onegrad.theory.uniform.step import Step

if TYPE_CHECKING:  # which moves by what is here
    from onegrad.theory.uniform.second_step import SecondBatch

MIN_ENERGY = 1e-12


@dataclass(frozen=True)
class CoherentMoves:
    """Moves that neurons of unit size make together in a second step."""

    vectors: Floats  # (U, D) moves along the directions there are, in slots and groups
    value: Floats  # (G, U) q less what constraints take of it
    gram: Floats  # (U, U) Gamma


def coherent_moves(step: Step, batch: SecondBatch) -> CoherentMoves:
    """Return the coherent moves of a second step."""
    P, p = step.directions, batch.p
    q = batch.r[:, None] * batch.slope
    weighted = p[:, None] * q
    X, t = np.split(batch.moments[:, 0, 1:], [P], axis=1)
    t = t / np.sqrt(step.phi0)
    along, fixed = weighted.T @ X, weighted.T @ t
    basis, groups = step.parts.reshape(P, -1), np.tile(step.inputs.s, step.parts.shape[1])
    signal, rest = along @ basis, q - t @ fixed.T
    return CoherentMoves(signal * groups, rest, rest.T @ (p[:, None] * rest))


def own_products(step: Step, first: Types, moments: StepMoments) -> tuple[Floats, Floats, Floats]:
    """Return R_00, R_01 and R_11, (U, R), of which w_0 is in units of its input's deviation."""
    s, omega, nu, K = step.inputs.s, step.inputs.omega, step.activation.nu, step.gain
    R00 = (s[:, None] * first.length / first.size**2).T
    grown = step.laws.update.rest + np.outer(first.own + first.epsilon * moments.mean, K)
    slopes = (first.epsilon * first.size) ** 2 + first.gamma**2 * nu
    noise = step.noise_of_moves(moments.square * slopes) / (omega @ K**2)
    R01, R11 = R00 * grown, R00 * grown**2 * first.size[:, None] ** 2 + np.outer(noise, K**2)
    # with what special directions add
    R01 *= (first.along / (R01 @ omega))[:, None]
    R11 *= (first.rho**2 / (R11 @ omega))[:, None]
    return R00, R01, R11


@dataclass(frozen=True)
class Slopes:
    """Means over rows of what slopes make of inputs, for neurons of a step of some size, (U,)."""

    bend: Floats  # b
    start: Floats  # gamma g E[r D_00]
    shared: Floats  # E psi_1 psi_2, off what is coherent
    energy: Floats  # E psi_2^2

    @classmethod
    def of(cls, first: Types, batch: SecondBatch, gamma: Floats, coherent: Floats) -> Slopes:
        """Return the means; `coherent` is what moves coherent weights, (G, U)."""
        rows = batch.p * batch.r * batch.length
        energy = (rows * batch.r) @ batch.slope_square - rows @ (coherent * batch.slope)
        return cls(
            gamma * (rows @ batch.bend),
            gamma * (rows @ batch.start),
            gamma * first.gamma * ((rows * batch.first) @ batch.shared),
            gamma**2 * energy,
        )


@dataclass(frozen=True)
class BulkMoves:
    """Weights after the second step off the special directions, all (U, R)."""

    grown: Floats  # factor of the weights after the first step
    start: Floats  # and of the initial ones
    shared: Floats  # product of the noise of both steps
    noise: Floats
    # what a row's own part in the first step is multiplied by in the second, (U,)
    growth: Floats

    def products(self, R00: Floats, R01: Floats, R11: Floats) -> tuple[Floats, Floats, Floats]:
        """Return R_02, R_12 and R_22."""
        R02 = self.grown * R01 + self.start * R00
        R12 = self.grown * R11 + self.start * R01 + self.shared
        R22 = self.grown * (R12 + self.shared) + self.start * R02 + self.noise
        return R02, R12, np.maximum(R22, MIN_ENERGY)


def bulk_moves(step: Step, slopes: Slopes, own: Floats) -> BulkMoves:
    """Return the moves of a second step off the special directions."""
    rest, omega, K = step.laws.update.rest, step.inputs.omega, step.gain
    grown = rest + np.outer(own + slopes.bend, K)
    return BulkMoves(
        grown,
        np.outer(slopes.start, K),
        step.phi0 * np.outer(slopes.shared, K**2),
        step.phi0 * np.outer(slopes.energy, K**2),
        grown @ (omega * K) / (omega @ K),
    )
