r"""The labels as a finite quadratic problem at the fixed point.

What all neurons of a type, or a special direction, have in common is a variable h of its own: the
mean output of each type (prior d a), fields :math:`\sigma_i` along the special directions (v, the
teacher's off v, the readout row's), a field :math:`\tau` of the constraint, and what is of order
1/d. A row reads them with vectors :math:`\Phi_q`, one for each row variable q, and

.. math:: L_{tr} = \min_h\; h^\top H_0h
    + E_j\Big[\hat\pi_jE\big(y - \textstyle\sum_q q\,\Phi_q\cdot h\big)^2
    + \sum_{ik}E[x_ix_k]\,\sigma_i^\top X\sigma_k\Big]
    = E[\hat\pi y^2] - l^\top H^{-1}l.

*The constraint.* v is the direction of :math:`\sum_jr_jx_j`, so off v :math:`\sum_jr_jx_j = 0`:
given r the rows have the covariance :math:`\delta_{jk} - r_jr_k/\sum r^2`, an imaginary shift along
one random direction with the coordinate :math:`i\theta_rr_j`, :math:`\theta_r^2 = \varphi/E r^2`:

.. math:: H_{\tau\tau} = \theta_r^2E[r^2V(1 + \varphi GV)^{-1}] - G^{-1}.

*The readout row* (full residual). Neurons read :math:`u = W_0^\top a` with
:math:`h = (B_1P + B_0)g/\sqrt N`; :math:`W_0 = au^\top + (1 - aa^\top)\cdot\text{noise}`, and the
projector takes :math:`E[\hat\pi hh^\top] - E[h\tilde u^\top]GE[\tilde uh^\top]` off the means.

*Of order 1/d* (`second_order`): products of weights along v and the teacher's directions, read with
:math:`E\sigma''/2`; lengths; and a neuron's random own scale O with its multiplier, since the rows
that make O are read by it: :math:`2\lambda O - \varphi a\gamma^2\hat VE r^2\lambda^2`.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from onegrad.arrays import Floats
from onegrad.problem import Problem
from onegrad.theory.uniform.first_step import StepNumbers
from onegrad.theory.uniform.same_rows import training_rows
from onegrad.theory.uniform.same_rows.features import Features
from onegrad.theory.uniform.same_rows.fixed_point import FieldState
from onegrad.theory.uniform.same_rows.neurons import NeuronTypes, weights_in_the_plane

MIN_REST_ENERGY = 1e-9  # of the initial output beyond degree one


@dataclass(frozen=True)
class Places:
    """Places of the variables: sets of U, the intercept, fields of directions, the constraint."""

    types: int  # number U of types
    layout: training_rows.RowLayout  # of the row variables
    second_order: bool  # whether there are the sets of order 1/d
    intercept: bool  # whether a constant is fitted

    @cached_property
    def products(self) -> tuple[tuple[int, int], ...]:
        """Pairs of v and the teacher's directions, each with a set of its own."""
        directions = range(1 + self.layout.indices)
        return tuple(itertools.combinations_with_replacement(directions, 2))

    def set(self, index: int) -> slice:
        """Return the place of a set: 0 the means, then products, lengths, scales, multipliers."""
        return slice(index * self.types, (index + 1) * self.types)

    @property
    def lengths(self) -> slice:
        """Set of the neurons' lengths."""
        return self.set(1 + len(self.products))

    @property
    def scales(self) -> slice:
        """Set of the neurons' random own scales."""
        return self.set(2 + len(self.products))

    @property
    def multipliers(self) -> slice:
        """Set of the multipliers of these."""
        return self.set(3 + len(self.products))

    @cached_property
    def sets(self) -> int:
        """Number of variables in sets, with the intercept, which is the last of them."""
        count = 4 + len(self.products) if self.second_order else 1
        return count * self.types + self.intercept

    def field(self, direction: int) -> slice:
        """Return the place of the field of a direction; that of r is the constraint's."""
        return slice(*(self.sets + 3 * self.types * k for k in (direction, direction + 1)))

    @cached_property
    def count(self) -> int:
        """Number of variables."""
        return self.sets + 3 * self.types * (self.layout.directions + 1)

    @cached_property
    def read_directly(self) -> np.ndarray:
        """Variables with rows in the design: the sets, and the initial weights along v."""
        initial = self.sets + self.types + np.arange(self.types)
        return np.concatenate([np.arange(self.sets), initial])


