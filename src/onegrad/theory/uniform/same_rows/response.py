r"""Linear response of the fixed point and of the label problem.

The fixed point z = (G, log a) of :math:`z = f(z, s)` moves with a parameter s by
:math:`(1 - \partial_zf)\,dz = \partial_sf`, and the training error by

.. math:: dL_{tr} = d\,E[\hat\pi y^2] - 2\,dl\cdot h + h^\top dH\,h, \qquad h = H^{-1}l.

Parameters are a weight of fresh rows, whose derivative is the test error; the penalty; and weights
:math:`\omega_j` of the loss of training rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from onegrad.arrays import Floats
from onegrad.theory.uniform.same_rows.fixed_point import FieldState, FreshForms, RowForms, Shares
from onegrad.theory.uniform.same_rows.label_fit import (
    LabelProblem,
    Quadratic,
    moved_form,
    prior_form,
    reading_form,
    reading_side,
    training_design,
)


@dataclass(frozen=True)
class Parameter:
    """A direction in which the problem changes.

    fresh, ridge : weight of fresh rows, and penalty.
    loss : weights of the loss of training rows, (G, K).
    """

    fresh: float
    ridge: float
    loss: Floats


@dataclass(frozen=True)
class Tangent:
    """Derivatives of a FieldState along a parameter; names as there."""

    a: Floats
    X: Floats
    e: Floats
    e_tilde: Floats
    pi: Floats
    V0: Floats
    inverse: Floats
    G: Floats
    log_a: Floats


def tangent(
    forms: RowForms,
    fresh: FreshForms,
    state: FieldState,
    parameter: Parameter,
    shares: Shares,
    dG: Floats,
    dlog_a: Floats,
) -> Tangent:
    """Return the derivative of one pass: d f = (df/dz) dz + (df/ds) ds.

    shares : derivatives of the shares of the special variables.
    """
    U, at = forms.types, forms.moved
    T, S, initial = slice(0, U), slice(2 * U, 3 * U), slice(U, 2 * U)
    a, G, X, pi = state.a, state.G, state.X, state.pi
    da = a * dlog_a
    scaled = forms.phi * forms.length
    by_group = scaled[:, None, None]
    R = np.eye(X.shape[-1]) - by_group * (G[at, at] @ X)  # (1 + phi G W)^-1
    R_S = R[:, -U:]
    dW_S = -forms.phi * forms.r2[:, None] * (da * forms.slope_noise**2)  # (G, U)
    dX = R_S.swapaxes(1, 2) @ (dW_S[:, :, None] * R_S) - by_group * (X @ dG[at, at] @ X)
    de = np.zeros_like(state.e)
    de[..., S] = forms.reading_of_s * da
    de_tilde = de.copy()
    eG = state.e @ G[:, at]
    de_tilde[..., at] -= by_group * (eG @ dX + (state.e @ dG[:, at] + de @ G[:, at]) @ X)
    dKe = state.e_tilde @ dG + de_tilde @ G
    dinverse_c = forms.phi * (forms.noise @ da) + shares.row - parameter.loss
    dq = (de * state.Ke).sum(-1) + (state.e * dKe).sum(-1)
    dpi = -(pi**2) * (dinverse_c + scaled[:, None] * dq) * (pi < 1)
    dV0 = np.zeros_like(G)
    dV0[initial, initial] = np.diag(-da / a**2)
    dinverse = dV0.copy()
    dinverse[at, at] += np.tensordot(forms.p.sum(1) * forms.length, dX, axes=1)
    weight = (forms.p * forms.length[:, None])[..., None]
    flat = state.e_tilde.reshape(-1, 3 * U)
    half = weight * (dpi[..., None] / 2 * state.e_tilde + pi[..., None] * de_tilde)
    half = half.reshape(-1, 3 * U).T @ flat
    dinverse += half + half.T
    dinverse[T, T] += parameter.fresh * fresh.square
    new_G = -G @ dinverse @ G
    # delta
    Ke_S, dKe_S = state.Ke[..., S], dKe[..., S]
    GS, dGS = G[S, at], dG[S, at]
    dK_SS = np.diag(dG)[S] - scaled[:, None] * (
        2 * ((dGS @ X) * GS).sum(-1) + ((GS @ dX) * GS).sum(-1)
    )
    p, dweight = forms.p * pi, forms.p * dpi
    denergy = (da - np.diag(new_G)[initial]) / a**2
    denergy -= 2 * (a - np.diag(G)[initial]) * da / a**3
    denergy += np.tensordot(dweight, forms.noise + 2 * forms.reading_of_s * Ke_S, axes=2)
    denergy += np.tensordot(p, 2 * forms.reading_of_s * dKe_S, axes=2)
    square = forms.phi * forms.slope_noise**2 * forms.r2[:, None]
    denergy -= (square * (forms.p.sum(1)[:, None] * dK_SS)).sum(0)
    own = (dweight[..., None] * Ke_S**2 + 2 * p[..., None] * Ke_S * dKe_S).sum(1)
    denergy += (square * scaled[:, None] * own).sum(0)
    ddelta = denergy + parameter.ridge + parameter.fresh * fresh.noise + shares.neuron
    return Tangent(da, dX, de, de_tilde, dpi, dV0, dinverse, new_G, -ddelta / state.delta)


def fresh_quadratic(labels: LabelProblem) -> Quadratic:
    """Return the form, side and constant that fresh rows add per unit of their weight.

    The part of the readout row that the projector takes off is in `quadratic_response`.
    """
    places, rows = labels.places, labels.fresh.rows
    side = labels.fresh.design, labels.fresh_e
    return Quadratic(
        reading_form(places, rows, rows.p, side, side),
        reading_side(places, rows, rows.p, *side),
        float((rows.p * rows.label_square).sum()),
    )


def quadratic_response(
    labels: LabelProblem,
    state: FieldState,
    parameter: Parameter,
    change: Tangent,
    fresh: Quadratic,
) -> Quadratic:
    """Return the derivative of the label problem along a tangent."""
    places, rows, U = labels.places, labels.training.rows, labels.places.types
    weight, dweight = rows.p * state.pi, rows.p * change.pi
    design = training_design(labels, state.a)
    ddesign = np.zeros_like(design)
    if places.second_order:
        ddesign[..., places.layout.residual, places.multipliers] = (
            labels.multiplier_reading * change.a
        )
    at = design, state.e_tilde
    mixed = reading_form(places, rows, weight, (ddesign, change.e_tilde), at)
    H = reading_form(places, rows, dweight, at, at) + mixed + mixed.T
    H += moved_form(places, rows, change.X)
    H += prior_form(labels, -change.a / state.a**2, change.a, change.V0)
    side = reading_side(places, rows, dweight, *at)
    side += reading_side(places, rows, weight, ddesign, change.e_tilde)
    constant = float((dweight * rows.label_square).sum())
    if places.layout.full:
        H[:U, :U] -= _projector_response(labels, state, parameter, change)
    constraint = places.field(places.layout.directions)
    H[constraint] *= labels.constraint
    H[:, constraint] *= labels.constraint
    side[constraint] *= labels.constraint
    H[constraint, constraint] -= change.inverse
    if parameter.fresh:
        H = H + parameter.fresh * fresh.H
        side, constant = (
            side + parameter.fresh * fresh.side,
            constant + parameter.fresh * fresh.constant,
        )
    return Quadratic(H, side, constant)


def _projector_response(
    labels: LabelProblem, state: FieldState, parameter: Parameter, change: Tangent
) -> Floats:
    """Return the derivative of E[pi h h^T] - E[h u^T] G E[u h^T]."""
    U, rows = labels.places.types, labels.training.rows
    h = labels.training.row_reading.reshape(-1, U)
    length = rows.length[:, None]

    def mean(weight: Floats, vectors: Floats) -> Floats:
        return (weight.reshape(-1, 1) * vectors.reshape(len(h), -1)).T @ h

    weight, dweight = rows.p * state.pi * length, rows.p * change.pi * length
    less = mean(dweight, h)
    cross = mean(weight, state.e_tilde)
    dcross = mean(dweight, state.e_tilde) + mean(weight, change.e_tilde)
    if parameter.fresh:
        fresh = labels.fresh
        p = (fresh.rows.p * fresh.rows.length[:, None]).reshape(-1, 1)
        h = fresh.row_reading.reshape(-1, U)
        less = less + parameter.fresh * (p * h).T @ h
        dcross = dcross + parameter.fresh * (p * labels.fresh_e.reshape(len(h), -1)).T @ h
    moved = dcross.T @ state.G @ cross
    return np.asarray(less - moved - moved.T - cross.T @ change.G @ cross)
