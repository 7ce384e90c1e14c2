r"""The fit of the labels: a quadratic problem in the few variables that know them.

Ridge reads features (`features`) through

* the mean outputs :math:`\alpha_u = \sum_{i\in u}a_i`, with the readings A;
* products of random weights along special directions, by :math:`E\sigma''/2`; squares of lengths;
  own scales, which rows of the step have made (a pair with its multiplier);
* an intercept;
* the fields along special directions, with the readings :math:`e\,X_i`, and constraint fields, with
  coordinates :math:`i\sqrt{\varphi_0}c` of the row and the form :math:`-G^{-1}`.

The fields along special directions have, all others being integrated out, the form

.. math:: C^{-1} - 1\otimes Q + \text{(their rows)},\qquad C_{ik} = \sum_sP_{ik}(s)G_s,

for isotropic inputs the form without rows. With the full residual initial weights have a mean
:math:`g/\sqrt N` along the readout row: the prior becomes :math:`(\sigma - c\alpha)^\top
C^{-1}(\sigma - c\alpha)`, :math:`c_i = \sum_sP_{i\hat u}(s)G_s[\cdot,T^0]g/(\sqrt N\,as|w|^2)`. For
equal readouts and an even activation, products of that mean with T are read too.

The objective is :math:`Ey^2\hat\pi - h^\top Hh` at :math:`h = H^{-1}E[y\hat\pi\Phi]`. What these
variables take from rows and neurons, of order 1/n and 1/d, are *shares* in the equations.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from onegrad.arrays import Floats
from onegrad.theory.uniform.features import Features, StepFeatures
from onegrad.theory.uniform.laws.neurons import Types
from onegrad.theory.uniform.laws.rows import Population, RowVariables, StepMoments
from onegrad.theory.uniform.pencil import (
    Forms,
    Numbers,
    Parameter,
    Pencil,
    RowState,
    Shares,
    State,
    inverse_of_steps,
    linear_energy,
    no_shares,
)
from onegrad.theory.uniform.step import Step

if TYPE_CHECKING:  # which has readings
    from onegrad.theory.uniform.discretise import Steps

IndexArray = np.ndarray[Any, np.dtype[np.intp]]

MIN_SIGNAL = 1e-9  # part of a direction in the step, from which own scales know it
MAX_COVARIANCE = 0.5  # of a neuron's length with what ridge makes of it
MIN_SHARE_OF_ROWS = -0.5  # of the special variables in 1/c of a row


@dataclass(frozen=True)
class Places:
    """Places of the variables: sets of U each, an intercept, fields of directions, constraints."""

    types: int  # U
    fields: int  # F, of a direction
    row: RowVariables
    second_order: bool  # whether products, lengths and own scales are variables
    chaos: int  # sets of Hermite parts of features
    intercept: bool
    owners: tuple[int, ...]  # directions of the step, whose initial weights own scales know
    leaning: tuple[int, ...]  # directions whose T is read in products with the readout row

    @cached_property
    def products(self) -> tuple[tuple[int, int], ...]:
        """Pairs of special directions whose weights' products are sets."""
        return tuple(itertools.combinations_with_replacement(range(1 + self.row.indices), 2))

    @property
    def lengths(self) -> slice:
        """Set of the lengths."""
        return self.set(1 + len(self.products))

    @property
    def scales(self) -> slice:
        """Set of the own scales."""
        return self.set(2 + len(self.products))

    @property
    def multipliers(self) -> slice:
        """Set of the multipliers of own scales."""
        return self.set(3 + len(self.products))

    def hermite_part(self, k: int) -> slice:
        """Set of a Hermite part of the features."""
        return self.set((4 + len(self.products) if self.second_order else 1) + k)

    @cached_property
    def sets(self) -> int:
        """Number of variables before the fields."""
        return self.hermite_part(self.chaos).start + self.intercept

    @property
    def block(self) -> int:
        """Number of variables of a direction."""
        return self.fields * self.types

    @property
    def count(self) -> int:
        """Number of variables."""
        return self.sets + self.block * self.row.fields

    def fields_of(self, rows: Population) -> int:
        """Return the number of directions and constraints that rows have."""
        return self.row.fields if rows.rows.step else self.row.directions

    def set(self, k: int) -> slice:
        """Return the k-th set."""
        return slice(k * self.types, (k + 1) * self.types)

    def direction(self, i: int) -> slice:
        """Return all fields of a direction, or of a constraint."""
        return slice(self.sets + self.block * i, self.sets + self.block * (i + 1))

    def field(self, i: int, k: int) -> slice:
        """Return the k-th field of a direction."""
        start = self.sets + self.block * i + self.types * k
        return slice(start, start + self.types)

    @property
    def initial(self) -> int:
        """Place of T0 among the fields."""
        return self.fields // 2

    @cached_property
    def direct(self) -> IndexArray:
        """Variables that rows read by themselves, and not through e."""
        fields = [self.field(i, self.initial) for i in self.owners]
        fields += [self.field(i, 0) for i in self.leaning]
        every = np.arange(self.count)
        return np.concatenate([every[: self.sets], *[every[f] for f in fields]])