@dataclass(frozen=True)
class Population:
    """Rows with how they read what is read directly."""

    rows: training_rows.RowPopulation
    design: Floats  # (G, K, q, variables)
    # h, how neurons read the readout row, (G, K, U); empty without the full residual
    row_reading: Floats


@dataclass(frozen=True)
class LabelProblem:
    """Everything of the quadratic problem but the fixed point."""

    places: Places
    d: int
    n: int
    training: Population
    fresh: Population
    features: Features
    fresh_e: Floats  # (G, K, 3U)
    constraint: float  # theta_r
    multiplier_reading: Floats  # (G, K, U) derivative of the training design by a
    multiplier_form: Floats  # (U,) minus the form of the multipliers over a


@dataclass(frozen=True)
class Quadratic:
    """The form H, the side l and the constant E[pi y^2] of a quadratic problem."""

    H: Floats
    side: Floats
    constant: float


def label_problem(
    problem: Problem,
    step: StepNumbers,
    types: NeuronTypes,
    training: training_rows.TrainingRows,
    fresh: training_rows.RowPopulation,
    features: Features,
    fresh_features: Features,
    second_order: bool,
) -> LabelProblem:
    """Return the quadratic problem of a problem's labels, before the fixed point is known."""
    rows = training.rows
    places = Places(len(types.g), rows.layout, second_order, problem.intercept)
    plane = weights_in_the_plane(problem, step, types, training) / problem.d
    scale = types.gamma * np.sqrt(step.own_noise * problem.n / training.residual_square)
    reading = features.turn * problem.phi * scale
    return LabelProblem(
        places=places,
        d=problem.d,
        n=problem.n,
        training=_population(problem, step, types, places, plane, rows, features, True),
        fresh=_population(problem, step, types, places, plane, fresh, fresh_features, False),
        features=features,
        fresh_e=np.concatenate([fresh_features.B1, *[np.zeros_like(fresh_features.B1)] * 2], -1),
        constraint=float(np.sqrt(problem.phi / training.residual_square)),
        multiplier_reading=reading,
        multiplier_form=problem.phi * scale**2 * training.residual_square,
    )


def _population(
    problem: Problem,
    step: StepNumbers,
    types: NeuronTypes,
    places: Places,
    plane: Floats,
    rows: training_rows.RowPopulation,
    features: Features,
    training: bool,
) -> Population:
    """Return rows with their design; what depends on a is added at the fixed point."""
    layout, U = rows.layout, places.types
    D = np.zeros((*rows.p.shape, layout.count, places.sets + U))
    means = places.set(0)
    D[..., 0, means] = features.A
    if training:  # A is linear in r within a bin
        D[..., layout.residual, means] = features.A_by_r
        D[..., 0, means] -= rows.residual[..., None] * features.A_by_r
    if places.intercept:
        D[..., 0, places.sets - 1] = 1.0
    reading = np.zeros((*rows.p.shape, 0))
    if layout.full:
        g = types.g / np.sqrt(problem.N)
        reading = (features.B1 * types.along + features.B0) * g
        row = training_rows.readout_row(step)
        D[..., 1, means] += row[0] * reading
        D[..., 2, means] += row[1] * reading
        D[..., layout.directions, means] += row[2] * reading
        if training and problem.sigma.variance - step.c1**2 > MIN_REST_ENERGY:
            D[..., layout.rest, means] = features.rest * g
    if places.second_order:
        _add_second_order(problem, step, types, places, plane, rows, features, D)
    return Population(rows, D, reading)


