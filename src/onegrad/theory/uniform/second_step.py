r"""A second gradient step, on a fresh batch or on the rows of the first.

The neurons' weights are :math:`w^1 = s_1v_1 + \text{random}` after the first step. The second moves
them by :math:`\gamma_2gX^\top[r_2\odot\sigma'(Xw^1)]/n_0`; for a row of its batch, with a standard
normal z,

.. math::
    \sigma'(x\cdot w^1) &= D_0 + D_1\,x\cdot w^1_{random} + \sqrt{\nu_2}\,\tilde s,\qquad
    D_0 = E\sigma'(s_1\kappa + \rho_1z),\quad D_1 = E\sigma'', \\
    \nu_2 &= E\sigma'^2 - D_0^2 - \rho_1^2D_1^2 .

*Special directions.* What neurons do coherently is :math:`\sum_jq_jx_j/n_0` with the row functions
:math:`q(g) = r_2D_0(\cdot,g)`: a weight :math:`\gamma_2gE[qX]` along the directions there are, and
off them new directions, found by Gram-Schmidt of the row functions. For orthonormal
:math:`\tilde q_m`, rows have the coordinates :math:`N(0,1) + \sqrt{\varphi_0}\tilde q_m` along
them, and :math:`\sum_j\tilde q_m(j)x_j = 0` off all: a constraint field each.

*Bulk.* With :math:`\hat k = 1 - \delta + \gamma_2gE[r_2D_1]` the products of weights, off the
special directions, are

.. math:: R_{02} = \hat kR_{01},\qquad R_{12} = \hat kR_{11},\qquad
    R_{22} = \hat k^2R_{11} + \varphi_0\gamma_2^2g^2(E[r_2^2E\sigma'^2] - |q|^2_{coherent}) .

*Covariance.* Where x is white, :math:`\Sigma` multiplies every move, and products of weights are
functions of the eigenvalue s. Directions of coherent weights are :math:`\Sigma e_i` and
:math:`\Sigma\hat n_m` of directions along which rows have mean coordinates.

*Fields.* :math:`T^2, T^1, T^0, S^1, S^2`; rows of the second batch have the form
:math:`-r_2\gamma_2gD_1S^2T^1` and a latent :math:`\tilde s` that pushes :math:`S^2`.

*Residuals* less the output are :math:`r_2 = y - F(\kappa) - \bar B(\kappa)\hat u\cdot x -
\text{noise}`, with :math:`F = \sqrt NE[gA_1]` and :math:`\bar B = E[g^2R_{01}B_1]` on the readout
row :math:`\hat u`.

*Own scales* are of leading order: N of them are read with :math:`\partial A/\partial\epsilon`. A
neuron's random step along its own :math:`w^1` has the variance
:math:`\gamma_2^2g^2E[r_2^2\mathrm{Var}(z\sigma'|1,z)]/n_0`, and the slope
:math:`\gamma_2gE[r_2\kappa E z\sigma'']/\rho_1` in its weight along :math:`v_1`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from onegrad.arrays import Floats
from onegrad.functions.averages import gaussian_averages
from onegrad.functions.function import Function
from onegrad.functions.hermite import gauss_hermite, normalised_hermite
from onegrad.functions.index_calculus import mean_of
from onegrad.theory.uniform.features import (
    MIN_VARIANCE,
    Features,
    across_rule,
    averaged_features,
    features_of_step,
    parts_of_rows,
)
from onegrad.theory.uniform.fit import IndexArray, own_scale
from onegrad.theory.uniform.laws.directions import MIN_LENGTH, Slots, off_directions
from onegrad.theory.uniform.laws.labels import LabelLaw, along_linear
from onegrad.theory.uniform.laws.neurons import MIN_SHARE_OFF_PLANE, Types, with_initial_weights
from onegrad.theory.uniform.laws.rows import (
    GAUSSIAN_NOISE_POINTS,
    INDEPENDENT_POINTS,
    INDEX_POINTS,
    KINKED_POINTS,
    MIN_GROUP,
    RUNS_OF_ROWS,
    Population,
    Rows,
    RowVariables,
    StepMoments,
    step_length,
)
from onegrad.theory.uniform.pencil import Forms
from onegrad.theory.uniform.rules import (
    ONE_NODE,
    TWO_POINT_NODES,
    TWO_POINT_RULE,
    conditional_gauss,
    cut_gaussian,
    even_rule,
    index_rule,
    noise_nodes,
    normal_cutoff,
    product_rule,
)
from onegrad.theory.uniform.second_moves import (
    MIN_ENERGY,
    BulkMoves,
    Slopes,
    bulk_moves,
    coherent_moves,
    own_products,
)
from onegrad.theory.uniform.second_residual import Output, output_of_fresh, with_output
from onegrad.theory.uniform.step import Step

MAX_NEW_DIRECTIONS = 3
# mean square of weights along a new direction, over that of initial ones, below which it is none.
# With a tenth, sigmoid with equal readouts was 2 % off, tanh with normal ones as much
MIN_NEW_WEIGHT = 1e-3
MIN_SPREAD_WEIGHT = 1e-2  # the same where inputs have a covariance: .02 % of an error
SLOPE_NODES, SLOPE_STEP = 40, 1e-4  # of smooth slopes, and of their derivative
RESIDUAL_NODES = 5  # given the index
ROW_NODES = 5  # of the readout row
LABEL_NODES, OTHER_NODES = 9, (5, 3, 3)  # of ridge rows, along the labels' directions and others
MIN_STRENGTH = 0.02  # of weights along a direction, over rho, from which it has nodes
SMALL_STRENGTH = 0.1  # up to which two nodes do
MIN_MASS = 1e-6  # of a node of ridge rows; 1e-5 changed test errors by 2 %


@dataclass(frozen=True)
class SecondBatch:
    """Rows of the second batch: groups (G,) of an index and a residual."""

    length: Floats
    kappa: Floats
    r: Floats
    first: Floats  # residual of the same rows in the first step; zero for fresh rows
    p: Floats  # probability
    # (G, q, q) second moments of 1, the first step's p directions and its k constraints
    moments: Floats
    # all (G, U)
    slope: Floats  # D_0
    bend: Floats  # D_1
    slope_square: Floats  # E sigma'^2
    noise: Floats  # nu_2
    # of rows of the first batch again: coefficients of sigma' on the input before any step and on
    # the latent of the first one, E[sigma'(sigma'_0 - c_1)], and the first two less own shares
    start: Floats
    shared: Floats
    pushed: Floats
    pushed_start: Floats
    output: Output | None = None  # after the first step, where the residual contains it


@dataclass(frozen=True)
class SecondStep:
    """Both steps: special directions, the neurons' weights, and the rows of the second batch."""

    step: Step  # the first one, with the directions of both
    first: Types
    types: Types
    gamma: Floats  # (U,) gamma_2 g
    own: Floats  # (U,) step along the own w_1
    weights: Floats  # (U, p) mean weights along the special directions
    plane: Floats  # (U, p, p) covariance of weights along them
    batch: SecondBatch
    functions: Floats  # (G, M) row functions of the new directions, of mean square one
    own_variance: Floats  # (U,)
    between: Floats  # (U,) R_12
    growth: Floats  # (U,) part of a move of the first step that is left
    coherent: Floats  # (G, U) part of r D_0 that moves coherent weights
    old_directions: int  # of the first step
    on_starts: Floats  # (U, p, p) regression of weights on initial ones, times d