@dataclass(frozen=True)
class Reading:
    """A population of rows, and what ridge and steps read of neurons there."""

    rows: Population
    features: Features | StepFeatures | None  # of rows of ridge
    forms: Forms
    # (G K, q, variables) of what is read directly, see `design_of`
    design: Floats = field(default_factory=lambda: np.zeros((0, 1, 0)))

    @cached_property
    def seen(self) -> Floats:
        """Second moments of the row variables times the design."""
        q = self.design.shape[1]
        return self.rows.moments.reshape(-1, q, q) @ self.design

    @cached_property
    def used(self) -> IndexArray:
        """Row variables that the design reads."""
        return np.flatnonzero(self.design.any(axis=(0, 2)))

    @cached_property
    def design_read(self) -> Floats:
        """The design of these, (variables, rows)."""
        return self.design[:, self.used].reshape(-1, self.design.shape[-1])

    @cached_property
    def seen_read(self) -> Floats:
        """Second moments of these times the design."""
        return np.ascontiguousarray(self.seen[:, self.used])


@dataclass(frozen=True)
class Equations:
    """Laws with given nodes: all but the unknowns."""

    steps: Steps
    places: Places
    pencil: Pencil
    leading_order: bool = False  # without shares

    @property
    def step(self) -> Step:
        """The step, with the directions of all steps."""
        return self.steps.step

    @property
    def types(self) -> Types:
        """Types of neurons."""
        return self.steps.types

    @cached_property
    def prior(self) -> Floats:
        """Form of the initial weights, times a, (R, U)."""
        k = self.places.initial
        return self.pencil.over_a[:, k, k]

    @cached_property
    def mean_weight(self) -> Floats | None:
        """Mean of initial weights along the readout row, where the residual knows it."""
        return self.types.g / np.sqrt(self.step.laws.neurons.N) if self.step.full else None

    @cached_property
    def of_test(self) -> _Sums:
        """Readings of fresh rows of mass one."""
        forms = self.pencil.test
        sums = _Sums.zeros(self.places.count, np.dtype(float))
        e = forms.e.reshape(*forms.e.shape[:2], -1)
        sums.add(self.places, self.steps.test, e, forms.mass)
        return sums