def _add_second_order(
    problem: Problem,
    step: StepNumbers,
    types: NeuronTypes,
    places: Places,
    plane: Floats,
    rows: training_rows.RowPopulation,
    features: Features,
    D: Floats,
) -> None:
    """Add to the design, in place, how rows read what is of order 1/d."""
    layout = rows.layout
    half = features.bend / 2
    bulk = types.rho**2 / problem.d
    excess = plane - bulk[:, None, None] * np.eye(plane.shape[-1])
    _add_products(layout, rows.kappa, half, excess, D, places.set(0))
    root = np.linalg.cholesky(plane + 1e-15 * np.eye(plane.shape[-1]))
    for index, (a, b) in enumerate(places.products, 1):
        # w_i = sum_a root_ia h_a with independent h_a; (h_a^2 - 1)/sqrt(2), h_a h_b have variance 1
        outer = root[:, :, None, a] * root[:, None, :, b]
        outer = (outer + outer.swapaxes(1, 2)) / np.sqrt(2 if a == b else 1)
        _add_products(layout, rows.kappa, half, outer, D, places.set(index))
    D[..., 0, places.lengths] = features.A_by_own * types.length_deviation
    D[..., 0, places.scales] = features.A_by_own
    # own = 6 c_3 gamma g b w_v, with w_v the initial weight along v
    D[..., 0, places.sets :] = features.A_by_own * (6 * step.c3 * step.b * types.gamma)


def _add_products(
    layout: training_rows.RowLayout,
    kappa: Floats,
    half: Floats,
    weights: Floats,
    D: Floats,
    columns: slice,
) -> None:
    """Add sum_ab weights_ab (X_a X_b - delta_ab) E sigma''/2 to columns of the design, in place."""
    index = kappa[..., None]
    D[..., 0, columns] += half * weights[:, 0, 0] * (index**2 - 1)
    for i in range(layout.indices):
        D[..., 2 + i, columns] += half * 2 * weights[:, 0, 1 + i] * index
    for place, (i, k) in enumerate(layout.pairs, layout.quadratic):
        twice = 1 if i == k else 2
        D[..., place, columns] += half * twice * weights[:, 1 + i, 1 + k]


@dataclass(frozen=True)
class Reading:
    """Vectors Phi of R rows."""

    design: Floats  # (R, q, variables) the part that is read directly, one vector per row variable
    e: Floats  # (R, 3U) the part of each field

    @classmethod
    def of(cls, design: Floats, e: Floats) -> Reading:
        """Return the reading of rows in groups."""
        return cls(design.reshape(-1, *design.shape[2:]), e.reshape(-1, e.shape[-1]))

    def weighted(self, weight: Floats) -> Reading:
        """Return the reading times a weight of each row."""
        column = weight.reshape(-1, 1)
        return Reading(column[:, :, None] * self.design, column * self.e)

    def copy(self) -> Reading:
        """Return a copy."""
        return Reading(self.design.copy(), self.e.copy())


def training_reading(labels: LabelProblem, a: Floats, e: Floats) -> Reading:
    """Return how training rows read the variables at the fixed point."""
    places, D = labels.places, labels.training.design
    if places.second_order:
        D = D.copy()
        D[..., places.layout.residual, places.multipliers] = labels.multiplier_reading * a
    return Reading.of(D, e)


def quadratic_problem(labels: LabelProblem, state: FieldState) -> Quadratic:
    """Return the quadratic problem of the labels at a fixed point."""
    places, rows, U = labels.places, labels.training.rows, labels.places.types
    weight = rows.p * state.pi
    at = training_reading(labels, state.a, state.e_tilde)
    weighted = at.weighted(weight)
    H = reading_form(places, rows, weighted, at)
    add_moved_form(H, places, rows, state.X)
    add_prior_form(H, labels, 1 / state.a, state.a, state.V0)
    if places.second_order:
        scales, multipliers = (
            np.arange(places.count)[s] for s in (places.scales, places.multipliers)
        )
        H[scales, multipliers] += 1.0
        H[multipliers, scales] += 1.0
    if places.layout.full:
        h = labels.training.row_reading.reshape(-1, U)
        weighted_h = (weight * rows.length[:, None]).reshape(-1, 1) * h
        cross = at.e.T @ weighted_h
        H[:U, :U] -= h.T @ weighted_h - cross.T @ state.G @ cross
    side = reading_side(places, rows, weighted)
    constrain(labels, H, side, state.inverse)
    return Quadratic(H, side, float((weight * rows.label_square).sum()))