def take_second_step(
    step: Step, first: Types, plane: Floats, moments: StepMoments, batch: SecondBatch
) -> SecondStep:
    """Return the second step after a first one.

    plane : covariance of the weights after the first step along its special directions.
    """
    update, d = step.laws.update, step.inputs.d
    assert update.second is not None
    gamma = update.second / float(np.sqrt(step.laws.neurons.N)) * first.g
    omega, weight = step.inputs.omega, first.weight
    R00, R01, R11 = own_products(step, first, moments)
    coherent = coherent_moves(step, batch)
    root = np.sqrt(weight) * gamma
    square, V = np.linalg.eigh(root[:, None] * coherent.gram * root)
    sizes, V = np.sqrt(np.maximum(square[::-1], 0.0)), V[:, ::-1]
    smallest = MIN_NEW_WEIGHT if step.inputs.isotropic else MIN_SPREAD_WEIGHT
    noise = step.noise_of_moves(1.0) / (omega @ step.gain**2)
    large = d * noise * sizes**2 > smallest
    count = int(min(MAX_NEW_DIRECTIONS, large.sum()))
    V = V[:, :count] / sizes[:count]
    mixture = root[:, None] * V  # of row functions, (U, M)
    on_functions = coherent.gram @ mixture
    both, weights = _with_directions(
        step,
        first,
        gamma[:, None] * coherent.vectors,
        np.sqrt(noise) * gamma[:, None] * on_functions,
    )
    # noise is phi_0 but for rounding: the root is one, and keeps the last bits of predictions
    functions = float(np.sqrt(step.phi0 / noise)) * coherent.value @ mixture
    own = _own_output(step, first, gamma, batch) if step.full else np.zeros_like(gamma)
    # lengths of rows count in the bulk
    q = batch.r[:, None] * batch.slope
    moved = q - coherent.value + coherent.value @ mixture @ on_functions.T
    slopes = Slopes.of(first, batch, gamma, moved)
    bulk = bulk_moves(step, slopes, own)
    R02, R12, R22 = bulk.products(R00, R01, R11)
    covariance, rho2, along_first, on_starts = _weights_in_the_plane(
        step, both, first, plane, moments, batch, gamma, bulk
    )
    growth = ((R01 * bulk.grown) @ omega) / (R01 @ omega)
    gain = omega * step.gain
    own_reading = R02 @ gain
    unit = gamma * (R12 @ gain) / own_reading  # along w_1, in units of the first
    growth_read = ((R02 * bulk.grown) @ gain) / (R02 @ gain)
    variance, slope = _own_scales(step, first, unit, growth_read, batch, moments)
    types = replace(
        first,
        own=growth * (update.rest + first.own) - update.rest,
        epsilon=growth * first.epsilon,
        s=weights[:, 0],
        along=along_first + R02 @ omega,
        rho=np.sqrt(np.maximum(rho2 + R22 @ omega, MIN_SHARE_OFF_PLANE * (R22 @ omega))),
        own_reading=own_reading,
        grown=growth**2 * first.grown,
        own_slope=slope,
    )
    return SecondStep(
        both,
        first,
        types,
        gamma,
        own,
        weights,
        covariance,
        batch,
        functions,
        variance,
        between=R12 @ omega,
        growth=bulk.growth,
        coherent=moved,
        old_directions=step.directions,
        on_starts=on_starts,
    )


