r"""Gaussian equivalent of the features of rows of the step, and of others.

A row of the step has moved the weights that it is now read with. Given its index, residual and
length, with :math:`z_0, z_\perp` standard normal, the parts P of a neuron's input along its initial
one and Q across it,

.. math::
    \mathrm{pre} = s\kappa + \sqrt\ell\,(Pz_0 + Qz_\perp)
    + \varphi_0\ell r\,\gamma_g\,(\sigma'(|w|z_0) - c_1)

and a feature is equivalent to

.. math::
    F &= A + B_1\,x\cdot w + B_0\,x\cdot\hat w_0 + \beta\tilde s + C\,\text{noise}, \qquad
    \tilde s = (\sigma'(z_0) - c_1 - 2c_2z_0)/\sqrt\nu \\
    A &= EF,\quad B_1 = E\sigma'(\mathrm{pre}),\quad E[Fz_0] = \sqrt\ell\,(PB_1 + B_0),\quad
    \beta = E[F\tilde s].

After a preconditioned step the part :math:`h_\ell` of a row's product with the move is left, in
:math:`P - 1` and Q, and :math:`\varphi_0m\ell h_\ell` takes the place of :math:`\varphi_0\ell`
(`preconditioner`).

Other rows have r = 0: :math:`B_0 = \beta = 0`, and the mean over a neuron's random weight along v
is exact: the input has the variance :math:`\ell\rho^2 + V(\kappa^2 - 1)`. Where V is a large part
of :math:`\rho^2`, its Hermite parts of degree three and more are read by variables of their own
(`chaos`).
"""

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import numpy as np

from onegrad.arrays import Floats
from onegrad.functions.averages import gaussian_averages
from onegrad.functions.function import Function
from onegrad.functions.hermite import gauss_hermite, gaussian_rule, normalised_hermite, panel_rule
from onegrad.theory.uniform.laws.neurons import Types
from onegrad.theory.uniform.laws.rows import Population
from onegrad.theory.uniform.step import Step

ALONG_NODES, ACROSS_NODES = 32, 8  # of z_0 and z_perp
# of z_0 where a row's own part moves the input by more than this: with 32, sin was .4 % off at 2.5
MANY_ALONG_NODES, LARGE_OWN_PART = 64, 2.0
KINKED_ALONG_NODES, KINKED_ACROSS_NODES = 12, 12  # the same in each panel between kinks
EDGE = 5.0  # of a panel: P(|z| > 5) = 6e-7
MIN_PANEL_DEVIATION = 1e-9
MIN_ACROSS = 0.3  # Q above which slopes follow from values, E[z f]/Q
MIN_REST = 3e-5  # deviation of sigma(z) beyond its linear part, that is read
NEGLIGIBLE_SLOPE_ENERGY = 1e-9  # nu below which sigma' has no part beyond its linear one
BEND_STEP = 0.25  # of the argument, for E sigma'' of fresh rows, which enters at order 1/d
MIN_VARIANCE = 0.02  # of the input, over rho^2, where the index is small
# share of the weight along v in rho^2 from which its Hermite parts are looked at, the strength
# relative to the noise of features from which one is read, and the largest degree; not tuned
CHAOS_SHARE, CHAOS_STRENGTH, MAX_CHAOS = 0.03, 0.03, 8
CHAOS_NODES = 141


@dataclass(frozen=True)
class Features:
    """Coefficients as above, each (G, K, U): groups and nodes of rows, types of neurons."""

    A: Floats
    B1: Floats
    noise: Floats  # C^2
    bend: Floats  # E sigma''(pre)
    third: Floats  # E sigma'''(pre), of fresh rows
    A_by_own: Floats  # derivative of A by the neuron's own scale
    A_by_length: Floats  # and by the relative length of its initial weight
    noise_by_length: Floats  # the same of C^2
    chaos: tuple[Floats, ...] = field(default=(), kw_only=True)
    products: tuple[Floats, ...] = field(default=(), kw_only=True)  # readings of products of inputs


@dataclass(frozen=True)
class StepFeatures(Features):
    """Coefficients of rows of the step."""

    B0: Floats
    beta: Floats
    A_by_r: Floats  # derivative of A by the residual
    turn: Floats  # E[F s], s the normalised fluctuation of z sigma'(z)
    # E[F f], f the normalised part of sigma(z_0) beyond degree one; and that of the features after
    # a first step
    rests: tuple[Floats, ...]


