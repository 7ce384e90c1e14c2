r"""Shares of the few special variables in the equations of the bulk, of order 1/n and 1/d.

A row's own share in the fit counts every variable that it reads,

.. math:: \chi_j = \frac1n\Big[E\,\Phi_j^\top H^{-1}\Phi_j - D\,e_j^\top Ge_j\Big],

less that of the D ordinary directions whose place the special ones take; a neuron's likewise.
"""

from __future__ import annotations

import numpy as np

from onegrad.arrays import Floats
from onegrad.theory.uniform.same_rows.fixed_point import FieldState, Shares
from onegrad.theory.uniform.same_rows.label_fit import LabelProblem, Places
from onegrad.theory.uniform.same_rows.response import Tangent

MIN_SHARE = -0.5  # in 1/c of a row, where it is at least one


def special_shares(labels: LabelProblem, state: FieldState, H: Floats) -> Shares:
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
    labels: LabelProblem, state: FieldState, full_inverse: Floats, tangent: Tangent, dH: Floats
) -> Shares:
    """Return the derivatives of the shares along a tangent, with that of H.

    full_inverse : as `inverse_form` returns it.
    """
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


def _counted(places: Places) -> np.ndarray:
    """Return the variables that are counted: means, intercept, fields of directions."""
    constant = [places.sets - 1] if places.intercept else []
    fields = np.arange(places.sets, places.field(places.layout.directions).start)
    return np.concatenate([np.arange(places.types), np.array(constant, int), fields])


def _initial_places(places: Places) -> list[slice]:
    """Return the places, among those counted, of the initial weights along each direction."""
    U = places.types
    first = U + places.intercept
    return [
        slice(first + 3 * U * i + U, first + 3 * U * i + 2 * U)
        for i in range(places.layout.directions)
    ]


def inverse_form(places: Places, H: Floats) -> Floats:
    """Return the inverse of the form without the constraint, made symmetric."""
    stop = places.field(places.layout.directions).start
    inverse = np.linalg.inv(H[:stop, :stop])
    return np.asarray((inverse + inverse.T) / 2)


def _row_forms(
    labels: LabelProblem, left: Floats, right: Floats, form: Floats, means: bool = True
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
    return np.asarray(total)
