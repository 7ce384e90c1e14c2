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

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from onegrad.arrays import Floats
from onegrad.functions.averages import gaussian_averages
from onegrad.functions.function import Function
from onegrad.functions.hermite import gauss_hermite, gauss_legendre, gaussian_rule
from onegrad.problem import Problem
from onegrad.theory.uniform.first_step import StepNumbers
from onegrad.theory.uniform.same_rows.neurons import NeuronTypes
from onegrad.theory.uniform.same_rows.training_rows import RowPopulation

ALONG_NODES, ACROSS_NODES = 32, 12  # of z_0 and z_perp
KINKED_ALONG_NODES, KINKED_ACROSS_NODES = 12, 12  # the same in each panel between kinks
EDGE = 5.0  # of a panel: P(|z| > 5) = 6e-7
MIN_DEVIATION = 1e-9
MIN_ACROSS = 0.3  # Q above which slopes follow from values, E[z f]/Q
NEGLIGIBLE_SLOPE_ENERGY = 1e-9  # nu below which sigma' has no part beyond its linear one
BEND_STEP = 0.25  # of the argument, for E sigma'' of fresh rows, which enters at order 1/d


@dataclass(frozen=True)
class Features:
    """Coefficients as above, each (G, K, U): groups and nodes of rows, types of neurons."""

    A: Floats
    B1: Floats
    B0: Floats
    beta: Floats
    noise: Floats  # C^2
    A_by_r: Floats  # derivative of A by the residual
    A_by_own: Floats  # and by the neuron's own scale
    bend: Floats  # E sigma''(pre)
    turn: Floats  # E[F s], s the normalised fluctuation of z sigma'(z)
    rest: Floats  # E[F f], f the normalised part of sigma(z_0) beyond degree one


def training_features(
    problem: Problem, step: StepNumbers, types: NeuronTypes, rows: RowPopulation
) -> Features:
    """Return the features of rows of the step."""
    sigma = problem.sigma
    parts = [_features_of_type(problem, step, types, rows, u) for u in range(len(types.g))]
    of = {name: np.stack([part[name] for part in parts], -1) for name in parts[0]}
    root = np.sqrt(rows.length)[:, None, None]
    A, B1, beta = of["A"], of["B1"], of["beyond"]
    if step.nu > NEGLIGIBLE_SLOPE_ENERGY:
        beta = beta / np.sqrt(step.nu)
    else:
        beta = np.zeros_like(beta)
    explained = A**2 + of["along"] ** 2 + of["across"] ** 2 + beta**2
    turn, rest = (_standardised(sigma)[k] for k in ("turn", "rest"))
    return Features(
        A=A,
        B1=B1,
        B0=of["along"] / root - types.along * B1,
        beta=beta,
        noise=np.maximum(of["square"] - explained, 0.0),
        A_by_r=of["A_by_r"],
        A_by_own=of["A_by_own"],
        bend=of["bend"],
        turn=(of["turning"] - turn.mean * A - turn.linear * of["along"]) / turn.deviation,
        rest=(of["value"] - rest.mean * A - rest.linear * of["along"]) / rest.deviation,
    )


def _features_of_type(
    problem: Problem, step: StepNumbers, types: NeuronTypes, rows: RowPopulation, u: int
) -> dict[str, Floats]:
    """Return averages of F and sigma'(pre) of one type, each (G, K).

    A, along, across, square : E F, E[F z_0], E[F z_perp], E F^2.
    beyond, turning, value : E[F s] with s = sigma'(z_0) - c_1 - 2 c_2 z_0, z_0 sigma'(z_0) and
        sigma(z_0).
    B1, bend, A_by_r, A_by_own : as in Features.
    """
    sigma, size, P, Q = problem.sigma, types.size[u], types.along[u], types.across[u]
    root = np.sqrt(rows.length)[:, None]  # (G, 1)
    share = problem.phi_step * root**2 * types.gamma[u]  # of the own slope, times r
    own, centre = share * rows.residual, types.s[u] * rows.kappa  # (G, K)

    def own_slope(z: Floats) -> Floats:
        return sigma.derivative(size * z) - types.c1[u]

    z0, p0 = _along_rule(sigma, size, own_slope, centre, own, P * root)
    pre = centre[..., None] + (P * root)[..., None] * z0 + own[..., None] * own_slope(z0)
    zq, pq = _across_rule(sigma, pre, np.maximum(Q * root, MIN_DEVIATION)[..., None])
    pre = pre[..., None] + (Q * root)[..., None, None] * zq
    F, slope = sigma(pre), sigma.derivative(pre)
    mean_F, mean_slope = _average(F, pq), _average(slope, pq)  # (G, K, z0)
    slope0 = sigma.derivative(z0)
    B1, across = _average(mean_slope, p0), _average(_average(F, pq * zq), p0)
    slope_along = _average(mean_slope, p0 * z0)
    slope_across = _average(_average(slope, pq * zq), p0)
    if Q > MIN_ACROSS:  # by parts
        B1, bend = across / (Q * root), slope_across / (Q * root)
    else:
        across, bend = B1 * Q * root, (P * slope_along + Q * slope_across) / ((P**2 + Q**2) * root)
    return {
        "A": _average(mean_F, p0),
        "along": _average(mean_F, p0 * z0),
        "across": across,
        "square": _average(_average(F * F, pq), p0),
        "beyond": _average(mean_F, p0 * (slope0 - step.c1 - 2 * step.c2 * z0)),
        "turning": _average(mean_F, p0 * (z0 * slope0)),
        "value": _average(mean_F, p0 * sigma(z0)),
        "B1": B1,
        "bend": bend,
        "A_by_r": _average(mean_slope, p0 * own_slope(z0)) * share,
        "A_by_own": slope_along * size * root,
    }


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