@dataclass
class _Sums:
    """Sums over rows for labels y, and for labels of one: a mean that was taken off has an error.

    E[pi Phi Phi^T], E[pi y Phi] and E[pi y^2].
    """

    H: Numbers
    sides: Numbers  # (2, count)
    constants: Numbers  # (2,)

    @classmethod
    def zeros(cls, count: int, dtype: np.dtype[Any]) -> _Sums:
        """Return empty sums."""
        return cls(np.zeros((count, count), dtype), np.zeros((2, count), dtype), np.zeros(2, dtype))

    def add(
        self,
        places: Places,
        reading: Reading,
        e: Numbers,
        weight: Numbers,
    ) -> None:
        """Add rows."""
        fields = places.fields_of(reading.rows)
        R, width = weight.size, e.shape[-1]
        D, seen, rows = reading.design, reading.seen, reading.rows
        size = D.shape[-1]
        e, w, at = e.reshape(R, width), weight.reshape(R, 1), places.direct
        q = D.shape[1]
        moments, label = rows.moments.reshape(R, q, q), rows.label.reshape(R, q)
        weighted = w * e
        weighted_seen = (w[:, :, None] * reading.seen_read).reshape(-1, size)
        square = _real_times(reading.design_read.T, weighted_seen)
        self.H[np.ix_(at, at)] += square
        back = _real_times(seen[:, 1 : 1 + fields].reshape(R, -1).T, weighted)
        back = back.T.reshape(width, fields, size)
        for i in range(fields):
            start = places.direction(i).start
            f = slice(start, start + width)
            self.H[f, at] += back[:, i]
            self.H[at, f] += back[:, i].T
            for k in range(i, fields):
                moment = moments[:, 1 + i, 1 + k]
                if not moment.any():
                    continue
                block = (weighted * moment[:, None]).T @ e
                g = slice(places.direction(k).start, places.direction(k).start + width)
                self.H[f, g] += block
                if k != i:
                    self.H[g, f] += block.T
        _add_sides(places, reading, e, w * np.array([label, moments[:, 0]]), self.sides)
        self.constants += [(weight * rows.label_square).sum(), weight.sum()]


def _add_sides(
    places: Places,
    reading: Reading,
    e: Numbers,
    means: Numbers,  # (L, R, q)
    sides: Numbers,
) -> None:
    """Add E[f Phi] over rows to sides (L, count), in place, from means of f x weighted by rows."""
    direct = np.ascontiguousarray(means[:, :, reading.used]).reshape(len(means), -1)
    sides[:, places.direct] += direct @ reading.design_read
    for i in range(places.fields_of(reading.rows)):
        start = places.direction(i).start
        sides[:, start : start + e.shape[-1]] += means[:, :, 1 + i] @ e


def sides_of_functions(
    eq: Equations, state: State, functions: Callable[[Floats], Floats]
) -> tuple[Numbers, Floats]:
    """Return E[f pi Phi], (L, count), and E f^2 over rows of ridge of functions f of the index."""
    places = eq.places
    sides, squares = list[Numbers](), list[Floats]()
    for reading, at in zip(eq.steps.readings, state.rows, strict=True):
        if reading.features is None:
            continue
        mass, f = reading.forms.mass, functions(reading.rows.kappa)
        f = f.reshape(len(f), -1)
        sides.append(np.zeros((len(f), places.count), at.pi.dtype))
        e = at.e_tilde.reshape(-1, at.e_tilde.shape[-1])
        moments = reading.rows.moments[:, :, 0].reshape(len(e), -1)
        means = (f * (mass * at.pi).ravel())[:, :, None] * moments
        _add_sides(places, reading, e, means, sides[-1])
        squares.append(f**2 @ mass.ravel())
    return np.sum(sides, axis=0), np.sum(squares, axis=0)


def _real_times(left: Floats, right: Numbers) -> Numbers:
    """Return a product of matrices of which the first is real."""
    if right.dtype.kind != "c":
        return left @ right
    parts = np.ascontiguousarray(right).view(float)
    return np.asarray((left @ parts).view(complex))


@dataclass
class Quadratic(_Sums):
    """The quadratic problem at a point."""

    C: Numbers  # (p FU, p FU) covariance of the fields of directions
    C_inverse: Numbers