def reading_form(
    places: Places, rows: training_rows.RowPopulation, left: Reading, right: Reading
) -> Floats:
    """Return E[sum_qq' E[q q'] Phi_q Phi_q'^T], weights being in the left reading."""
    R, U3 = right.e.shape
    at, sets, fields = places.read_directly, places.sets, places.layout.directions + 1
    size, of_fields = len(at), slice(1, 1 + fields)
    moments = rows.moments.reshape(R, *rows.moments.shape[2:])
    H = np.zeros((places.count, places.count))
    seen = moments @ right.design
    H[np.ix_(at, at)] = left.design.reshape(-1, size).T @ seen.reshape(-1, size)
    back = (left.e.T @ seen[:, of_fields].reshape(R, -1)).reshape(U3, fields, size)
    H[sets:, at] += back.swapaxes(0, 1).reshape(-1, size)
    seen = moments[:, of_fields] @ left.design
    across = (seen.reshape(R, -1).T @ right.e).reshape(fields, size, U3)
    H[at, sets:] += across.swapaxes(0, 1).reshape(size, -1)
    i, k = np.triu_indices(fields)  # blocks (i, k) and (k, i) are the same
    products = moments[:, 1 + i, 1 + k, None] * left.e[:, None]
    upper = (products.reshape(R, -1).T @ right.e).reshape(len(i), U3, U3)
    blocks = np.empty((fields, fields, U3, U3))
    blocks[i, k] = blocks[k, i] = upper
    H[sets:, sets:] += blocks.swapaxes(1, 2).reshape(fields * U3, -1)
    return H


def reading_side(places: Places, rows: training_rows.RowPopulation, weighted: Reading) -> Floats:
    """Return E[sum_q E[y q] Phi_q], weights being in the reading."""
    side = np.zeros(places.count)
    label = rows.label.reshape(len(weighted.e), -1)
    side[places.read_directly] = np.tensordot(label, weighted.design, axes=2)
    side[places.sets :] += (label[:, 1 : 2 + places.layout.directions].T @ weighted.e).ravel()
    return side


def add_moved_form(H: Floats, places: Places, rows: training_rows.RowPopulation, X: Floats) -> None:
    """Add E[x_i x_k] X on the fields of the directions, from X of the groups, in place."""
    fields, m, U3 = places.layout.directions + 1, X.shape[-1], 3 * places.types
    of_fields = slice(1, 1 + fields)
    weight = np.einsum("gk,gkij->gij", rows.p, rows.moments[:, :, of_fields, of_fields])
    blocks = np.zeros((fields, U3, fields, U3))
    blocks[:, -m:, :, -m:] = np.tensordot(weight, X, axes=(0, 0)).swapaxes(1, 2)
    H[places.sets :, places.sets :] += blocks.reshape(fields * U3, -1)


def add_prior_form(
    H: Floats, labels: LabelProblem, inverse_a: Floats, a: Floats, V0: Floats
) -> None:
    """Add the form of the variables without rows, in place; linear in 1/a, a and V_0."""
    places = labels.places
    sets = places.sets - places.intercept
    diagonal = np.tile(inverse_a / labels.d, sets // places.types)
    if places.second_order:
        diagonal[places.scales] = 0.0
        diagonal[places.multipliers] = -labels.multiplier_form * a
    H[range(sets), range(sets)] += diagonal
    for i in range(places.layout.directions):
        H[places.field(i), places.field(i)] += V0


def constrain(labels: LabelProblem, H: Floats, side: Floats, inverse: Floats) -> None:
    """Make the field of r, which is the last, that of the constraint, in place."""
    tau = labels.places.field(labels.places.layout.directions)
    H[tau] *= labels.constraint
    H[:, tau] *= labels.constraint
    side[tau] *= labels.constraint
    H[tau, tau] -= inverse