def _weights_in_the_plane(
    step: Step,
    both: Step,
    first: Types,
    plane: Floats,
    moments: StepMoments,
    batch: SecondBatch,
    gamma: Floats,
    of: BulkMoves,
) -> tuple[Floats, Floats, Floats, Floats]:
    r"""Return the covariance of weights along the special directions, (U, p, p).

    Also what they add to rho^2 and to the part along the initial input, and the regression of
    weights on initial ones, times d. Of

    .. math:: w^2 = \big(1 - \delta + \Sigma\gamma_2gE[r_2D_1XX^\top]\big)w^1
        + \Sigma\gamma_2gE[r_2D_{00}XX^\top]w^0 + \text{noise}

    averages over rows are matrices along the directions of the first step, and numbers off them.
    """
    K, d, old = both.gain, step.inputs.d, step.directions
    size = both.parts.shape[1]
    E = both.parts[:old].reshape(old, -1)
    K = np.tile(K, size)
    excess = batch.moments[:, 1 : 1 + old, 1 : 1 + old] - batch.length[:, None, None] * np.eye(old)

    def lifted(on_directions: Floats) -> Floats:
        return np.asarray(E.T @ on_directions @ E)

    def diagonal(of_groups: Floats) -> Floats:
        return np.tile(of_groups, size)[:, None] * np.eye(len(K))

    def matrix(of_slopes: Floats) -> Floats:
        mean = np.einsum("g,gu,gik->uik", batch.p * batch.r, of_slopes, excess)
        return K[:, None] * lifted(gamma[:, None, None] * mean)

    M1, M0 = matrix(batch.bend), matrix(batch.start)
    K1, K0 = diagonal(of.grown), diagonal(of.start)
    R00, R01, R11 = own_products(step, first, moments)
    C11 = diagonal(R11 / d)
    C11 = C11 + lifted(plane - E @ C11 @ E.T)
    C00 = diagonal(R00 / d)
    M = K[:, None] * lifted(moments.M - moments.mean * np.eye(old))
    C10 = (diagonal(R01 / R00) + (first.epsilon * first.size)[:, None, None] * M) @ C00

    def moved(K1: Floats, K0: Floats) -> Floats:
        cross = K1 @ C10 @ K0.swapaxes(1, 2)
        return np.asarray(
            K1 @ C11 @ K1.swapaxes(1, 2) + cross + cross.swapaxes(1, 2) + K0 @ C00 @ K0
        )

    slopes = batch.slope_square - batch.slope**2
    noise = np.einsum("g,gu,gik->uik", batch.p * batch.r**2, slopes, excess)
    left_out = step.noise_of_moves(1.0) / (step.inputs.omega @ step.gain**2)
    noise = K[:, None] * lifted((left_out * gamma**2 / d)[:, None, None] * noise) * K
    total = moved(K1 + M1, K0 + M0) + noise
    more = np.einsum("uii->u", total - moved(K1, K0))
    total += diagonal((2 * of.grown * of.shared + of.noise) / d)
    basis = both.parts.reshape(both.directions, -1)
    along = np.einsum("uik,uki->u", M1, C10) + np.einsum("uik,uki->u", M0, C00)
    on_starts = (K1 + M1) @ C10 + (K0 + M0) @ C00
    covariance, on_starts = (basis @ x @ basis.T for x in (total, d * on_starts))
    return covariance, more, along, on_starts