def features_of_step(
    step: Step, types: Types, rows: Population, f: Function | None = None
) -> StepFeatures:
    """Return the features of rows of the step: f of the input, by default the activation."""
    sigma, nu = step.laws.neurons.activation, step.activation.nu
    parts = [_features_of_type(step, types, rows, u, f or sigma) for u in range(len(types.g))]
    of = {name: np.stack([part[name] for part in parts], -1) for name in parts[0]}
    A, B1, beta = of["A"], of["B1"], of["beyond"]
    beta = beta / np.sqrt(nu) if nu > NEGLIGIBLE_SLOPE_ENERGY else np.zeros_like(beta)
    explained = A**2 + of["along"] ** 2 + of["across"] ** 2 + beta**2
    explained_by_length = sum(
        of[name] * of[f"{name}_by_length"] for name in ("A", "along", "across")
    )
    turn, rest = (standardised(sigma)[k] for k in ("turn", "rest"))
    return StepFeatures(
        A=A,
        B1=B1,
        third=np.zeros_like(A),
        B0=of["initial"],
        beta=beta,
        noise=np.maximum(of["square"] - explained, 0.0),
        A_by_r=of["A_by_r"],
        A_by_own=of["A_by_own"],
        A_by_length=of["A_by_length"],
        noise_by_length=of["square_by_length"] - 2 * explained_by_length,
        bend=of["bend"],
        turn=turn.of(of["turning"], A, of["along"]),
        rests=(rest.of(of["value"], A, of["along"]),),
    )


def parts_of_rows(step: Step, types: Types, length: Floats) -> tuple[Floats, Floats]:
    """Return P and Q of rows of the step, (G, U): they leave the part h of products with a move."""
    held, rest = step.kept_fraction(length), step.laws.update.rest * types.size
    return rest + held * (types.along - rest), held * types.across


def _features_of_type(
    step: Step, types: Types, rows: Population, u: int, f: Function
) -> dict[str, Floats]:
    """Return averages of F = f(pre) and f'(pre) of one type, each (G, K).

    A, along, across, square : E F, E[F z_0], E[F z_perp], E F^2.
    beyond, turning, value : E[F s] with s = sigma'(z_0) - c_1 - 2 c_2 z_0, z_0 sigma'(z_0) and
        sigma(z_0).
    B1, bend, A_by_r, A_by_own : as in Features.
    A_by_length, along_by_length, across_by_length, square_by_length : derivatives by the relative
        length of the initial weight.
    """
    sigma, numbers = step.laws.neurons.activation, step.activation
    size, root = types.size[u], np.sqrt(rows.length)[:, None]  # (G, 1)
    held = step.kept_fraction(root**2)
    P, Q = (part[..., [u]] for part in parts_of_rows(step, types, root**2))
    share = step.own_share(root**2) * types.gamma[u]  # of the own slope, times r
    own, centre = share * rows.residual, types.s[u] * rows.kappa  # (G, K)
    if rows.second is not None:
        assert types.initial is not None
        centre = centre + types.initial.along_second[u] * rows.second

    def own_slope(z: Floats) -> Floats:
        return sigma.derivative(size * z) - types.c1[u]

    z0, p0 = _along_rule(sigma, size, own_slope, centre, own, P * root)
    pre = centre[..., None] + (P * root)[..., None] * z0 + own[..., None] * own_slope(z0)
    zq, pq = across_rule(sigma, pre, np.maximum(Q * root, MIN_PANEL_DEVIATION)[..., None])
    pre = pre[..., None] + (Q * root)[..., None, None] * zq
    F, slope = f(pre), f.derivative(pre)
    mean_F, mean_slope = _average(F, pq), _average(slope, pq)  # (G, K, z0)
    slope0 = sigma.derivative(z0)
    B1, across = _average(mean_slope, p0), _average(_average(F, pq * zq), p0)
    slope_along = _average(mean_slope, p0 * z0)
    slope_across = _average(_average(slope, pq * zq), p0)
    if np.min(Q) > MIN_ACROSS:  # by parts
        B1, bend = across / (Q * root), slope_across / (Q * root)
    else:
        across, bend = B1 * Q * root, (P * slope_along + Q * slope_across) / ((P**2 + Q**2) * root)
    along = _average(mean_F, p0 * z0)
    # what the input grows by with that length, over z_0 and z_perp
    longer = P * root
    wider = (
        held * (types.grown[u] - types.along[u] ** 2) / max(types.across[u], MIN_PANEL_DEVIATION)
    )
    wider = wider * root
    slope_both = _average(_average(slope, pq * zq), p0 * z0)
    own_across = size * (types.own_reading[u] - types.along[u])
    return {
        "A": _average(mean_F, p0),
        "along": along,
        "initial": along / root - P * B1,
        "across": across,
        "square": _average(_average(F * F, pq), p0),
        "beyond": _average(mean_F, p0 * (slope0 - numbers.c1 - 2 * numbers.c2 * z0)),
        "turning": _average(mean_F, p0 * (z0 * slope0)),
        "value": _average(mean_F, p0 * sigma(z0)),
        "B1": B1,
        "bend": bend,
        "A_by_r": _average(mean_slope, p0 * own_slope(z0)) * share,
        "A_by_own": slope_along * size * root + bend * own_across * root**2,
        "A_by_length": slope_along * longer + slope_across * wider,
        "along_by_length": _average(mean_slope, p0 * z0**2) * longer + slope_both * wider,
        "across_by_length": slope_both * longer + _average(_average(slope, pq * zq**2), p0) * wider,
        "square_by_length": 2 * _average(_average(F * slope, pq), p0 * z0) * longer
        + 2 * _average(_average(F * slope, pq * zq), p0) * wider,
    }


