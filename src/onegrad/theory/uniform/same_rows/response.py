r"""Linear response of the fixed point and of the label problem.

The fixed point z = (G, log a) of :math:`z = f(z, s)` moves with a parameter s by
:math:`(1 - \partial_zf)\,dz = \partial_sf`, and the training error by

.. math:: dL_{tr} = d\,E[\hat\pi y^2] - 2\,dl\cdot h + h^\top dH\,h, \qquad h = H^{-1}l.

Parameters are a weight of fresh rows, whose derivative is the test error; the penalty; and weights
:math:`\omega_j` of the loss of training rows.

The few special variables have shares of order 1/n and 1/d in the equations of the bulk. A row's own
share in the fit counts every variable that it reads,

.. math:: \chi_j = \frac1n\Big[E\,\Phi_j^\top H^{-1}\Phi_j - D\,e_j^\top Ge_j\Big],

less that of the D ordinary directions whose place the special ones take; a neuron's likewise.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from onegrad.arrays import Floats
from onegrad.theory.uniform.same_rows import label_fit
from onegrad.theory.uniform.same_rows.fixed_point import FieldState, FreshForms, RowForms, Shares

MIN_SHARE = -0.5  # in 1/c of a row, where it is at least one


@dataclass(frozen=True)
class Parameter:
    """A direction in which the problem changes."""

    fresh: float  # weight of fresh rows
    ridge: float  # penalty
    loss: Floats  # (G, K) weights of the loss of training rows


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


@dataclass(frozen=True)
class Linearisation:
    """The pass of the equations to first order around a fixed point."""

    forms: RowForms
    fresh: FreshForms
    state: FieldState
    R_S: Floats  # (G, U, m) rows of S of (1 + phi G W)^-1
    reading: Floats  # (G, K, m) e G on the fields `moved`
    reading_of_s: Floats  # (G, U, m) G_S X on them
    energy: Floats  # (G, K, U) what the rows add to delta to first order in their share pi

    @classmethod
    def of(cls, forms: RowForms, fresh: FreshForms, state: FieldState) -> Linearisation:
        """Return what all tangents at a fixed point share."""
        U, at, G, X = forms.types, forms.moved, state.G, state.X
        scaled = (forms.phi * forms.length)[:, None, None]
        moved = -scaled * (G[at, at] @ X)
        return cls(
            forms,
            fresh,
            state,
            R_S=(np.eye(X.shape[-1]) + moved)[:, -U:],
            reading=state.e @ G[:, at],
            reading_of_s=G[2 * U :, at] @ X,
            energy=forms.noise + 2 * forms.reading_of_s * state.Ke[..., 2 * U :],
        )

    def tangent(
        self,
        dG: Floats,
        dlog_a: Floats,
        parameter: Parameter | None = None,  # the direction s; None for the part of dz alone
        shares: Shares
        | None = None,  # derivatives of the shares of the special variables; likewise
    ) -> Tangent:
        """Return the derivative of one pass: d f = (df/dz) dz + (df/ds) ds."""
        forms, state = self.forms, self.state
        U, at = forms.types, forms.moved
        T, S, initial = slice(0, U), slice(2 * U, 3 * U), slice(U, 2 * U)
        a, G, X, pi = state.a, state.G, state.X, state.pi
        da = a * dlog_a
        scaled = forms.phi * forms.length
        by_group = scaled[:, None, None]
        R_S = self.R_S
        dW_S = -forms.phi * forms.r2[:, None] * (da * forms.slope_noise**2)  # (G, U)
        dX = R_S.swapaxes(1, 2) @ (dW_S[:, :, None] * R_S) - by_group * (X @ dG[at, at] @ X)
        de = np.zeros_like(state.e)
        de[..., S] = forms.reading_of_s * da
        de_tilde = de.copy()
        deG = state.e @ dG[:, at] + de[..., S] @ G[S, at]
        de_tilde[..., at] -= by_group * (self.reading @ dX + deG @ X)
        dKe = state.e_tilde @ dG + de_tilde @ G
        dinverse_c = forms.phi * (forms.noise @ da)
        if shares is not None:
            dinverse_c += shares.row
        if parameter is not None:
            dinverse_c -= parameter.loss
        dq = (de[..., S] * state.Ke[..., S]).sum(-1) + (state.e * dKe).sum(-1)
        dpi = -(pi**2) * (dinverse_c + scaled[:, None] * dq) * (pi < 1)
        dV0 = np.zeros_like(G)
        dV0[initial, initial] = np.diag(-da / a**2)
        dinverse = dV0.copy()
        share = forms.p.sum(1)
        dinverse[at, at] += _total(share * forms.length, dX.reshape(len(dX), -1)).reshape(
            dX[0].shape
        )
        weight = (forms.p * forms.length[:, None])[..., None]
        flat = state.e_tilde.reshape(-1, 3 * U)
        half = weight * (dpi[..., None] / 2 * state.e_tilde + pi[..., None] * de_tilde)
        half = half.reshape(-1, 3 * U).T @ flat
        dinverse += half + half.T
        if parameter is not None:
            dinverse[T, T] += parameter.fresh * self.fresh.square
        new_G = -G @ dinverse @ G
        # delta
        Ke_S, dKe_S = state.Ke[..., S], dKe[..., S]
        GS, dGS = G[S, at], dG[S, at]
        dK_SS = dG.diagonal()[S] - scaled[:, None] * (
            2 * (dGS * self.reading_of_s).sum(-1) + ((GS @ dX) * GS).sum(-1)
        )
        p, dweight = forms.p * pi, forms.p * dpi
        ddelta = (da - new_G.diagonal()[initial]) / a**2
        ddelta -= 2 * (a - G.diagonal()[initial]) * da / a**3
        ddelta += _total(dweight, self.energy) + 2 * _total(p, forms.reading_of_s * dKe_S)
        square = forms.phi * forms.slope_noise**2 * forms.r2[:, None]
        own = (dweight[..., None] * Ke_S + 2 * p[..., None] * dKe_S) * Ke_S
        ddelta += (square * (scaled[:, None] * own.sum(1) - share[:, None] * dK_SS)).sum(0)
        if shares is not None:
            ddelta += shares.neuron
        if parameter is not None:
            ddelta += parameter.ridge + parameter.fresh * self.fresh.noise
        return Tangent(da, dX, de, de_tilde, dpi, dV0, dinverse, new_G, -ddelta / state.delta)


def _total(weights: Floats, values: Floats) -> Floats:
    """Return the sum of values, (..., U), over all but the last axis."""
    return weights.ravel() @ values.reshape(weights.size, -1)


def fresh_quadratic(labels: label_fit.LabelProblem) -> label_fit.Quadratic:
    """Return the form, side and constant that fresh rows add per unit of their weight.

    The part of the readout row that the projector takes off is in `quadratic_response`.
    """
    places, rows = labels.places, labels.fresh.rows
    at = label_fit.Reading.of(labels.fresh.design, labels.fresh_e)
    weighted = at.weighted(rows.p)
    return label_fit.Quadratic(
        label_fit.reading_form(places, rows, weighted, at),
        label_fit.reading_side(places, rows, weighted),
        float((rows.p * rows.label_square).sum()),
    )


def quadratic_response(
    labels: label_fit.LabelProblem,
    state: FieldState,
    parameter: Parameter,
    change: Tangent,
    fresh: label_fit.Quadratic,
) -> label_fit.Quadratic:
    """Return the derivative of the label problem along a tangent."""
    places, rows, U = labels.places, labels.training.rows, labels.places.types
    weight, dweight = (rows.p * pi for pi in (state.pi, change.pi))
    at = label_fit.training_reading(labels, state.a, state.e_tilde)
    half = at.weighted(dweight / 2)
    moved = half.copy()  # d(w Phi Phi^T) = moved Phi^T + its transpose
    moved.e[...] += weight.reshape(-1, 1) * change.e_tilde.reshape(moved.e.shape)
    if places.second_order:
        multipliers = weight[..., None] * labels.multiplier_reading * change.a
        moved.design[:, places.layout.residual, places.multipliers] += multipliers.reshape(-1, U)
    H = label_fit.reading_form(places, rows, moved, at)
    H = H + H.T
    label_fit.add_moved_form(H, places, rows, change.X)
    label_fit.add_prior_form(H, labels, -change.a / state.a**2, change.a, change.V0)
    side = label_fit.reading_side(places, rows, moved) + label_fit.reading_side(places, rows, half)
    constant = float((dweight * rows.label_square).sum())
    if places.layout.full:
        H[:U, :U] -= _projector_response(labels, state, parameter, change)
    label_fit.constrain(labels, H, side, change.inverse)
    if parameter.fresh:
        H += parameter.fresh * fresh.H
        side += parameter.fresh * fresh.side
        constant += parameter.fresh * fresh.constant
    return label_fit.Quadratic(H, side, constant)


def _projector_response(
    labels: label_fit.LabelProblem, state: FieldState, parameter: Parameter, change: Tangent
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
    return less - moved - moved.T - cross.T @ change.G @ cross


def special_shares(labels: label_fit.LabelProblem, state: FieldState, H: Floats) -> Shares:
    """Return the shares at a fixed point with the form H of the label problem."""
    places = labels.places
    inverse = inverse_form(places, H)[np.ix_(_counted(places), _counted(places))]
    share = _row_forms(labels, state.e, state.e, inverse)
    share = share - places.layout.directions * ((state.e @ state.G) * state.e).sum(-1)
    U, d, a = places.types, labels.d, state.a
    means = np.diag(inverse)[:U]
    neuron = (d * a - means) / (d * a) ** 2
    for initial in _initial_places(places):
        neuron = neuron + (np.diag(state.G)[U : 2 * U] - np.diag(inverse)[initial]) / (d * a**2)
    return Shares(np.maximum(share / labels.n, MIN_SHARE), neuron)


def shares_response(
    labels: label_fit.LabelProblem,
    state: FieldState,
    full_inverse: Floats,  # as `inverse_form` returns it
    tangent: Tangent,
    dH: Floats,
) -> Shares:
    """Return the derivatives of the shares along a tangent, with that of H."""
    places = labels.places
    counted, stop = _counted(places), places.field(places.layout.directions).start
    inverse, change = (
        full_inverse[np.ix_(counted, counted)],
        -full_inverse[counted] @ dH[:stop, :stop] @ full_inverse[:, counted],
    )
    D, U, d, a, da = places.layout.directions, places.types, labels.d, state.a, tangent.a
    share = _row_forms(labels, state.e, state.e, change)
    share = share + 2 * _row_forms(labels, tangent.e, state.e, inverse, means=False)
    eG = state.e @ state.G
    share = share - D * (2 * (eG * tangent.e).sum(-1) + ((state.e @ tangent.G) * state.e).sum(-1))
    means, means_change = np.diag(inverse)[:U], np.diag(change)[:U]
    neuron = (d * da - means_change) / (d * a) ** 2 - 2 * (d * a - means) * da / (d**2 * a**3)
    for initial in _initial_places(places):
        excess = np.diag(state.G)[U : 2 * U] - np.diag(inverse)[initial]
        excess_change = np.diag(tangent.G)[U : 2 * U] - np.diag(change)[initial]
        neuron = neuron + (excess_change - 2 * excess * da / a) / (d * a**2)
    return Shares(share / labels.n, neuron)


def _counted(places: label_fit.Places) -> np.ndarray:
    """Return the variables that are counted: means, intercept, fields of directions."""
    constant = [places.sets - 1] if places.intercept else []
    fields = np.arange(places.sets, places.field(places.layout.directions).start)
    return np.concatenate([np.arange(places.types), np.array(constant, int), fields])


def _initial_places(places: label_fit.Places) -> list[slice]:
    """Return the places, among those counted, of the initial weights along each direction."""
    U = places.types
    first = U + places.intercept
    return [
        slice(first + 3 * U * i + U, first + 3 * U * i + 2 * U)
        for i in range(places.layout.directions)
    ]


def inverse_form(places: label_fit.Places, H: Floats) -> Floats:
    """Return the inverse of the form without the constraint, made symmetric."""
    stop = places.field(places.layout.directions).start
    inverse = np.linalg.inv(H[:stop, :stop])
    return (inverse + inverse.T) / 2


def _row_forms(
    labels: label_fit.LabelProblem, left: Floats, right: Floats, form: Floats, means: bool = True
) -> Floats:
    """Return E[Phi^T form Phi] of training rows, with vectors e on either side.

    means : whether the left side reads means; a derivative of it does not.
    """
    places, rows = labels.places, labels.training.rows
    A = labels.features.A
    if places.intercept:
        A = np.concatenate([A, np.ones((*A.shape[:-1], 1))], -1)
    first, U3 = A.shape[-1], 3 * places.types
    total = ((A @ form[:first, :first]) * A).sum(-1) if means else np.zeros(A.shape[:-1])
    for i in range(places.layout.directions):
        field = slice(first + U3 * i, first + U3 * (i + 1))
        mixed = ((left @ form[field, :first]) * A).sum(-1)
        total = total + (1 + means) * rows.moments[..., 0, 1 + i] * mixed
        for k in range(places.layout.directions):
            other = slice(first + U3 * k, first + U3 * (k + 1))
            products = ((left @ form[field, other]) * right).sum(-1)
            total = total + rows.moments[..., 1 + i, 1 + k] * products
    return total