def with_starts(second: SecondStep, moments: StepMoments, like: Types | None) -> SecondStep:
    """Return a second step with nodes of initial weights as types, where these count.

    Its neurons move as those of all such nodes: slopes know of them what is linear.

    like : types of similar laws, which say whether there are nodes.
    """
    two_steps = second.plane, second.on_starts
    types, plane = with_initial_weights(second.step, second.types, moments, like, two_steps)
    if types.initial is None:
        return second
    count = len(types.g) // len(second.gamma)

    def each(of: Any, *names: str) -> dict[str, Any]:
        return {name: np.repeat(getattr(of, name), count, axis=-1) for name in names}

    of_slopes = ("slope", "bend", "slope_square", "noise", "start", "shared", "pushed")
    batch = replace(second.batch, **each(second.batch, *of_slopes, "pushed_start"))
    if batch.output is not None:
        output = replace(batch.output, **each(batch.output, "mean", "along", "across"))
        batch = replace(batch, output=output)
    first = second.first.repeated(count) | {"weight": types.weight}
    return replace(
        second,
        types=types,
        plane=plane,
        first=replace(second.first, **first),
        weights=np.repeat(second.weights, count, axis=0) + types.initial.index,
        batch=batch,
        **each(second, "coherent", "gamma", "own", "own_variance", "between", "growth"),
    )


def _with_directions(step: Step, first: Types, moved: Floats, off: Floats) -> tuple[Step, Floats]:
    r"""Return the step with further special directions, and weights along all of them, (U, p).

    They are the noise :math:`\hat n_m` of the row functions, and what the gain K of the step, for
    the gradient :math:`\Sigma`, makes of all directions of the gradient:

    .. math:: w = (1 - \delta)s_1v_1 + \text{moved} + K\sum_m\text{off}_m\hat n_m .

    moved : (U, D) moves along the directions there are, in slots and groups of eigenvalues.
    off : (U, M) moves along the noise, before K.
    """
    inputs, old, count = step.inputs, step.directions, off.shape[1]
    slots, R = step.parts.shape[1:]
    vectors = [np.pad(part, ((0, count), (0, 0))).ravel() for part in step.parts]
    explicit, sizes = Slots(inputs, slots + count), np.ones(count)
    for m in range(count):
        noise = explicit.random(slots + m, np.sqrt(inputs.omega), inputs.draw.later[m])
        vector = off_directions(noise, vectors)
        sizes[m] = np.linalg.norm(vector)
        vectors.append(vector / sizes[m])
    basis = np.array(vectors)
    moves = (off * sizes) @ basis[old:] * np.tile(step.gain, slots + count)
    moves[:, : moved.shape[1]] += moved
    weights = moves + np.outer(step.laws.update.rest * first.s, basis[0])
    off_basis = off_directions(weights, vectors)
    _, large, V = np.linalg.svd(np.sqrt(first.weight)[:, None] * off_basis, full_matrices=False)
    more = min(MAX_NEW_DIRECTIONS, int((inputs.d * large**2 > MIN_SPREAD_WEIGHT).sum()))
    basis = np.vstack([basis, V[:more]])
    parts = basis.reshape(len(basis), slots + count, R)
    row = np.tensordot(step.row @ step.frame.T, parts[:old], axes=1)
    pad = (0, len(basis) - old)
    both = replace(
        step,
        parts=parts,
        frame=np.pad(step.frame, (pad, (0, 0))),
        g0=np.pad(step.g0, pad),
        overlap=np.einsum("iar,kar->ikr", parts, parts),
        row_overlap=np.einsum("iar,ar->ir", parts, row),
    )
    return both, weights @ basis.T


def _own_output(step: Step, first: Types, gamma: Floats, batch: SecondBatch) -> Floats:
    r"""Return the step along a neuron's own weight for its own output in the residual.

    .. math:: -\gamma_2g\frac{g}{\sqrt N}\Big(\frac{E z\sigma\sigma'}{\rho_1} - D_1E\sigma
        - E[\sigma']E[z^2\sigma']\Big)

    without what the means of all outputs and their linear parts do.
    """
    place, z, q, pre = _slope_rule(step, first, batch)
    sigma = step.laws.neurons.activation
    F, S = sigma(pre), sigma.derivative(pre)
    read = (q * z * F * S).sum(-1) - (q * z * S).sum(-1) * (q * F).sum(-1)
    read = read / first.rho - (q * S).sum(-1) * (q * z * z * S).sum(-1)
    return -gamma * step.scale * first.g / np.sqrt(step.laws.neurons.N) * (batch.p @ read[place])


def _slope_rule(
    step: Step, first: Types, batch: SecondBatch
) -> tuple[IndexArray, Floats, Floats, Floats]:
    """Return places of rows among indices, nodes of inputs off these, and the inputs at both."""
    sigma = step.laws.neurons.activation
    index, place = np.unique(batch.kappa, return_inverse=True)
    mean = first.s * index[:, None]
    z, q = gauss_hermite(SLOPE_NODES)
    if sigma.kinks:
        z, q = across_rule(sigma, mean, first.rho)
    return place, z, q, mean[..., None] + first.rho[:, None] * z