def fresh_features(step: Step, types: Types, rows: Population, plane: Floats) -> Features:
    """Return the features of rows that the step has not seen.

    plane : covariance of random weights along special directions, (U, p, p).
    """
    along_v = plane[:, 0, 0]
    sigma = step.laws.neurons.activation
    square_length, kappa = rows.length[:, None, None], rows.kappa[:, :, None]
    special = np.tile(step.inputs.scales[0], 2)[:, None, None]
    longer, shorter = np.split(rows.length, 2)
    deviation_of_length = abs(float((longer / shorter - 1)[0] / (longer / shorter + 1)[0]))
    mean = types.bias + types.s * kappa
    variance = types.rho**2 * square_length + along_v * (kappa**2 - special)
    if rows.second is not None:
        assert types.initial is not None and types.initial.second is not None
        t, on_second = rows.second[:, :, None], plane @ types.initial.second
        mean = mean + types.initial.along_second * t
        V = on_second @ types.initial.second
        if step.inputs.isotropic:
            V = V - types.rho**2 / step.inputs.d
        variance = variance + V * (t**2 - square_length) + 2 * on_second[:, 0] * kappa * t
    deviation = np.sqrt(np.maximum(variance, MIN_VARIANCE * types.rho**2))

    features = averaged_features(sigma, types, square_length, mean, deviation, deviation_of_length)
    noise = features.noise
    chaos: tuple[Floats, ...] = ()
    if (along_v / types.rho**2).max() > CHAOS_SHARE:
        quadratic = along_v * features.bend * (kappa**2 - step.inputs.isotropic)
        noise = np.maximum(noise - quadratic**2 / 2, 0.0)  # products are read (`fit`)
        chaos = (
            ()
            if step.laws.same_rows
            else _hermite_parts(
                step, types, rows, mean, deviation, np.sqrt(along_v) * kappa / deviation, noise
            )
        )
        for part in chaos:
            noise = np.maximum(noise - part**2, 0.0)
    return replace(features, noise=noise, chaos=chaos)


def averaged_features(
    sigma: Function,
    types: Types,
    length: Floats,
    mean: Floats,
    deviation: Floats,
    deviation_of_length: float,
) -> Features:
    r"""Return the features sigma(m + s z) of rows that no step has seen.

    .. math:: C^2 = E\sigma^2 - A^2 - s^2B_1^2, \qquad
        \frac{\partial}{\partial s^2}Ef(m + sz) = \frac12\frac{\partial^2}{\partial m^2}Ef(m + sz)

    See tests/theory/uniform/test_the_theory_says_where_it_ends.py.
    """

    def averages(shift: float) -> tuple[Floats, Floats, Floats]:
        value, slope, square = gaussian_averages(
            sigma, mean + shift, deviation, deviation_of_length**2 / 8
        )
        return value, slope / deviation, square

    (A, B1, square), above, below = averages(0.0), averages(BEND_STEP), averages(-BEND_STEP)
    bend = (above[1] - below[1]) / (2 * BEND_STEP)
    third = (above[1] - 2 * B1 + below[1]) / BEND_STEP**2
    square_by_variance = (above[2] - 2 * square + below[2]) / (2 * BEND_STEP**2)
    variance = deviation**2
    noise_by_variance = square_by_variance - A * bend - B1**2 - variance * B1 * third
    by_length = 2 * types.grown * length  # derivative of the variance
    return Features(
        A=A,
        B1=B1,
        noise=np.maximum(square - A**2 - variance * B1**2, 0.0),
        bend=bend,
        third=third,
        A_by_own=bend * types.own_reading * types.size * length,
        A_by_length=bend / 2 * by_length,
        noise_by_length=noise_by_variance * by_length,
    )


