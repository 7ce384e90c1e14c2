r"""Rows of ridge that steps have seen, where there are two.

A row has moved the weights that it is read with once (rows of the first of two batches) or twice
(one batch): with :math:`\mathrm{pre}^1` as in `features`, :math:`x\cdot w^2 =
\sqrt\ell\,(p_{20}z_0 + p_{21}z_1 + Q_2z_2)` off the special directions, and the factor
:math:`\hat k` of weights after the first step in those after the second,

.. math::
    \mathrm{pre}^2 = s\cdot X + \sqrt\ell\,(p_{20}z_0 + p_{21}z_1 + Q_2z_2)
    + \varphi_0\ell\big[r\gamma_1\hat k\,(\sigma'(z_0) - c_1)
    + \gamma_2(r\,\sigma'(\mathrm{pre}^1) - q_{coherent})\big]

and a feature is equivalent to

.. math::
    F &= A + B_2\,x\cdot w^2 + B_1\,x\cdot w^1 + B_0\,x\cdot\hat w_0 + \beta_0\tilde s_0
    + \beta_1\tilde s_1 + C\,\text{noise} \\
    B_1' &= B_1 - p\gamma_2D_1B_2,\qquad p = \varphi_0\ell r \\
    e &= \big(B_2,\ B_1',\ B_0 - pB_2(\hat k\varepsilon + \gamma_2D_{00}) - pB_1'\varepsilon\big) \\
    b &= \big(\beta_0 - pB_2(\gamma_1\hat k\sqrt\nu + \gamma_2\delta) - pB_1'\gamma_1\sqrt\nu,\
    \beta_1 - pB_2\gamma_2\sqrt{\nu_2}\big) .
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy

from onegrad.arrays import Floats
from onegrad.functions.averages import gaussian_averages
from onegrad.functions.function import Function
from onegrad.functions.hermite import gauss_hermite
from onegrad.theory.uniform.features import (
    ACROSS_NODES,
    EDGE,
    KINKED_ALONG_NODES,
    MIN_PANEL_DEVIATION,
    NEGLIGIBLE_SLOPE_ENERGY,
    StepFeatures,
    across_rule,
    panels,
    parts_of_rows,
    standardised,
)
from onegrad.theory.uniform.laws.rows import Population, RowVariables, joint_moments, with_nodes
from onegrad.theory.uniform.pencil import Forms
from onegrad.theory.uniform.rules import product_rule
from onegrad.theory.uniform.second_step import SecondStep, with_new_coordinates

INITIAL_NODES = 24  # of z_0
# of the combinations of coordinates that move features most, given index and residual, by their
# strength over rho
SUBNODES = ((0.5, 5), (0.1, 3), (0.02, 2))
MAX_SUBAXES = 2
MIN_SHARE_OF_GROUP = 1e-3  # of a group in the mean square of such a combination, that has nodes
TABLE_SPACING, MIN_TABLE_DEVIATION = 0.06, 0.02  # of means of features over z_2
MIN_Q1 = 1e-3  # Q_1 below which nothing is across
MIN_LATENT = 1e-10  # nu_2


@dataclass(frozen=True)
class SeenFeatures(StepFeatures):
    """Features of rows that two steps have seen."""

    B2: Floats
    beta1: Floats


def seen_rows(
    second: SecondStep, rows: Population, variables: RowVariables
) -> tuple[Population, Floats]:
    """Return rows of ridge with nodes of what moves features, and their coordinates, (G, K, p).

    rows : by index and residual, with the row variables of the first step.
    """
    again = second.step.laws.update.again
    p = variables.directions
    moments = with_new_coordinates(second, rows.length, joint_moments(rows), again)
    # nodes of the coordinates
    covariance = moments - moments[:, 0, :, None] * moments[:, 0, None]
    shares, at = rows.mass[:, 0] / rows.mass.sum(), slice(1, 1 + p)
    strengths = np.sqrt(second.types.weight)[:, None] * second.weights
    strengths = strengths / second.types.rho[:, None]
    slopes, rules = list[Floats](), list[tuple[Floats, Floats]]()
    for _ in range(MAX_SUBAXES):
        average = np.tensordot(shares, covariance[:, at, at], axes=1)
        sizes, vectors = np.linalg.eigh(strengths @ average @ strengths.T)
        strength = float(np.sqrt(max(sizes[-1], 0.0)))
        nodes = next((k for least, k in SUBNODES if strength > least), 1)
        if nodes == 1:
            break
        direction = strengths.T @ vectors[:, -1]
        lean = covariance[:, :, at] @ direction
        square = (lean[:, at] @ direction)[:, None]  # may be rounding
        has_share = square > MIN_SHARE_OF_GROUP * strength**2
        slope = np.where(has_share, lean / np.sqrt(np.where(has_share, square, 1.0)), 0.0)
        slopes.append(slope)
        rules.append(gauss_hermite(nodes))
        covariance = covariance - slope[:, :, None] * slope[:, None]
    axes, weight = product_rule(rules) if rules else (np.zeros((0, 1)), np.ones(1))
    population = with_nodes(rows, moments, slopes, axes, weight)
    return population, population.moments[..., 0, at]


def seen_features(second: SecondStep, rows: Population, X: Floats, kappa: Floats) -> SeenFeatures:
    """Return the features of rows that steps have seen.

    kappa : (G,) their index at the first step.
    """
    nu, sigma = second.step.activation.nu, second.step.laws.neurons.activation
    parts = [_features_of_type(second, rows, X, kappa, u) for u in range(len(second.gamma))]
    of = {name: np.stack([part[name] for part in parts], -1) for name in parts[0]}
    A, root = of["A"], np.sqrt(rows.length)[:, None, None]
    types = second.types
    P1, Q1, p20, p21, Q2 = (x[:, None] for x in _decomposition(second, rows.length))
    B2, large = of["slope"], Q1 > MIN_Q1
    Q1 = np.maximum(Q1, MIN_Q1)
    B1 = np.where(large, (of["across"] / root - p21 * B2) / Q1, 0.0)
    B0 = of["along"] / root - p20 * B2 - P1 * B1
    beta0 = of["beyond"] / np.sqrt(nu) if nu > NEGLIGIBLE_SLOPE_ENERGY else 0 * A
    explained = A**2 + of["along"] ** 2 + of["across"] ** 2 + (root * Q2 * B2) ** 2
    explained = explained + beta0**2 + of["latent"] ** 2
    slope, bend = of["slope_along"] * root, of["bend"] * root**2
    own_across = types.size * (types.own_reading - types.along)
    turn, rest = (standardised(sigma)[k] for k in ("turn", "rest"))
    return SeenFeatures(
        A=A,
        B1=B1,
        noise=np.maximum(of["square"] - explained, 0.0),
        bend=of["bend"],
        third=0 * A,
        A_by_own=slope * types.size + bend * own_across,
        A_by_length=slope * types.along + bend * (types.grown - types.along**2),
        noise_by_length=0 * A,
        B0=B0,
        beta=beta0,
        A_by_r=0 * A,
        turn=turn.of(of["turning"], A, of["along"]),
        rests=(rest.of(of["value"], A, of["along"]), of["output"]),
        B2=B2,
        beta1=of["latent"],
    )


def _decomposition(second: SecondStep, length: Floats) -> tuple[Floats, ...]:
    """Return P_1, Q_1, p_20, p_21 and Q_2 of rows, (G, U) each."""
    step, first, types = second.step, second.first, second.types
    P1, Q1 = first.along, first.across
    p21 = (second.between - P1 * types.along) / np.maximum(Q1, MIN_Q1)
    p21 = np.where(Q1 > MIN_Q1, p21, 0.0)
    Q2 = np.sqrt(np.maximum(types.rho**2 - types.along**2 - p21**2, 0.0))
    P, Q = parts_of_rows(step, first, length[:, None])
    each = np.zeros((len(length), 1))
    return tuple(part + each for part in (P, Q, types.along, p21, Q2))


def _features_of_type(
    second: SecondStep, rows: Population, X: Floats, kappa: Floats, u: int
) -> dict[str, Floats]:
    """Return averages of F of one type, (G, K), each.

    A, slope, bend, square : E F, E F', E F'' and E F^2.
    along, across, slope_along : E[F z_0], E[F z_1], E[F' z_0].
    beyond, latent, turning, value : E[F s] with s = sigma'(z_0) - c_1 - 2 c_2 z_0, s_1,
        z_0 sigma'(z_0) and sigma(z_0).
    output : the same with f_perp of the output after the first step.
    """
    step, first, batch = second.step, second.first, second.batch
    sigma, numbers, again = step.laws.neurons.activation, step.activation, step.laws.update.again
    size, gamma1, gamma2 = first.size[u], first.gamma[u], second.gamma[u]
    root = np.sqrt(rows.length)[:, None]
    P1, Q1, p20, p21, Q2 = (part[:, u, None] for part in _decomposition(second, rows.length))
    share = step.own_share(rows.length)
    own = share * rows.residual[:, 0]  # p
    z0, p0 = _along_rule(sigma, size)
    slope0 = sigma.derivative(size * z0) - first.c1[u]
    beyond = sigma.derivative(z0) - numbers.c1 - 2 * numbers.c2 * z0
    pre1 = (first.s[u] * kappa + 0.0)[:, None] + root * P1 * z0
    pre1 = pre1 + (own * gamma1)[:, None] * slope0
    z1, p1 = gauss_hermite(ACROSS_NODES)
    if again:
        z1, p1 = across_rule(sigma, pre1, np.maximum(Q1 * root, MIN_PANEL_DEVIATION) + 0 * pre1)
    z1, p1 = (np.broadcast_to(v, (*pre1.shape, v.shape[-1])) for v in (z1, p1))
    base = root * p20 * z0 + (own * gamma1 * second.growth[u])[:, None] * slope0
    pre2 = base[..., None] + (p21 * root)[..., None] * z1
    latent = output = np.zeros_like(pre2)
    if again:
        pre1 = pre1[..., None] + (Q1 * root)[..., None] * z1
        slope1 = sigma.derivative(pre1)
        D0, D1 = batch.slope[:, u], batch.bend[:, u]
        delta = batch.pushed[:, u] + own * gamma1 * np.sqrt(numbers.nu) * D1
        along = root[:, 0] * (P1[:, 0] * D1 + batch.start[:, u])
        share = share * gamma2
        pre2 = pre2 + (share * batch.r)[:, None, None] * slope1
        pre2 = pre2 - (share * second.coherent[:, u])[:, None, None]
        s0 = beyond / np.sqrt(numbers.nu) if numbers.nu > NEGLIGIBLE_SLOPE_ENERGY else 0 * z0
        latent = slope1 - (D0[:, None] + along[:, None] * z0 + delta[:, None] * s0)[..., None]
        latent = latent - ((root * Q1)[:, 0] * D1)[:, None, None] * z1
        if batch.output is not None:
            f = standardised(sigma)["rest"].of(sigma(z0), 1.0, z0)
            output = batch.output.rest(sigma(pre1), u, z0[:, None], z1, f[:, None])
        nu2 = batch.noise[:, u][:, None, None]
        latent = np.where(nu2 > MIN_LATENT, latent / np.sqrt(np.maximum(nu2, MIN_LATENT)), 0.0)
    weight = (p0[:, None] * p1).reshape(len(pre2), -1)
    tests = {
        "one": np.ones_like(pre2),
        "along": z0[:, None] + 0 * z1,
        "across": z1,
        "beyond": beyond[:, None] + 0 * z1,
        "latent": latent,
        "turning": (z0 * sigma.derivative(z0))[:, None] + 0 * z1,
        "value": sigma(z0)[:, None] + 0 * z1,
        "output": output,
    }
    W = np.stack([v.reshape(len(pre2), -1) * weight for v in tests.values()], -1)
    centre = X @ second.weights[u]
    mean = centre[..., None] + pre2.reshape(len(pre2), 1, -1)
    table = np.empty((*mean.shape, 4))
    for length in np.unique(rows.length):
        here = rows.length == length
        table[here] = _averaged(sigma, mean[here], float((root * Q2)[here][0, 0]))
    of_F = table[..., 0] @ W  # (G, K, tests)
    ones, slopes = W[:, None, :, 0], table[..., 1]
    return {
        "A": of_F[..., 0],
        "slope": (slopes * ones).sum(-1),
        "bend": (table[..., 3] * ones).sum(-1),
        "square": (table[..., 2] * ones).sum(-1),
        "slope_along": (slopes @ W[..., 1:2])[..., 0],
        **{name: of_F[..., k] for k, name in enumerate(tests) if k},
    }


def _along_rule(sigma: Function, size: float) -> tuple[Floats, Floats]:
    """Return nodes of z_0 and their probabilities."""
    if not sigma.kinks:
        return gauss_hermite(INITIAL_NODES)
    ends = np.clip(np.array([-np.inf, *sorted(sigma.kinks), np.inf]) / size, -EDGE, EDGE)
    return panels(ends, KINKED_ALONG_NODES)


def _averaged(sigma: Function, mean: Floats, deviation: float) -> Floats:
    """Return E F, E F', E F^2 and E F'' at means, from a table of one variable."""
    deviation = max(deviation, MIN_TABLE_DEVIATION)
    spacing = min(TABLE_SPACING, deviation / 4)
    low, high = mean.min() - spacing, mean.max() + spacing
    grid = np.linspace(low, high, int((high - low) / spacing) + 8)
    value, slope, square = gaussian_averages(sigma, grid, np.full_like(grid, deviation))
    slope = slope / deviation
    bend = scipy.interpolate.CubicSpline(grid, slope)(grid, 1)
    averages = np.stack([value, slope, square, bend], 1)
    return np.asarray(scipy.interpolate.CubicSpline(grid, averages)(mean))


def seen_forms(second: SecondStep, forms: Forms, rows: Population, f: SeenFeatures) -> Forms:
    """Return forms of the steps with the loss of rows of ridge.

    forms : of the same groups without loss.
    """
    step, first, batch = second.step, second.first, second.batch
    again, gamma = step.laws.update.again, second.gamma
    own = (step.own_share(rows.length[:, None]) * rows.residual)[..., None]
    own2 = (step.own_share(batch.length) * batch.r)[:, None, None] if again else own
    latent = first.gamma * np.sqrt(step.activation.nu)
    beta0 = f.beta - own * f.B2 * second.growth * latent
    B0 = f.B0 - own * f.B2 * second.growth * first.epsilon * first.size
    B1 = f.B1
    noise = pushed = np.zeros((len(rows.r), len(gamma)))
    if again:
        delta = batch.pushed[:, None] + own * latent * batch.bend[:, None]
        B1 = B1 - own2 * gamma * batch.bend[:, None] * f.B2
        B0 = B0 - own2 * f.B2 * gamma * batch.start[:, None]
        beta0 = beta0 - own2 * f.B2 * gamma * delta
        pushed, noise = gamma * batch.pushed, gamma * np.sqrt(batch.noise)
    B0 = B0 / first.size - own * B1 * first.epsilon
    beta0 = beta0 - own * B1 * latent
    beta1 = f.beta1 - own2 * f.B2 * noise[:, None]
    e = np.stack([f.B2, B1, B0, np.zeros_like(B0), np.zeros_like(B0)], 2)
    push = np.zeros((*rows.mass.shape, len(forms.moved), len(gamma)))
    r = rows.r[:, None, None]
    push[:, :, forms.moved.index(3)] = r * latent * beta0
    if again:
        r = batch.r[:, None, None] * (step.laws.ridge_count / step.laws.step_count)
        push[:, :, forms.moved.index(4)] = r * (pushed[:, None] * beta0 + noise[:, None] * beta1)
    total = f.noise + beta0**2 + beta1**2
    return replace(forms, mass=rows.mass, ridge=True, e=e, push=push, noise=total)