def _own_scales(
    step: Step,
    first: Types,
    unit: Floats,
    grown: Floats,
    batch: SecondBatch,
    moments: StepMoments,
) -> tuple[Floats, Floats]:
    """Return the variance of own scales, and their slope in the weight along X^T r/n_0.

    unit, grown : what the own scales of the second and of the first step are multiplied by.
    """
    sigma, n0 = step.laws.neurons.activation, step.laws.step_count
    variance = own_scale(step, first) ** 2 * moments.square / n0 * grown**2
    slope = first.own_slope * grown
    if step.laws.update.again:  # the second's is not known
        return variance, slope
    place, z, q, pre = _slope_rule(step, first, batch)
    S = sigma.derivative(pre)
    turn, linear = ((q * z**k * S).sum(-1) for k in (1, 2))
    square = (q * (z * S) ** 2).sum(-1)
    energy = np.maximum(square - turn**2 - linear**2, 0.0)
    bend = (linear - (q * S).sum(-1)) / first.rho  # E z sigma''
    squares, curved = batch.p * batch.r**2, batch.p * batch.r * batch.kappa
    variance = variance + unit**2 * (squares @ energy[place]) / n0 / first.rho**2
    if step.b:  # else no weight along v is known
        slope = slope + unit * (curved @ bend[place]) / first.rho / step.b
    return variance, slope


def first_batch_again(
    step: Step, first: Types, rows: Population, moments: StepMoments, fields: int
) -> tuple[Population, SecondBatch]:
    """Return the rows of the first batch as those of the second: a group for each node.

    fields : number of directions and constraints.

    Slopes are features of these rows with the activation's slope in place of it. Where the residual
    contains the output, groups have nodes of the second residual.
    """
    numbers = step.activation
    f = features_of_step(step, first, rows, slope_function(step.laws.neurons.activation))
    ratio = step.laws.step_count / step.laws.ridge_count  # n_0/n, in which masses are
    r, node, output = rows.residual[:, 0], np.arange(len(rows.length)), None
    kappa = rows.kappa[:, 0]
    if step.full:
        R00, R01, _ = own_products(step, first, moments)
        rows, r, node, output = with_output(step, first, rows, R01 / R00)
    D0, D1, start, latent, noise = (x[node, 0] for x in (f.A, f.B1, f.B0, f.beta, f.noise))
    length, root = rows.length[:, None], np.sqrt(numbers.nu)
    own = step.own_share(length) * rows.residual
    P, Q = parts_of_rows(step, first, length)
    along = np.sqrt(length) * (P * D1 + start)  # E[sigma' z_0]
    explained = D0**2 + along**2 + length * Q**2 * D1**2 + latent**2
    batch = SecondBatch(
        rows.length,
        kappa[node],  # at which the slopes are
        r,
        rows.residual[:, 0],
        rows.mass[:, 0] / ratio,
        rows.moments[:, 0, : 1 + fields, : 1 + fields],
        slope=D0,
        bend=D1,
        slope_square=noise + explained,
        noise=noise,
        start=start,
        shared=2 * numbers.c2 * along + root * latent,
        pushed=latent - own * first.gamma * root * D1,
        pushed_start=start / first.size - own * first.epsilon * D1,
        output=output,
    )
    return rows, batch


def second_batch(
    step: Step, first: Types, along_v: Floats, lengths: list[float], moments: StepMoments
) -> SecondBatch:
    """Return the rows of a fresh batch: the index, and Gauss nodes of the residual given it.

    along_v : variance of the weights after the first step along v.
    moments : of the first batch.
    """
    sigma = step.laws.neurons.activation
    strength = float((np.abs(first.s) / first.rho).max())
    rule = index_rule(sigma, strength, along_linear(step.labels), 0.0)
    kappa, p_kappa = rule.nodes(rule.count(1.0))
    q = step.labels.replaced
    columns, none = [], np.zeros((len(moments.constraints), 1))
    R00, R01, _ = own_products(step, first, moments)
    for length in lengths:
        output = output_of_fresh(step, first, R01 / R00, along_v, kappa, length)
        for k, share in enumerate(p_kappa):
            points = [
                _rows_at(step, float(kappa[k]), length, [f[k] for f in output], bool(other), part)
                for other, part in enumerate((1 - q, q))
                if part > 0
            ]
            X, r, p = (np.concatenate(x, -1) for x in zip(*points, strict=True))
            r, weight, lift = conditional_gauss(r, p, RESIDUAL_NODES)
            weight = share / len(lengths) * weight
            likely = weight > MIN_GROUP
            variables = np.vstack([np.ones_like(p), X, none * p])
            square = np.einsum("jk,aj,bj->kab", lift[:, likely], variables, variables)
            size = np.full((2, likely.sum()), [[length], [kappa[k]]])
            columns.append((*size, r[likely], weight[likely], square))
    length_, kappa_, r_, p_, square = (np.concatenate(c) for c in zip(*columns, strict=True))
    deviation = first.rho * np.sqrt(length_)[:, None]
    slope, linear, slope_square = gaussian_averages(
        slope_function(sigma), first.s * kappa_[:, None], deviation
    )
    none = np.zeros_like(slope)
    return SecondBatch(
        length_,
        kappa_,
        r_,
        np.zeros_like(r_),
        p_ / p_.sum(),
        square,
        slope=slope,
        bend=linear / deviation,
        slope_square=slope_square,
        noise=np.maximum(slope_square - slope**2 - linear**2, 0.0),
        start=none,
        shared=none,
        pushed=none,
        pushed_start=none,
    )