def _hermite_parts(
    step: Step,
    types: Types,
    rows: Population,
    mean: Floats,
    deviation: Floats,
    ratio: Floats,  # of the deviation of the weight along v, times the index, to the input's
    noise: Floats,
) -> tuple[Floats, ...]:
    r"""Return :math:`(\sqrt V\kappa)^kE\sigma^{(k)}/\sqrt{k!}`, k >= 3, of those that count."""
    z = np.linspace(-7, 7, CHAOS_NODES)
    p = np.exp(-z * z / 2)
    values = step.laws.neurons.activation(mean[..., None] + deviation[..., None] * z) * (
        p / p.sum()
    )
    total = max(float(np.tensordot(rows.mass, noise, axes=2) @ types.weight), 1e-12)
    polynomials = normalised_hermite(z, MAX_CHAOS)
    parts = []
    for k in range(3, MAX_CHAOS + 1):
        part = ratio**k * (values @ polynomials[k])
        size = float(np.tensordot(rows.mass, part**2, axes=2) @ types.weight)
        if step.laws.neurons.N * size > CHAOS_STRENGTH * total:
            parts.append(part)
    return tuple(parts)


@dataclass(frozen=True)
class _LinearPart:
    """Mean, linear part and deviation of the rest of a function of a standard normal."""

    mean: float
    linear: float
    deviation: float

    def of(self, value: Floats, mean: Any, along: Floats) -> Floats:
        """Return E[F rest] of features F, from E[F f], E F and E[F z]."""
        if self.deviation == 0.0:
            return np.zeros_like(value)
        return (value - self.mean * mean - self.linear * along) / self.deviation


@lru_cache(maxsize=64)
def standardised(sigma: Function) -> dict[str, _LinearPart]:
    """Return the linear parts of z sigma'(z) and of sigma(z)."""
    z, p = gaussian_rule(sigma.kinks)

    def linear_part(f: Floats) -> _LinearPart:
        mean, linear = float(p @ f), float(p @ (f * z))
        rest = f - mean - linear * z
        deviation = float(np.sqrt(p @ rest**2))
        return _LinearPart(mean, linear, deviation if deviation > MIN_REST else 0.0)

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
        large = np.abs(own).max() > LARGE_OWN_PART
        return gauss_hermite(MANY_ALONG_NODES if large else ALONG_NODES)
    ends = np.clip([-np.inf, *(np.array(sorted(sigma.kinks)) / size), np.inf], -EDGE, EDGE)
    shape = centre.shape
    breaks = [np.full(shape, -EDGE)]
    for low, high in itertools.pairwise(ends):
        slope = own_slope(np.array([np.clip((low + high) / 2, low + 0.1, high - 0.1)]))[0]
        for kink in sorted(sigma.kinks):
            at = (kink - centre - own * slope) / deviation
            breaks.append(np.clip(at, low, high) + np.zeros(shape))
        breaks.append(np.full(shape, high))
    return panels(np.stack(breaks, -1), KINKED_ALONG_NODES)


def across_rule(sigma: Function, mean: Floats, deviation: Floats) -> tuple[Floats, Floats]:
    """Return nodes of z_perp and their probabilities, in panels between the kinks."""
    if not sigma.kinks:
        return gauss_hermite(ACROSS_NODES)
    kinks = np.array([-np.inf, *sorted(sigma.kinks), np.inf])
    breaks = np.clip((kinks - mean[..., None]) / deviation[..., None], -EDGE, EDGE)
    return panels(breaks, KINKED_ACROSS_NODES)


def panels(breaks: Floats, nodes: int) -> tuple[Floats, Floats]:
    """Return Gauss-Legendre nodes of a standard normal in panels between breaks, (..., panels)."""
    x, lengths = panel_rule(np.sort(breaks, -1), nodes)
    p = np.exp(-x * x / 2)
    p *= lengths
    return x, p / p.sum(-1, keepdims=True)