@dataclass(frozen=True)
class _LinearPart:
    """Mean, linear part and deviation of the rest of a function of a standard normal."""

    mean: float
    linear: float
    deviation: float


@lru_cache(maxsize=64)
def _standardised(sigma: Function) -> dict[str, _LinearPart]:
    """Return the linear parts of z sigma'(z) and of sigma(z)."""
    z, p = gaussian_rule(sigma.kinks)

    def linear_part(f: Floats) -> _LinearPart:
        mean, linear = float(p @ f), float(p @ (f * z))
        rest = f - mean - linear * z
        return _LinearPart(mean, linear, max(float(np.sqrt(p @ rest**2)), MIN_DEVIATION))

    return {"turn": linear_part(z * sigma.derivative(z)), "rest": linear_part(sigma(z))}


def _average(values: Floats, weights: Floats) -> Floats:
    """Return sums over the last axis; weights may be the same for all or one set for each."""
    if weights.ndim == 1:
        return values @ weights
    return np.einsum("...z,...z->...", values, weights)


def _along_rule(
    sigma: Function,
    size: float,
    own_slope: Callable[[Floats], Floats],
    centre: Floats,
    own: Floats,
    deviation: Floats,
) -> tuple[Floats, Floats]:
    """Return nodes of z_0 and their probabilities: panels that end at kinks of the features.

    Kinks are those of the own slope, and of the activation at the features themselves.
    """
    if not sigma.kinks:
        return gauss_hermite(ALONG_NODES)
    ends = np.clip([-np.inf, *(np.array(sorted(sigma.kinks)) / size), np.inf], -EDGE, EDGE)
    shape = centre.shape
    breaks = [np.full(shape, -EDGE)]
    for low, high in itertools.pairwise(ends):
        slope = own_slope(np.array([np.clip((low + high) / 2, low + 0.1, high - 0.1)]))[0]
        for kink in sorted(sigma.kinks):
            at = (kink - centre - own * slope) / deviation
            breaks.append(np.clip(at, low, high) + np.zeros(shape))
        breaks.append(np.full(shape, high))
    return _panels(np.stack(breaks, -1), KINKED_ALONG_NODES)


def _across_rule(sigma: Function, mean: Floats, deviation: Floats) -> tuple[Floats, Floats]:
    """Return nodes of z_perp and their probabilities, in panels between the kinks."""
    if not sigma.kinks:
        return gauss_hermite(ACROSS_NODES)
    kinks = np.array([-np.inf, *sorted(sigma.kinks), np.inf])
    breaks = np.clip((kinks - mean[..., None]) / deviation[..., None], -EDGE, EDGE)
    return _panels(breaks, KINKED_ACROSS_NODES)


def _panels(breaks: Floats, nodes: int) -> tuple[Floats, Floats]:
    """Return Gauss-Legendre nodes of a standard normal in panels between breaks, (..., panels)."""
    t, w = gauss_legendre(nodes)
    breaks = np.sort(breaks, -1)
    half = np.diff(breaks, axis=-1)[..., None] / 2
    x = breaks[..., :-1, None] + half * (1 + t)
    p = np.exp(-x * x / 2)
    p *= half * w
    x, p = (v.reshape(*breaks.shape[:-1], -1) for v in (x, p))
    return x, p / p.sum(-1, keepdims=True)