def _rows_at(
    step: Step, kappa: float, length: float, output: list[Any], replaced: bool, share: float
) -> tuple[Floats, Floats, Floats]:
    """Return coordinates, residuals and probabilities of rows of an index, a share of all."""
    labels, fit = step.labels, step.labels.fit
    m, mt, n0, p = step.indices, labels.teacher_indices, step.laws.step_count, step.directions
    mean, row, rest = output
    gaussian = labels.law.name == "gaussian"
    own, own_gaussian = (0.0, labels.noise) if gaussian else (labels.noise, 0.0)
    edge = normal_cutoff(RUNS_OF_ROWS * n0)
    total = float(np.sqrt(own_gaussian**2 + rest))
    kinked = isinstance(labels.teacher, Function) and bool(labels.teacher.kinks)
    teacher = even_rule(KINKED_POINTS[1], edge) if kinked else gauss_hermite(INDEX_POINTS[m])
    rules = [
        *[gauss_hermite(INDEPENDENT_POINTS) if replaced else teacher] * m,
        *[gauss_hermite(ROW_NODES) if step.full else TWO_POINT_RULE] * (p - 1 - m),
        noise_nodes(labels.law, n0) if own else ONE_NODE,
        cut_gaussian(GAUSSIAN_NOISE_POINTS, edge) if total else ONE_NODE,
        *[teacher] * (mt * replaced),
    ]
    axes, probability = product_rule(rules)
    X = np.vstack(
        [np.full_like(axes[:1], kappa), np.sqrt(step_length(step, length)) * axes[: p - 1]]
    )
    indices = step.frame[:, :m].T @ X
    clean = labels.at_indices(axes[p + 1 :] if replaced else indices[:mt])
    r = clean + own * axes[p - 1] + total * axes[p] - fit.mean
    if fit.has_direction:
        r = r - fit.linear @ indices[:mt] - fit.noise * indices[mt]
    return X, r - mean - row @ X, share * probability


@lru_cache(maxsize=64)
def slope_function(sigma: Function) -> Function:
    """Return sigma' as a function; its own derivative is that between kinks."""
    polynomial = None
    if sigma.polynomial is not None:
        c = np.atleast_1d(np.polynomial.hermite_e.hermeder(sigma.polynomial) * sigma.scale)
        polynomial = tuple(float(x) for x in c)
    slope = sigma.derivative

    def bend(x: Floats) -> Floats:
        return (slope(x + SLOPE_STEP) - slope(x - SLOPE_STEP)) / (2 * SLOPE_STEP)

    return Function(f"slope of {sigma.name}", slope, bend, sigma.kinks, polynomial=polynomial)


# -- populations and forms -------------------------------------------------------------------


def with_new_coordinates(second: SecondStep, length: Floats, moments: Floats, seen: bool) -> Floats:
    r"""Return second moments of row variables, of which `moments` know those of the first step.

    Rows of the second batch have the coordinates :math:`t + \sqrt{\varphi_0}f_m` along the noise
    that moves weights, t standard normal, and the constraints :math:`\sqrt{\varphi_0}f_m`; others
    have t.

    moments : (G, q, q) of 1, directions, constraints and others.
    seen : whether these are the rows of the second batch.
    """
    step, M = second.step, second.functions.shape[1]
    (G, q), P = moments.shape[:2], second.old_directions
    new, k = step.directions - P, second.batch.moments.shape[1] - 1 - P
    first, count = 1 + P + new + k, q + new + M
    directions, constraints = range(1 + P, 1 + P + new), range(first, first + M)
    of_old, of_t = np.zeros((G, count, q)), np.zeros((G, count, new))
    of_old[:, np.setdiff1d(range(count), [*directions, *constraints]), range(q)] = 1.0
    of_t[:, directions, range(new)] = 1.0
    if seen:
        for at in (directions[:M], constraints):
            of_old[:, at, 0] = np.sqrt(step.phi0) * second.functions
    spread = step_length(step, length)[:, None, None]
    return np.asarray(
        of_old @ moments @ of_old.swapaxes(1, 2) + spread * of_t @ of_t.swapaxes(1, 2)
    )