def quadratic_problem(eq: Equations, state: State, parameter: Parameter | None = None) -> Quadratic:
    """Return the quadratic problem of the labels at a point of the equations."""
    places, a, initial = eq.places, state.a, eq.types.initial
    directions = places.row.directions
    sums = _Sums.zeros(places.count, a.dtype)
    _add_sets(eq, sums.H, state, 0.0 if parameter is None else parameter.test)
    C, C_inverse = _fields_of_directions(eq, state)
    _add_directions(eq, sums.H, state, C_inverse)
    for reading, at in zip(eq.steps.readings, state.rows, strict=True):
        if reading.forms.step:
            _add_moved(places, sums.H, reading, at)
    means = places.set(0)
    if initial is not None:  # rows of ridge read T less what the features contain
        for i in np.flatnonzero(initial.index.any(0)):
            _shift(sums.H, means, places.field(int(i), 0), initial.index[:, i])
    for reading, at in zip(eq.steps.readings, state.rows, strict=True):
        if reading.features is not None:
            sums.add(places, reading, at.e_tilde, reading.forms.mass * at.pi)
    if parameter is not None and parameter.test:
        fresh, mass = eq.of_test, parameter.test
        sums.H += mass * fresh.H
        sums.sides += mass * fresh.sides
        sums.constants += mass * fresh.constants
    if initial is not None:
        every = np.arange(places.count)
        starts = np.array([every[places.field(i, places.initial)] for i in range(directions)])
        for sums_of_rows in (sums.H, sums.H.T, sums.sides.T):
            _turn_starts(sums_of_rows, starts, initial.toward)
        start = places.field(0, places.initial)
        _shift(sums.H, means, start, initial.start)
        of_types = places.direction(0) if initial.whole_weight else start
        sums.sides[:, means] += initial.start * sums.sides[:, start]
        sums.sides[:, of_types] = 0.0
        sums.H[of_types], sums.H[:, of_types] = 0.0, 0.0
        sums.H[of_types, of_types] = np.eye(of_types.stop - of_types.start)
    return Quadratic(sums.H, sums.sides, sums.constants, C, C_inverse)


def _shift(H: Numbers, means: slice, field: slice, shift: Floats) -> None:
    """Let a field be its new self plus `shift` times the means, in place."""
    H[means] += shift[:, None] * H[field]
    H[:, means] += H[:, field] * shift


def _turn_starts(sums: Numbers, at: IndexArray, toward: Floats) -> None:
    """Let the first T^0 be that along q, by a reflection of directions, in place.

    at : places of T^0 of all directions, (p, U).
    """
    away = toward - np.eye(len(toward))[0]
    square = float(away @ away)
    if square:
        sums[at] -= np.multiply.outer(2 / square * away, np.tensordot(away, sums[at], axes=1))


def _add_moved(places: Places, H: Numbers, reading: Reading, at: RowState) -> None:
    """Add E[x_i x_k] X on the fields of directions and constraints, in place."""
    f, rows, forms = places.row.fields, reading.rows, reading.forms
    moments = rows.moments[:, :, 1 : 1 + f, 1 : 1 + f] if forms.ridge else rows.moments
    weight = np.einsum("gk,gkij->gij", forms.mass, moments)
    U, X = places.types, at.X
    assert X is not None
    m = len(forms.moved)
    inner = np.concatenate([np.arange(k * U, (k + 1) * U) for k in forms.moved])
    blocks = np.tensordot(weight, X, axes=(0, 0)).swapaxes(1, 2).reshape(f * m * U, -1)
    every = (places.sets + places.block * np.arange(f)[:, None] + inner).ravel()
    H[np.ix_(every, every)] += blocks


