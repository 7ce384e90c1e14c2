r"""Moves of a second step: its coherent part, and what it adds off the special directions.

The gradient moves weights by :math:`\Sigma Z_2`, :math:`Z_2 = X^\top\psi_2/n_0` with the row
functions :math:`\psi_2 = \gamma_2gr_2\sigma'(x\cdot w^1)`; a preconditioned step obeys
:math:`C_2(w^2 - w^1) = Z_2` as the first does (`preconditioner`).

*Coherent.* Neurons of one type regress :math:`q(g) = r_2D_0`, of which constraints t of the rows
move nothing off the special directions. With :math:`S = E[XX^\top]` and
:math:`\tau = E[Xt^\top]` of the rows' coordinates, h the part that a row leaves,

.. math:: \big(\epsilon/s + h + h(S - 1) + (1 - h)\tau\tau^\top\big)D
    = hE[Xq] + (1 - h)\tau E[tq],

which is :math:`D = KE[Xq]` on a fresh batch. :math:`\Gamma` are the products of what D and t leave
of q, and the noise of moves is :math:`K\sqrt{\varphi_0/(1 - \varphi_0\langle K^2\rangle)}` times
its root.

*Off the special directions*, with :math:`b = \gamma_2gE[r_2D_1]`,

.. math:: w^2 = \hat kw^1 + k_0w^0 + m_sz_2,\qquad E z_az_{a'} = \varphi_0\Lambda_{aa'}/d

and :math:`\hat k = 1 + K_sb,\ k_0 = 0` on a fresh batch. On the rows of the first step a force on
its equation moves :math:`w^2 - w^1` by :math:`\tau_s = K_s^2b/(1 - \varphi_0\langle K^2\rangle)`:
with :math:`w^1 - w^0 = Kb_1w^0 + m_sz_1` (a weight :math:`w^0` of length one, of size
:math:`|w|`),

.. math:: w^2 - w^1 = m_s\big[z_2 + h^2(b + \varphi_0\bar\tau)(w^1 - w^0)
    + h(|w|b + \gamma_2gE[r_2D_{00}] - h\varphi_0\bar\tau b_1)w^0\big],

where :math:`F_1 = h(\psi_1 - x\cdot D^1),\ F_2 = h(\psi_2 - x\cdot D^2) - h\varphi_0\bar\tau F_1`
of a row left out of both steps have the products :math:`\Lambda`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from onegrad.arrays import Floats
from onegrad.theory.uniform.laws.neurons import Types
from onegrad.theory.uniform.laws.preconditioner import Preconditioner
from onegrad.theory.uniform.laws.rows import StepMoments
from onegrad.theory.uniform.step import Step

if TYPE_CHECKING:  # which moves by what is here
    from onegrad.theory.uniform.second_step import SecondBatch

MIN_ENERGY = 1e-12


@dataclass(frozen=True)
class CoherentMoves:
    """Moves that neurons of unit size make together in a second step."""

    vectors: Floats  # (U, D) moves along the directions there are, in slots and groups
    value: Floats  # (G, U) q; of the gradient less what constraints take of it
    remainder: Floats  # (G, U) means of what these and the constraints leave of q
    fixed: Floats  # (U, k) what constraints take of q; of the gradient it is in the means
    gram: Floats  # (U, U) Gamma
    gradient: Floats  # (U,) squared length of the gradient


def coherent_moves(step: Step, batch: SecondBatch) -> CoherentMoves:
    """Return the coherent moves of a second step."""
    P, p, s = step.directions, batch.p, step.inputs.s
    q = batch.r[:, None] * batch.slope
    weighted = p[:, None] * q
    X, t = np.split(batch.moments[:, 0, 1:], [P], axis=1)
    t = t / np.sqrt(step.phi0)
    along, fixed = weighted.T @ X, weighted.T @ t
    basis, groups = step.parts.reshape(P, -1), np.tile(s, step.parts.shape[1])
    signal, squares, pre = along @ basis, q.T @ weighted, step.preconditioner
    free = squares - fixed @ fixed.T
    gradient = signal**2 @ groups + step.phi0 * np.diag(free)
    if pre is None:
        rest = q - t @ fixed.T
        gram = rest.T @ (p[:, None] * rest)
        return CoherentMoves(signal * groups, rest, rest, 0 * fixed, gram, gradient)
    unit, S, tau = np.eye(P), np.eye(P), np.zeros((P, t.shape[1]))
    if step.laws.update.again:
        S, tau = np.split(np.tensordot(p, batch.moments, axes=1)[1 : 1 + P, 1:], [P], axis=1)
        tau = tau / np.sqrt(step.phi0)
    held = pre.held(1.0)
    form = basis.T @ (held * (S - unit) + (1 - held) * tau @ tau.T) @ basis
    form += np.diag(pre.shift / groups + held)
    vectors = np.linalg.solve(form, basis.T @ (held * along + (1 - held) * fixed @ tau.T).T).T
    D = vectors @ basis.T
    beyond = vectors - D @ basis
    fixed = fixed - D @ tau
    gram = squares - D @ along.T - along @ D.T + D @ S @ D.T + beyond @ beyond.T - fixed @ fixed.T
    return CoherentMoves(vectors, q, q - X @ D.T - t @ fixed.T, fixed, gram, gradient)


def own_products(step: Step, first: Types, moments: StepMoments) -> tuple[Floats, Floats, Floats]:
    """Return R_00, R_01 and R_11, (U, R), of which w_0 is in units of its input's deviation."""
    s, omega, nu, K = step.inputs.s, step.inputs.omega, step.activation.nu, step.gain
    R00 = (s[:, None] * first.length / first.size**2).T
    grown = step.laws.update.rest + np.outer(first.own + first.epsilon * moments.mean, K)
    even, signal = (
        (first.epsilon * first.size) ** 2,
        (first.epsilon * first.size * moments.mean) ** 2,
    )
    noise = step.noise_of_moves(moments.square * (even + first.gamma**2 * nu), signal)
    noise = noise / (omega @ K**2)
    R01, R11 = R00 * grown, R00 * grown**2 * first.size[:, None] ** 2 + np.outer(noise, K**2)
    # with what special directions add
    R01 *= (first.along / (R01 @ omega))[:, None]
    R11 *= (first.rho**2 / (R11 @ omega))[:, None]
    return R00, R01, R11