def first_population(second: SecondStep, rows: Population) -> Population:
    """Return rows of the first batch alone with all directions."""
    count = second.batch.moments.shape[1]
    if rows.label.shape[-1] > 1:  # rows by index: before products
        before = rows.moments[:, 0, :count, :count]
    else:
        before = np.pad(rows.moments[:, 0], ((0, 0), (1, 0), (1, 0)))  # nothing reads the first
    moments = with_new_coordinates(second, rows.length, before, False)
    return replace(rows, moments=moments[:, None, 1:, 1:])


def second_population(second: SecondStep, rows: Rows) -> Population:
    """Return the rows of the second batch."""
    batch, n, n0 = second.batch, second.step.laws.ridge_count, second.step.laws.step_count
    moments = with_new_coordinates(second, batch.length, batch.moments, True)
    none = np.zeros((len(batch.length), 1))
    return Population(
        rows,
        batch.length,
        batch.r * n / n0,
        (batch.r * n / n0) ** 2,
        mass=batch.p[:, None] * rows.count / n,
        kappa=batch.kappa[:, None],
        residual=batch.r[:, None],
        moments=moments[:, None, 1:, 1:],
        label=none[..., None],
        label_square=none,
    )


def second_forms(second: SecondStep, rows: Population) -> Forms:
    r"""Return the forms of rows of the second batch: on T1 and S2.

    Rows of the first batch have both steps' forms, on T1, T0, S1 and S2: with their own shares
    taken off, slopes :math:`D_1x\cdot w^1 + D_{00}x\cdot w^0 + \delta\tilde s_0 +
    \sqrt{\nu_2}\tilde s_1`.
    """
    batch, gamma, first = second.batch, second.gamma, second.first
    again = second.step.laws.update.again
    moved = (1, 2, 3, 4) if again else (1, 4)
    G, U, m = len(rows.length), len(gamma), len(moved)
    W, square = np.zeros((G, m, m, U)), np.zeros((G, m, m, U))
    of_step = second.step.laws.ridge_count / second.step.laws.step_count  # n/n_0
    r = rows.r[:, None]
    W[:, 0, -1] = -r * gamma * batch.bend
    square[:, -1, -1] = r**2 * gamma**2 * (batch.noise + batch.pushed**2)
    if again:
        latent = first.gamma * np.sqrt(second.step.activation.nu)
        r1 = batch.first[:, None] * of_step
        W[:, 1, -1] = -r * gamma * batch.pushed_start
        W[:, 1, -2] = -r1 * first.epsilon
        square[:, -2, -2] = r1**2 * latent**2
        square[:, -2, -1] = square[:, -1, -2] = r1 * r * latent * gamma * batch.pushed
    W = W + W.swapaxes(1, 2)
    none = np.zeros((G, 1, 0, U))
    return Forms(
        rows.length, rows.mass, True, False, moved, W, square, none, none, np.zeros((G, 1, U))
    )


# -- rows of ridge ---------------------------------------------------------------------------


