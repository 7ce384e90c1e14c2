r"""Gaussian equivalent of the features of a training row, and of a fresh one.

A training row has moved the weights that it is now read with. Given its index, residual and length,
with :math:`z_0, z_\perp` standard normal,

.. math:: \mathrm{pre} = s\kappa + \sqrt\ell\,(Pz_0 + Qz_\perp)
    + \varphi\ell r\,\gamma g\,(\sigma'(|w|z_0) - c_1)

and a feature is equivalent to

.. math::
    F &= A + B_1\,x\cdot w + B_0\,x\cdot\hat w_0 + \beta\tilde s + C\,\text{noise}, \qquad
    \tilde s = (\sigma'(z_0) - c_1 - 2c_2z_0)/\sqrt\nu \\
    A &= EF,\quad B_1 = E\sigma'(\mathrm{pre}),\quad E[Fz_0] = \sqrt\ell\,(PB_1 + B_0),\quad
    \beta = E[F\tilde s].

A fresh row has r = 0: :math:`B_0 = \beta = 0`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from onegrad.arrays import Floats
from onegrad.functions.averages import gaussian_averages
from onegrad.functions.hermite import gauss_hermite
from onegrad.problem import Problem
from onegrad.theory.uniform.first_step import StepNumbers
from onegrad.theory.uniform.same_rows.neurons import NeuronTypes
from onegrad.theory.uniform.same_rows.training_rows import RowPopulation

ALONG_NODES, ACROSS_NODES = 20, 10  # of z_0 on each side of zero, of z_perp
ALONG_EDGE = 7.0
MIN_ACROSS = 0.3  # Q above which slopes follow from values, E[z f]/Q
NEGLIGIBLE_SLOPE_ENERGY = 1e-9  # nu below which sigma' has no part beyond its linear one
BEND_STEP = 0.25  # of the argument, for E sigma'' of fresh rows, which enters at order 1/d


@dataclass(frozen=True)
class Features:
    """Coefficients of features, each (G, K, U): groups and nodes of rows, types of neurons.

    A, B1, B0, beta, noise : as above; noise is C^2.
    A_by_r, A_by_own : derivatives of A by the residual and by the neuron's own scale.
    bend : E sigma''(pre).
    turn : E[F s], s the normalised fluctuation of z sigma'(z).
    rest : E[F f], f the normalised part of sigma(z_0) beyond degree one.
    """

    A: Floats
    B1: Floats
    B0: Floats
    beta: Floats
    noise: Floats
    A_by_r: Floats
    A_by_own: Floats
    bend: Floats
    turn: Floats
    rest: Floats


def training_features(
    problem: Problem, step: StepNumbers, types: NeuronTypes, rows: RowPopulation
) -> Features:
    """Return the features of rows of the step."""
    sigma, phi = problem.sigma, problem.phi_step
    z0, p0 = _two_panels(ALONG_NODES)
    zq, pq = gauss_hermite(ACROSS_NODES)
    root = np.sqrt(rows.length)[:, None, None]  # (G, 1, 1)
    slope0 = sigma.derivative(z0)
    beyond = slope0 - step.c1 - 2 * step.c2 * z0
    turning = _normalised(z0 * slope0, z0, p0)
    rest = _normalised(sigma(z0), z0, p0, float(sigma.c[1]))
    p_along = p0[:, None] * np.column_stack([np.ones_like(z0), z0, beyond, turning, rest])
    columns: list[tuple[Floats, ...]] = []
    for u in range(len(types.g)):
        own_slope = sigma.derivative(types.size[u] * z0) - types.c1[u]
        share = phi * rows.length[:, None] * types.gamma[u]  # (G, 1): of r, of the own slope
        pre = types.s[u] * rows.kappa[:, :, None] + types.along[u] * root * z0
        pre = pre + (share * rows.residual)[:, :, None] * own_slope  # (G, K, z0)
        across = types.across[u] * root
        pre = pre[..., None] + across[..., None] * zq
        F, slope = sigma(pre), sigma.derivative(pre)
        slope_along = slope @ pq
        F_along = (F @ pq) @ p_along
        A, along, beta, turn, rest_part = np.moveaxis(F_along, -1, 0)
        square = ((F * F) @ pq) @ p0
        F_across = (F @ (pq * zq)) @ p0
        B1 = slope_along @ p0
        slope_z0 = slope_along @ (p0 * z0)
        if types.across[u] > MIN_ACROSS:
            B1 = F_across / across[..., 0]
            bend = (slope @ (pq * zq)) @ p0 / across[..., 0]
        else:
            F_across = B1 * across[..., 0]
            slope_across = (slope @ (pq * zq)) @ p0
            both = types.along[u] * slope_z0 + types.across[u] * slope_across
            bend = both / (types.rho[u] ** 2 * root[..., 0])
        A_by_r = (slope_along @ (p0 * own_slope)) * share
        A_by_own = slope_z0 * types.size[u] * root[..., 0]
        columns.append(
            (A, B1, along, beta, square, F_across, A_by_r, A_by_own, bend, turn, rest_part)
        )
    A, B1, along, beta, square, F_across, A_by_r, A_by_own, bend, turn, rest_part = (
        np.stack(column, -1) for column in zip(*columns, strict=True)
    )
    B0 = along / root - types.along * B1
    beta = beta / np.sqrt(step.nu) if step.nu > NEGLIGIBLE_SLOPE_ENERGY else np.zeros_like(beta)
    noise = np.maximum(square - A**2 - along**2 - F_across**2 - beta**2, 0.0)
    return Features(A, B1, B0, beta, noise, A_by_r, A_by_own, bend, turn, rest_part)


def fresh_features(problem: Problem, types: NeuronTypes, rows: RowPopulation) -> Features:
    """Return the features of rows that the step has not seen."""
    root = np.sqrt(rows.length)[:, None, None]
    mean = types.s * rows.kappa[:, :, None]
    deviation = types.rho * root

    def averages(shift: float) -> tuple[Floats, Floats, Floats]:
        value, slope, square = gaussian_averages(
            problem.sigma, mean + shift, deviation + 0 * mean, 1 / (4 * problem.d)
        )
        return value, slope / deviation, square

    A, B1, square = averages(0.0)
    bend = (averages(BEND_STEP)[1] - averages(-BEND_STEP)[1]) / (2 * BEND_STEP)
    zero = np.zeros_like(A)
    return Features(
        A=A,
        B1=B1,
        B0=zero,
        beta=zero,
        noise=np.maximum(square - A**2 - (B1 * deviation) ** 2, 0.0),
        A_by_r=zero,
        A_by_own=bend * types.along * types.size * root**2,
        bend=bend,
        turn=zero,
        rest=zero,
    )


def _two_panels(k: int) -> tuple[Floats, Floats]:
    """Return a rule for a standard normal, k nodes on each side of zero."""
    t, w = np.polynomial.legendre.leggauss(k)
    x = ALONG_EDGE / 2 * (1 + t)
    p = w * np.exp(-x * x / 2)
    x, p = np.concatenate([-x[::-1], x]), np.concatenate([p[::-1], p])
    return x, p / p.sum()


def _normalised(f: Floats, z: Floats, p: Floats, linear: float | None = None) -> Floats:
    """Return f less its mean and linear part, with unit mean square (zero where it vanishes)."""
    slope = p @ (f * z) if linear is None else linear
    f = f - p @ f - slope * z
    return np.asarray(f / max(float(np.sqrt(p @ f**2)), 1e-9))