def _add_sets(eq: Equations, H: Numbers, state: State, test: complex) -> None:
    """Add the form of the sets, in place; test is the mass of fresh rows."""
    places, a = eq.places, state.a
    count = places.sets - places.intercept
    diagonal = np.tile(1 / (eq.step.inputs.d * a), count // places.types)
    if eq.types.initial is not None:  # of T0 along q: the types have it
        of_types = eq.types.initial.square / (eq.step.inputs.d * state.a_initial)
        diagonal[: places.types] -= of_types
    if places.second_order:
        diagonal[places.scales] = 0.0
        diagonal[places.multipliers] = -eq.steps.multiplier_form / a
        scales, multipliers = (
            np.arange(places.count)[x] for x in (places.scales, places.multipliers)
        )
        H[scales, multipliers] += 1 / a
        H[multipliers, scales] += 1 / a
    H[range(count), range(count)] += diagonal
    if eq.types.length_deviation:
        _add_lengths(eq, H, state, test)


def _add_lengths(eq: Equations, H: Numbers, state: State, test: complex) -> None:
    """Add that lengths covary with mean outputs, in place."""
    places, covariance = eq.places, length_covariance(eq, state, test)
    form = 1 / (eq.step.inputs.d * state.a * (1 - covariance**2))
    means, lengths = (np.arange(places.count)[x] for x in (places.set(0), places.lengths))
    H[means, means] += covariance**2 * form
    H[lengths, lengths] += covariance**2 * form
    H[means, lengths] -= covariance * form
    H[lengths, means] -= covariance * form


def length_covariance(eq: Equations, state: State, test: complex = 0.0) -> Numbers:
    r"""Return by how much ridge uses long neurons more, or less, than short ones, (U,).

    .. math:: \rho = \frac{E[a\xi]}{E a} = -\frac{\partial\log\delta}{\partial\xi}, \qquad
        |w|^2 = 1 + \sqrt{2/d}\,\xi

    It moves mean outputs by :math:`\rho\,\partial A/\partial\xi`, the noise likewise, the mean of
    a by :math:`\rho^2` and its product with the squared length by :math:`\rho\sqrt{2/d}`, all of
    relative order 1/d.
    """
    types, unseen = eq.types, eq.steps.test
    assert unseen.features is not None
    more = unseen.features.noise_by_length * types.length_deviation
    growth = test * np.tensordot(unseen.rows.mass, more, axes=2)
    for reading, at in zip(eq.steps.readings, state.rows, strict=True):
        if reading.features is not None:
            more = reading.features.noise_by_length * types.length_deviation
            growth = growth + np.tensordot(reading.forms.mass * at.pi, more, axes=2)
    linear = linear_energy(eq.pencil, state.a_initial, state.G_of_groups)
    growth = growth + 2 * linear * types.length_deviation
    covariance = -growth / state.delta
    largest = np.maximum(np.abs(covariance.real), MAX_COVARIANCE)
    return np.asarray(covariance * MAX_COVARIANCE / largest)


def _add_directions(eq: Equations, H: Numbers, state: State, C_inverse: Numbers) -> None:
    """Add the form of the fields of directions and constraints without rows, in place."""
    places, p = eq.places, eq.places.row.directions
    fields = slice(places.sets, places.direction(p).start)
    H[fields, fields] += C_inverse
    for i in range(p):
        f = places.direction(i)
        H[f, f] -= state.Q
    if eq.mean_weight is not None:
        means, pull = places.set(0), eq.prior / state.a * eq.mean_weight
        start = state.G_of_groups[:, :, _initial(places)]
        shift = np.einsum("ir,rfu,ru->ifu", eq.step.row_overlap, start, pull)
        shift = shift.reshape(-1, places.types)
        back = C_inverse @ shift
        H[fields, means] -= back
        H[means, fields] -= back.T
        H[means, means] += shift.T @ back
    if places.row.constraints:
        inverse = np.linalg.inv(state.G)
        for i in range(p, places.row.fields):
            f = places.direction(i)
            H[f, f] -= inverse


def _initial(places: Places) -> slice:
    return slice(places.initial * places.types, (places.initial + 1) * places.types)


def _fields_of_directions(eq: Equations, state: State) -> tuple[Numbers, Numbers]:
    """Return C, as the equations of the bulk have it, and its inverse, as the problem has it."""
    p, size = eq.places.row.directions, eq.places.block
    if eq.step.inputs.isotropic:
        i = np.arange(p)
        blocks, form = (np.zeros((p, size, p, size), state.G.dtype) for _ in range(2))
        blocks[i, :, i] = state.G
        form[i, :, i] = eq.pencil.without_rows(state.a_initial)[0] + state.Q
        return blocks.reshape(p * size, -1), form.reshape(p * size, -1)
    C = np.tensordot(eq.step.overlap, state.G_of_groups, axes=1)
    C = C.swapaxes(1, 2).reshape(p * size, -1)
    return C, np.linalg.inv(C)


def special_shares(eq: Equations, state: State, quadratic: Quadratic) -> Shares:
    """Return the shares of the special variables in 1/c of rows and in delta."""
    if eq.leading_order:
        return no_shares(eq.pencil)
    places, a, d = eq.places, state.a, eq.step.inputs.d
    U, p, size = places.types, places.row.directions, places.block
    stop = places.direction(p).start
    inverse = inverse_of_steps(quadratic.H[:stop, :stop])
    inverse = (inverse + inverse.T) / 2
    first = [*range(U), *([places.sets - 1] if places.intercept else [])]
    counted = np.array([*first, *range(places.sets, stop)])
    inverse, k, initial = inverse[np.ix_(counted, counted)], len(first), eq.types.initial
    if initial is not None:
        starts = k + np.arange(p * size).reshape(p, size)[:, _initial(places)]
        of_types = k + np.arange(size) if initial.whole_weight else starts[0]
        inverse[of_types], inverse[:, of_types] = 0.0, 0.0
        for side in (inverse, inverse.T):
            _turn_starts(side, starts, initial.toward)
    off_row = _off_readout_row(eq, state, inverse[:U, :U])
    of_length: Numbers = np.zeros(U)
    if eq.types.length_deviation:
        of_length = length_covariance(eq, state)
    rows: list[Any] = []
    for reading, at in zip(eq.steps.readings, state.rows, strict=True):
        if reading.features is None:
            rows.append(0.0)
            continue
        total = _share_of_rows(eq, reading.rows, reading.features, at, inverse, k, quadratic.C)
        if off_row is not None:
            width = at.e.shape[-1]
            square = ((at.e @ off_row[0][:width, :width]) * at.e).sum(-1)
            total = total - reading.rows.length[:, None] * square
        total = total / eq.step.laws.ridge_count
        more = reading.features.noise_by_length * eq.types.length_deviation
        total = total + eq.pencil.phi * (more @ (a * of_length))
        rows.append(np.where(total.real > MIN_SHARE_OF_ROWS, total, MIN_SHARE_OF_ROWS))
    neurons = (d * a - np.diag(inverse)[:U]) / (d * a) ** 2
    # parts of fields in the means: of types, and of initial weights along the readout row
    shift, each = np.zeros((p, places.fields, U, U)), np.arange(U)
    if initial is not None:
        less = initial.square * np.diag(inverse)[:U] - d * state.a_initial
        neurons = neurons + less / (d * a) ** 2
        shift[:, 0, each, each] = initial.index.T
        shift[:, places.initial, each, each] = np.outer(initial.toward, initial.start)
    if eq.mean_weight is not None:
        of_row = np.outer(eq.step.row_overlap.sum(1), eq.mean_weight)
        shift[:, places.initial, each, each] -= of_row
    on_means = shift.reshape(p * size, U)
    cross = on_means @ inverse[:U, k:]
    Z = inverse[k:, k:] + cross + cross.T + on_means @ inverse[:U, :U] @ on_means.T
    Y = quadratic.C_inverse @ (Z - quadratic.C) @ quadratic.C_inverse
    start = state.G_of_groups[:, :, _initial(places)]
    of_groups = np.tensordot(eq.step.overlap, Y.reshape(p, size, p, size), ((0, 1), (0, 2)))
    held = (eq.prior * (start * (of_groups @ start)).sum(1)).sum(0)
    if off_row is not None:
        held = held - off_row[1]
    neurons = neurons - held / (d * a**2) - of_length**2 * state.delta
    return Shares(tuple(rows), neurons, 2 * eq.types.length_deviation * of_length)


def _share_of_rows(
    eq: Equations,
    rows: Population,
    features: Features,
    at: RowState,
    inverse: Numbers,
    k: int,  # number of variables before the fields
    C: Numbers,
) -> Numbers:
    """Return n times what the special variables add to 1/c of rows, (G, K)."""
    places, e = eq.places, at.e
    width, size = e.shape[-1], places.block
    A: Numbers = features.A
    initial, start = eq.types.initial, _initial(places)
    if initial is not None and width > start.start:  # T^0 along q is a part of the means
        along = rows.moments[..., 0, 1 : 1 + len(initial.toward)] @ initial.toward
        A = A + e[..., start] * (along[..., None] * initial.start)
    if places.intercept:
        A = np.concatenate([A, np.ones((*A.shape[:-1], 1))], -1)
    total = ((A @ inverse[:k, :k]) * A).sum(-1)
    for i in range(places.row.directions):
        f = slice(size * i, size * i + width)
        at_i = slice(k + f.start, k + f.stop)
        total = total + 2 * rows.moments[..., 0, 1 + i] * ((e @ inverse[at_i, :k]) * A).sum(-1)
        total = total - ((e @ C[f, f]) * e).sum(-1)
        for j in range(i, places.row.directions):  # and as much for j, i
            moment = (1 + (i != j)) * rows.moments[..., 1 + i, 1 + j]
            if moment.any():
                at_j = slice(k + size * j, k + size * j + width)
                total = total + moment * ((e @ inverse[at_i, at_j]) * e).sum(-1)
    return total


def _off_readout_row(eq: Equations, state: State, means: Numbers) -> tuple[Numbers, Numbers] | None:
    """Return the forms of initial weights off the readout row, (FU, FU), and in delta, (U,).

    They are an imaginary random direction where the residual knows that row; `means` is the inverse
    form of alpha.
    """
    g = eq.mean_weight
    if g is None:
        return None
    inputs, at = eq.step.inputs, _initial(eq.places)
    part = inputs.omega * inputs.s
    pull = state.G_of_groups[:, :, at] * (eq.prior / state.a * g)[:, None]
    rows = np.einsum("r,rfu,uv,rgv->fg", part, pull, means, pull, optimize=True)
    less = pull[:, at] - np.diag(g)
    return rows, np.einsum("r,ru,rui,ij,ruj->u", part, eq.prior, less, means, less, optimize=True)


def design_of(
    places: Places,
    step: Step,
    types: Types,
    moments: StepMoments,
    rows: Population,
    features: Features,
    plane: Floats,
) -> Floats:
    """Return how rows of ridge read what is read directly, (G K, q, variables).

    Multipliers of own scales are in units of 1/a.
    """
    variables, g = places.row, types.g / np.sqrt(step.laws.neurons.N)
    D = np.zeros((*rows.mass.shape, variables.count, len(places.direct)))
    means, residual = places.set(0), residual_reading(variables, step, moments)
    D[..., 0, means] = features.A
    if isinstance(features, StepFeatures):
        # A is linear in r within a group
        D[..., means] += features.A_by_r[..., None, :] * residual[:, None]
        D[..., 0, means] -= rows.residual[..., None] * features.A_by_r
        for k in range(variables.rests):
            D[..., variables.rest + k, means] = features.rests[k] * g
    if places.intercept:
        D[..., 0, places.sets - 1] = 1.0
    for k, part in enumerate(features.chaos):
        D[..., 0, places.hermite_part(k)] = part
    if places.second_order:
        _add_second_order(places, step, types, rows, features, plane, D)
        if isinstance(features, StepFeatures):
            multiplier = features.turn * step.phi0 * own_scale(step, types)
            D[..., places.multipliers] = multiplier[..., None, :] * residual[:, None]
    mean = np.zeros((places.types, 1 + variables.indices))
    if places.leaning:
        mean = _mean_along_readout_row(step, types, moments)[:, : 1 + variables.indices]
    for i, k in enumerate(places.leaning):
        # sum_i a_i (mean.x)((w_i - mean).x) E sigma''
        weights = np.zeros((places.types, *[1 + variables.indices] * 2))
        weights[:, :, k] += mean
        weights[:, k, :] += mean
        of_mean = -weights * mean[:, k, None, None]
        _add_products(variables, rows.kappa, features.bend / 2, of_mean, D, means)
        start = places.sets + (len(places.owners) + i) * places.types
        columns = slice(start, start + places.types)
        _add_products(variables, rows.kappa, features.bend / 2, weights, D, columns)
    return D.reshape(-1, *D.shape[2:])


def _mean_along_readout_row(step: Step, types: Types, moments: StepMoments) -> Floats:
    """Return the means of weights along special directions that initial ones have by it, (U, p)."""
    row = step.row_overlap.sum(1)
    if types.initial is not None:  # what is along q is in the types
        row = row - (row @ types.initial.toward) * types.initial.toward
    unmoved = np.outer(step.laws.update.rest + step.kept * types.own, row)
    moved = np.outer(types.epsilon * step.kept, moments.M @ row)
    return (types.g / np.sqrt(step.laws.neurons.N))[:, None] * (unmoved + moved)


def residual_reading(variables: RowVariables, step: Step, moments: StepMoments) -> Floats:
    """Return the residual of a row of the step in the row variables, (q,)."""
    reading = np.zeros(variables.count)
    reading[variables.residual] = 1 / moments.constraints[0, 0]
    if step.preconditioner is not None:  # the constraint is that of r - h.x
        reading[1] = step.b
    return reading


def own_scale(step: Step, types: Types) -> Floats:
    """Return root n_0 times the deviation of a random step along a neuron's own weight, over r."""
    gain = float(step.inputs.omega @ step.gain**2)
    return types.gamma * np.sqrt(step.activation.own_noise * gain)


def _add_second_order(
    places: Places,
    step: Step,
    types: Types,
    rows: Population,
    features: Features,
    plane: Floats,
    D: Floats,
) -> None:
    """Add to the design, in place, how rows read what is of order 1/d."""
    variables, inputs = places.row, step.inputs
    half, K, index = features.bend / 2, 1 + variables.indices, rows.kappa[..., None]
    off_v = np.diag([0.0] + [1.0] * variables.indices)
    rho = types.rho if types.initial is None else types.initial.rho
    excess = plane[:, :K, :K] - (rho**2 / inputs.d)[:, None, None] * off_v
    if not rows.rows.step:  # in the features already
        if rows.second is not None:
            assert types.initial is not None
            P = types.initial.plane
            more = plane - (rho**2 / inputs.d)[:, None, None] * np.eye(len(P)) * inputs.isotropic
            excess = excess - (P @ more @ P)[:, :K, :K]
        excess[:, 0, 0] = 0.0
    _add_products(variables, rows.kappa, half, excess, D, places.set(0))
    root = _root(plane[:, :K, :K])
    for k, (a, b) in enumerate(places.products, 1):
        # w_i = sum_a root_ia h_a with independent h_a; (h_a^2 - 1)/sqrt(2), h_a h_b have variance 1
        outer = root[:, :, None, a] * root[:, None, :, b]
        outer = (outer + outer.swapaxes(1, 2)) / np.sqrt(2 if a == b else 1)
        _add_products(variables, rows.kappa, half, outer, D, places.set(k))
        if not inputs.isotropic:  # lengths do not contain the special directions
            D[..., 0, places.set(k)] += half * np.trace(outer, axis1=1, axis2=2)
    by_length, own = features.A_by_length * types.length_deviation, features.A_by_own
    D[..., 0, places.lengths] = by_length + index * features.B1 * types.s_by_length
    D[..., 0, places.scales] = own
    for j, i in enumerate(places.owners):
        # own = 6 c_3 gamma g (X^T r/n_0).w_0
        columns = slice(places.sets + j * places.types, places.sets + (j + 1) * places.types)
        D[..., 0, columns] = own * (types.own_slope * step.g0[i])


def _root(covariance: Floats) -> Floats:
    """Return symmetric roots of covariances, which may be singular."""
    value, vectors = np.linalg.eigh(covariance)
    return (vectors * np.sqrt(np.maximum(value, 0.0))[:, None]) @ vectors.swapaxes(1, 2)


def _add_products(
    variables: RowVariables,
    kappa: Floats,
    half: Floats,
    weights: Floats,
    D: Floats,
    columns: slice,
) -> None:
    """Add sum_ab weights_ab (X_a X_b - delta_ab) E sigma''/2 to columns of the design, in place."""
    index = kappa[..., None]
    D[..., 0, columns] += half * weights[:, 0, 0] * (index**2 - 1)
    for i in range(variables.indices):
        D[..., 2 + i, columns] += half * 2 * weights[:, 0, 1 + i] * index
    for place, (i, k) in enumerate(variables.pairs, variables.products):
        D[..., place, columns] += half * (1 if i == k else 2) * weights[:, 1 + i, 1 + k]