def fresh_rows(
    second: SecondStep,
    rows: Rows,
    variables: RowVariables,
    spacing: float,
    deviation: float,
    replaced: bool,
) -> tuple[Population, Floats]:
    """Return rows that no step has seen, and their coordinates, (G, K, p).

    Nodes are along the direction of the neurons' largest weights, then along the labels' off it,
    then along others with weights.
    """
    step, labels = second.step, second.step.labels
    p, m = step.directions, step.indices
    basis, strengths = _axes(second)
    overlap = float(np.linalg.norm(basis[0] @ step.frame[:, :m]))
    f = along_linear(labels)
    rule = index_rule(step.laws.neurons.activation, strengths[0], f, min(overlap, 0.9999))
    kinked = isinstance(labels.teacher, Function) and bool(labels.teacher.kinks)
    edge = normal_cutoff(RUNS_OF_ROWS * step.laws.ridge_count)
    fine = even_rule(KINKED_POINTS[1], edge) if kinked else gauss_hermite(INDEX_POINTS[m])
    coarse = gauss_hermite(min(LABEL_NODES, INDEX_POINTS[m]))
    lift = _interpolation(coarse[0], *fine)
    others = [
        gauss_hermite(k if strength > SMALL_STRENGTH else 2)
        for k, strength in zip(OTHER_NODES, strengths[1 + m :], strict=False)
        if strength > MIN_STRENGTH
    ]
    first = rule.nodes(rule.count(spacing))
    axes, probability = product_rule([first, *[coarse] * m, *others])
    repeats = len(probability) // (len(first[0]) * len(coarse[0]) ** m)  # that know no label
    lengths = 1 + TWO_POINT_NODES * deviation if deviation else np.ones(1)
    grid, of_grid = product_rule([first, *[fine] * m])
    to_indices = step.frame[:, :m].T @ basis[: 1 + m].T
    values = []
    roots = np.sqrt(step_length(step, lengths))
    for root in roots:
        scaled = np.where(np.arange(1 + m)[:, None] > 0, root, 1.0) * grid
        means = np.array(_label_means(labels, to_indices @ scaled, replaced))
        y = means.reshape(2, len(first[0]), *[len(fine[0])] * m)
        for axis in range(2, 2 + m):
            y = np.moveaxis(np.tensordot(y, lift, axes=(axis, 0)), -1, axis)
        values.append(np.repeat(y.reshape(2, -1), repeats, axis=1))
    energy = float(of_grid @ _label_means(labels, to_indices @ grid, replaced)[1])
    # what labels have far out counts
    largest = np.max(values, axis=0)[1] / max(energy, MIN_ENERGY)
    keep = probability * np.maximum(largest, 1.0) > MIN_MASS
    axes, probability = axes[:, keep], probability[keep] / probability[keep].sum()
    resolved, off_first = basis[: len(axes)], np.arange(len(axes))[:, None] > 0
    X = np.array([(np.where(off_first, root, 1.0) * axes).T @ resolved for root in roots])
    y = np.array(values)[..., keep]  # X is (G, K, p), y (G, 2, K)
    # what is cut, or not fixed by a length, is as good as noise
    y[:, 1] *= energy / max(float((y[:, 1] @ probability).mean()), MIN_ENERGY)
    G, K = len(lengths), len(probability)
    variable = np.zeros((G, K, variables.count))
    variable[..., 0], variable[..., 1 : 1 + p] = 1.0, X
    for place, (i, k) in enumerate(variables.pairs, variables.products):
        variable[..., place] = X[..., 1 + i] * X[..., 1 + k] - (i == k)
    moments = variable[..., :, None] * variable[..., None, :]
    moments[..., 1 : 1 + p, 1 : 1 + p] += np.eye(p) - resolved.T @ resolved
    population = Population(
        rows,
        lengths,
        np.zeros(G),
        np.zeros(G),
        mass=np.tile(probability, (G, 1)) / G,
        kappa=X[..., 0],
        residual=np.zeros((G, K)),
        moments=moments,
        label=variable * y[:, 0, :, None],
        label_square=y[:, 1] + labels.noise**2,
    )
    return population, X


def _label_means(labels: LabelLaw, u: Floats, replaced: bool) -> tuple[Floats, Floats]:
    """Return means of labels without noise, less a fit, and of their squares, at indices u."""
    fit, clean = labels.fit, labels.at_indices(u[: labels.teacher_indices])
    removed = np.full_like(clean, fit.mean)
    if fit.has_direction:
        t = labels.teacher_indices
        removed = removed + fit.linear @ u[:t] + fit.noise * u[t]
    mean, square = clean - removed, (clean - removed) ** 2
    q = labels.replaced if replaced else 0.0
    if q:  # by labels of other rows
        other = mean_of(labels.teacher) - removed
        mean = (1 - q) * mean + q * other
        square = (1 - q) * square + q * (labels.teacher.variance + other**2)
    return mean, square


def _axes(second: SecondStep) -> tuple[Floats, list[float]]:
    """Return axes of the special directions, and the largest weights along them over rho."""
    step, m = second.step, second.step.indices
    scaled = second.weights / second.types.rho[:, None]
    _, _, V = np.linalg.svd(np.sqrt(second.types.weight)[:, None] * scaled, full_matrices=True)
    basis = [V[0]]
    for vector in [*step.frame[:, :m].T, *V[1:]]:
        off = off_directions(vector, basis)
        if np.linalg.norm(off) > MIN_LENGTH and len(basis) < step.directions:
            basis.append(off / np.linalg.norm(off))
    axes = np.array(basis)
    large = np.abs(scaled @ axes.T).max(0)
    rest = 1 + m + np.argsort(-large[1 + m :])
    order = [*range(1 + m), *rest]
    return axes[order], large[order].tolist()


def _interpolation(nodes: Floats, x: Floats, p: Floats) -> Floats:
    """Return the matrix that takes values at x to conditional means at Gauss nodes, (J, k)."""
    degree = len(nodes) - 1
    return np.asarray((p * normalised_hermite(x, degree)).T @ normalised_hermite(nodes, degree))


def fresh_features(second: SecondStep, rows: Population, X: Floats) -> Features:
    """Return the features of rows that no step has seen."""
    types, sigma = second.types, second.step.laws.neurons.activation
    length = rows.length[:, None, None]
    mean = X @ second.weights.T
    variance = types.rho**2 * length + second.plane[:, 0, 0] * (rows.kappa[..., None] ** 2 - 1)
    deviation = np.sqrt(np.maximum(variance, MIN_VARIANCE * types.rho**2))
    spread = abs(float(np.ptp(rows.length))) / 2
    return averaged_features(sigma, types, length, mean, deviation, spread)