def parts_of_rows(step: Step, first: Types, length: Floats) -> tuple[Floats, Floats]:
    """Return P and Q of a neuron's input along its initial one and across it, of rows of the step.

    They leave the part h of their products with its move.
    """
    held, rest = step.held(length), step.laws.update.rest * first.size
    return rest + held * (first.along - rest), held * first.across


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
    gradient: Floats  # squared length of the gradient, (U,)

    def products(self, R00: Floats, R01: Floats, R11: Floats) -> tuple[Floats, Floats, Floats]:
        """Return R_02, R_12 and R_22."""
        R02 = self.grown * R01 + self.start * R00
        R12 = self.grown * R11 + self.start * R01 + self.shared
        R22 = self.grown * (R12 + self.shared) + self.start * R02 + self.noise
        return R02, R12, np.maximum(R22, MIN_ENERGY)


def relative_length(
    step: Step,
    first: Types,
    moments: StepMoments,
    batch: SecondBatch,
    gamma: Floats,
    coherent: CoherentMoves,
) -> float:
    """Return the length of the second gradient over that of a preconditioned step along it."""
    s, omega, rest, K = step.inputs.s, step.inputs.omega, step.laws.update.rest, step.gain
    slopes = Slopes.of(first, batch, gamma, batch.r[:, None] * batch.slope)
    bulk = bulk_moves(step, first, moments, slopes, 0 * gamma)
    R00, R01, R11 = own_products(step, first, moments)
    _, R12, R22 = bulk.products(R00, R01, R11)
    noise = step.noise_of_moves(1.0) / (omega @ K**2) * (omega @ (K**2 / s))
    learned = coherent.vectors**2 @ (1 / np.tile(s, step.parts.shape[1]))
    learned += noise * np.diag(coherent.gram)
    moved = gamma**2 * learned + (R22 - 2 * rest * R12 + rest**2 * R11) @ (omega / s)
    gradient = gamma**2 * coherent.gradient + bulk.gradient
    return float(np.sqrt((first.weight @ gradient) / (first.weight @ moved)))


def bulk_moves(
    step: Step, first: Types, moments: StepMoments, slopes: Slopes, own: Floats
) -> BulkMoves:
    """Return the moves of a second step off the special directions."""
    rest, omega, K, pre = step.laws.update.rest, step.inputs.omega, step.gain, step.preconditioner
    b, noise, gradient = slopes.bend, slopes.energy, 0 * own
    if pre is not None:
        R00, _, R11 = own_products(step, first, moments)
        if step.laws.update.again:
            return _moves_again(step, pre, first, moments, slopes, rest + np.outer(own, K), R00)
        gradient = pre.phi * noise + b**2 * (R11 @ (omega * step.inputs.s))
        missed = b**2 * (R11 @ (omega * (1 - K) ** 2))
        noise = pre.left_out(noise, b**2 * (R11 @ omega), missed)
    grown = rest + np.outer(own + b, K)
    return BulkMoves(
        grown,
        np.outer(slopes.start, K),
        step.phi0 * np.outer(slopes.shared, K**2),
        step.phi0 * np.outer(noise, K**2),
        grown @ (omega * K) / (omega @ K),
        gradient,
    )


def _moves_again(
    step: Step,
    pre: Preconditioner,
    first: Types,
    moments: StepMoments,
    slopes: Slopes,
    own_moves: Floats,
    R00: Floats,
) -> BulkMoves:
    omega, s, phi, rest = step.inputs.omega, step.inputs.s, pre.phi, step.laws.update.rest
    h, K, b = pre.held(1.0), pre.gain, slopes.bend
    m, mean_m = K / h, pre.trace
    size, b1 = rest * first.size, first.epsilon * first.size * moments.mean
    total = (first.epsilon * first.size) ** 2 + first.gamma**2 * step.activation.nu
    spread, tau = pre.spread, (omega @ K**2) * b / (1 - pre.spread)
    missed = b1**2 * (R00 @ (omega * (1 - K) ** 2))
    first_force = h**2 * pre.left_out(moments.square * total, b1**2, missed)  # Lambda_11
    onto_first = h**2 * (b + phi * tau)
    onto_start = h * (size * b + slopes.start) - h**2 * phi * tau * b1
    # parts of both moves along a weight w_0 of length one, (U, R)
    k1, k2 = np.outer(b1, K), m * (onto_start[:, None] + np.outer(onto_first * b1, K))
    read = size * b + slopes.start
    start1, start2 = ((R00 * k) @ omega for k in (k1, k2))
    m2, m3, m4 = (omega @ m**k for k in (2, 3, 4))
    square1 = (R00 * k1**2) @ omega + phi * first_force * m2
    between = (R00 * k1 * k2) @ omega + phi * onto_first * m3 * first_force
    shared = slopes.shared - b1 * start2 - read * start1 - h * b * square1 + between
    shared = (h**2 * shared - h * phi * tau * first_force) / (1 - spread)  # Lambda_12
    between = between + phi * m2 * shared
    square2 = (R00 * k2**2) @ omega
    square2 += phi * (2 * onto_first * m3 * shared + onto_first**2 * m4 * first_force)
    noise = h**2 * (slopes.energy - 2 * (read * start2 + h * b * between) + square2)
    noise = noise - h * phi * tau * (2 * shared + h * phi * tau * first_force)
    noise = np.maximum(noise / (1 - spread), 0.0)  # Lambda_22
    # the gradient is of z, w_0 and the first move
    z1 = h * (slopes.shared - read * start1 - h * b * square1)
    along = read[:, None] + np.outer(h * b * b1, K)
    gradient = phi * slopes.energy + (R00 * along**2) @ (omega * s)
    gradient += (
        phi * h * b * (h * b * first_force * (omega @ (s * m**2)) + 2 * z1 * (omega @ (s * m)))
    )
    return BulkMoves(
        own_moves + np.outer(onto_first, m),
        np.outer(onto_start - onto_first * size, m),
        phi * np.outer(shared, m**2),
        phi * np.outer(noise, m**2),
        rest + h * tau / mean_m,
        gradient,
    )
