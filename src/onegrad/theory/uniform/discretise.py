r"""Laws with given nodes as equations: what one step or two leave, then one assembly.

`one_step` and `two_steps` say where neurons are and what rows read of them; nothing after them
knows how many steps there were.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from onegrad.arrays import Floats
from onegrad.theory.uniform.features import Features, StepFeatures, features_of_step, fresh_features
from onegrad.theory.uniform.fit import MIN_SIGNAL, Equations, Places, Reading, design_of, own_scale
from onegrad.theory.uniform.laws.labels import along_linear, unit_linear
from onegrad.theory.uniform.laws.neurons import (
    Types,
    neuron_types,
    readouts,
    steepness,
    weights_in_the_plane,
    with_initial_weights,
    with_special_weights,
)
from onegrad.theory.uniform.laws.rows import (
    Population,
    RowPoints,
    Rows,
    RowVariables,
    StepMoments,
    fresh_rows,
    points_of_step,
    row_sizes,
    rows_by_index,
    rows_of_both,
    rows_of_step,
    step_moments,
)
from onegrad.theory.uniform.laws.table import Laws
from onegrad.theory.uniform.pencil import Forms, InputProducts, Pencil
from onegrad.theory.uniform.products import strong_products, with_products
from onegrad.theory.uniform.rules import Rule, index_rule
from onegrad.theory.uniform.second_step import (
    RESIDUAL_NODES,
    first_batch_again,
    first_population,
    second_batch,
    second_forms,
    second_population,
    take_second_step,
    with_starts,
)
from onegrad.theory.uniform.second_step import fresh_features as features_of_two
from onegrad.theory.uniform.second_step import fresh_rows as fresh_rows_of_two
from onegrad.theory.uniform.seen_rows import seen_features, seen_forms, seen_rows
from onegrad.theory.uniform.step import Step, take_step

MAX_OVERLAP = 0.9999999  # of v with the teacher, in the rule of the index
MAX_LENGTH_DEVIATION = 0.6  # of the squared length of inputs with a covariance
# deviations of the weight along v by which a neuron's index is steeper, with a covariance
LARGE_WEIGHT = 2.5
MIN_OFF_V = 0.02  # of rho^2
COARSER_READOUTS = 1.5  # readouts of two steps with types of initial weights: .2 % of an error
NODES_PER_STEEPNESS = 2.8  # nodes of the index in a bin, per unit of s/rho: 20 where that is 7
UNSEEN = Rows(False, True, 0)  # rows of the test error


@dataclass(frozen=True)
class Nodes:
    """Numbers of nodes, or spacings of them in the variable of their rules."""

    residual: int = 10  # of rows of the step one_batch
    bins: int = 16  # of r, of rows in step and ridge, for each length
    per_bin: int = 7  # of the index in a bin, where features are not steep
    index: float = 1.0  # spacing, of fresh rows
    readout: float = 1.25  # spacing, of normal readouts
    starts: bool = True  # whether initial weights may be types
    weak_products: bool = True  # whether those of isotropic inputs are fitted, and no noise


@dataclass(frozen=True)
class Steps:
    """The neurons and rows that steps leave, and the numbers of them that bars are made of."""

    step: Step  # with the directions of all steps
    readouts: Rule  # nodes and probabilities
    types: Types
    plane: Floats  # (U, p, p) covariance of weights along the special directions
    moments: StepMoments
    variables: RowVariables
    readings: tuple[Reading, ...]
    test: Reading
    constant: Floats  # (R, F, F, U) the part of the form without rows that does not contain a
    multiplier_form: Floats  # (U,)
    second_order: bool
    steepness: float  # largest s/rho
    products: tuple[InputProducts, ...] = ()
    growth: float = 1.0  # E r^2 of a second step over that of the first
    # mean square of weights along v after the first of two steps, over the last
    undone: float = 0.0

    @property
    def variances(self) -> Floats:
        """Variance of a neuron's input, (U,), types or not."""
        types = self.types
        return (types.rho if types.initial is None else types.initial.rho) ** 2

    @property
    def along_v(self) -> float:
        """Mean share of a neuron's variance along v."""
        return float(self.types.weight @ (self.plane[:, 0, 0] / self.variances))

    @property
    def off_v(self) -> float:
        """Mean share of a neuron's variance along one special direction off v."""
        if self.step.directions == 1:
            return 0.0
        largest = np.linalg.eigvalsh(self.plane[:, 1:, 1:])[:, -1]
        return float(self.types.weight @ (largest / self.variances))


def discretise(laws: Laws, nodes: Nodes, like: Steps | None = None) -> Equations:
    """Return the equations of laws with given nodes.

    like : steps that are much alike, of which the kinds of types are taken.
    """
    steps = (one_step if laws.update.second is None else two_steps)(laws, nodes, like)
    step, types, d = steps.step, steps.types, steps.step.inputs.d
    fields = steps.constant.shape[1]
    coherent = steps.second_order and step.coherent != 0.0
    assert steps.test.features is not None
    places = Places(
        types=len(types.g),
        fields=fields,
        row=steps.variables,
        second_order=steps.second_order,
        chaos=len(steps.test.features.chaos),
        intercept=laws.intercept,
        owners=tuple(np.flatnonzero(np.abs(step.g0) > MIN_SIGNAL).tolist()) * steps.second_order,
        leaning=tuple(range(types.initial is not None, 1 + step.indices)) * coherent,
    )
    over_a, initial = np.zeros_like(steps.constant), places.initial
    over_a[:, initial, initial] = 1 / (step.inputs.s[:, None] * types.length)
    pencil = Pencil(
        phi=d / laws.ridge_count,
        ridge=laws.ridge,
        ratio=laws.neurons.N / d * types.weight,
        omega=step.inputs.omega,
        fields=fields,
        constant=steps.constant,
        over_a=over_a,
        rows=tuple(x.forms for x in steps.readings),
        test=steps.test.forms,
        products=steps.products,
    )

    def designed(x: Reading) -> Reading:
        if x.features is None:
            return x
        design = design_of(places, step, types, steps.moments, x.rows, x.features, steps.plane)
        return replace(x, design=design)

    readings = tuple(designed(x) for x in steps.readings)
    return Equations(replace(steps, readings=readings, test=designed(steps.test)), places, pencil)


def one_step(laws: Laws, nodes: Nodes, like: Steps | None = None) -> Steps:
    """Return what one step leaves."""
    step, deviation, points, moments = _first_step(laws, laws.same_rows)
    inputs, phi = step.inputs, step.inputs.d / laws.ridge_count
    law = like.readouts if like else readouts(step, moments, nodes.readout)
    types = neuron_types(step, moments, law)
    plane = weights_in_the_plane(step, types, moments)
    types = with_special_weights(step, types, moments, plane)
    if nodes.starts:
        similar = None if like is None else like.types
        types, plane = with_initial_weights(step, types, moments, similar)
    second = None if types.initial is None else types.initial.second
    along_v, rho2 = plane[:, 0, 0], types.rho**2
    variables = RowVariables(
        step.directions, len(moments.constraints), step.indices, int(laws.same_rows and step.full)
    )
    strength = np.abs(types.s) / types.rho
    if not inputs.isotropic:
        off_v = np.sqrt(np.maximum(rho2 - along_v, MIN_OFF_V * rho2))
        strength = (np.abs(types.s) + LARGE_WEIGHT * np.sqrt(along_v)) / off_v
    overlap = float(np.clip(step.overlaps @ unit_linear(step.labels), -MAX_OVERLAP, MAX_OVERLAP))
    teacher = along_linear(step.labels)
    rule = index_rule(laws.neurons.activation, float(strength.max()), teacher, overlap)
    per_bin = max(nodes.per_bin, int(np.ceil(NODES_PER_STEEPNESS * steepness(step))))
    index_nodes = rule.count(nodes.index)

    def population(rows: Rows) -> Population:
        if rows.step and rows.ridge:
            return rows_of_both(step, rows, points, moments, variables, nodes.bins, per_bin, second)
        if rows.step:
            return rows_of_step(step, rows, points, moments, nodes.residual)
        replaced = rows is not UNSEEN
        mass = rows.count / laws.ridge_count if replaced else 1.0
        of_index = step, rows, variables, rule, index_nodes
        return fresh_rows(*of_index, deviation, mass, replaced, second)

    def features(rows: Population) -> Features | None:
        if not rows.rows.ridge:
            return None
        if rows.rows.step:
            return features_of_step(step, types, rows)
        return fresh_features(step, types, rows, plane)

    populations = [population(rows) for rows in laws.rows]
    of_rows = [features(x) for x in populations]
    ready = [k for k, x in enumerate(populations) if x.rows.ridge and not x.rows.step]
    if ready and not laws.labels.replaced:
        test, of_test = populations[ready[0]], of_rows[ready[0]]
        test = replace(test, rows=UNSEEN, mass=test.mass / test.mass.sum())
    else:
        test = population(UNSEEN)
        of_test = features(test)
    assert of_test is not None
    products: tuple[InputProducts, ...] = ()
    if nodes.weak_products or not inputs.isotropic:
        products = strong_products(step, types, moments, test, of_test)
    readings = []
    for rows, seen in zip([*populations, test], [*of_rows, of_test], strict=True):
        read = seen and with_products(seen, products, rows)
        readings.append(Reading(rows, read, forms_of(step, types, phi, rows, read)))
    second_order = laws.neurons.one_size or laws.neurons.weights == "gaussian"
    return Steps(
        step,
        law,
        types,
        plane,
        moments,
        variables,
        tuple(readings[:-1]),
        readings[-1],
        _form_without_rows(step, types, types.own),
        step.phi0 * own_scale(step, types) ** 2 * moments.square,
        second_order or step.activation.c2 != 0.0 or not inputs.isotropic,
        float(strength.max()),
        products,
    )


def two_steps(
    laws: Laws, nodes: Nodes, like: Steps | None = None, off: Floats | None = None
) -> Steps:
    """Return what two steps leave.

    off : direction off v along which rows of step and ridge are resolved: that of initial weights
        that are types.
    """
    again, same = laws.update.again, laws.same_rows
    step, deviation, points, moments = _first_step(laws, again or same)
    inputs, phi = step.inputs, step.inputs.d / laws.ridge_count
    assert laws.update.second is not None
    gamma = step.gamma + laws.update.second / float(np.sqrt(laws.neurons.N))
    law = like.readouts if like else readouts(replace(step, gamma=gamma), moments, nodes.readout)
    first = neuron_types(step, moments, law)
    plane = weights_in_the_plane(step, first, moments)
    first = with_special_weights(step, first, moments, plane)
    batch_rows = Rows(True, False, laws.step_count)
    rests = int(step.full and (again or same))
    old = RowVariables(step.directions, len(moments.constraints), step.indices, rests)
    if again or same:
        one_batch = rows_by_index(
            step, batch_rows, points, moments, old, RESIDUAL_NODES, off if same else None
        )
    else:
        one_batch = rows_of_step(step, batch_rows, points, moments, nodes.residual)
    if again:
        one_batch, batch = first_batch_again(step, first, one_batch, moments, old.fields)
        old = replace(old, rests=rests + step.full)
    else:
        lengths = [x.size.length for x in points]
        batch = second_batch(step, first, plane[:, 0, 0], lengths, moments)
    second = take_second_step(step, first, plane, moments, batch)
    both = second.step
    more = (0, both.directions - step.directions)
    moments = replace(moments, M=np.pad(moments.M, more), S=np.pad(moments.S, more))
    if nodes.starts:
        second = with_starts(second, moments, None if like is None else like.types)
    first, types = second.first, second.types
    if types.initial is not None and off is None and (same or not laws.neurons.one_size):
        off = types.initial.toward[: step.directions] * (np.arange(step.directions) > 0)
        return two_steps(laws, replace(nodes, readout=COARSER_READOUTS * nodes.readout), like, off)
    constraints = old.constraints + second.functions.shape[1]
    variables = replace(old, directions=both.directions, constraints=constraints)
    second_order = laws.neurons.one_size or step.activation.c2 != 0.0 or not inputs.isotropic
    spread = deviation if second_order else 0.0
    second_rows = second_population(second, batch_rows)
    of_batches, without_loss = [second_forms(second, second_rows)], second_rows
    if not again:
        without_loss = first_population(second, one_batch)
        forms = forms_of(step, first, phi, one_batch, None)
        of_batches.append(replace(forms, moved=tuple(1 + k for k in forms.moved)))  # T^2 is first

    test, X = fresh_rows_of_two(second, UNSEEN, variables, nodes.index, spread, False)
    of_test = features_of_two(second, test, X)

    def fresh(rows: Rows) -> Reading:
        population, features = test, of_test
        if laws.labels.replaced:
            population, X = fresh_rows_of_two(second, rows, variables, nodes.index, spread, True)
            features = features_of_two(second, population, X)
        share = rows.count / laws.ridge_count
        population = replace(population, rows=rows, mass=share * population.mass)
        return Reading(population, features, forms_of(both, types, phi, population, features))

    def seen(rows: Rows) -> Reading:
        batch = one_batch if rows.ridge else without_loss
        batch = replace(batch, rows=rows, mass=rows.count / laws.step_count * batch.mass)
        if not rows.ridge:
            return Reading(batch, None, replace(of_batches[-1], mass=batch.mass))
        population, X = seen_rows(second, batch, variables)
        kappa = second.batch.kappa if again else batch.kappa[:, 0]  # where slopes are known
        features = seen_features(second, population, X, kappa)
        return Reading(
            population, features, seen_forms(second, of_batches[-1], population, features)
        )

    readings = [seen(rows) if rows.step else fresh(rows) for rows in laws.rows]
    if not again:
        readings.append(Reading(second_rows, None, of_batches[0]))
    along_v = first.weight @ second.weights[:, 0] ** 2
    return Steps(
        both,
        law,
        types,
        second.plane,
        moments,
        variables,
        tuple(readings),
        Reading(test, of_test, forms_of(both, types, phi, test, of_test)),
        _form_without_rows(both, types, first.own, second.own),
        inputs.d * second.own_variance,
        second_order,
        float((np.linalg.norm(second.weights, axis=1) / types.rho).max()),
        growth=float(batch.p @ batch.r**2) / max(step.energy, MIN_SIGNAL),
        undone=float(first.weight @ first.s**2) / max(float(along_v), MIN_SIGNAL),
    )


def _first_step(
    laws: Laws, seen_again: bool
) -> tuple[Step, float, tuple[RowPoints, ...], StepMoments]:
    """Return the first step, the deviation of squared lengths of rows, and its rows.

    seen_again : whether another step or ridge reads these rows.
    """
    step = take_step(laws)
    inputs = step.inputs
    deviation = float(np.sqrt(2 * step.bulk_trace / inputs.d))
    if not inputs.isotropic:
        deviation = min(deviation, MAX_LENGTH_DEVIATION) * inputs.evenness
    sizes = row_sizes(inputs, deviation if seen_again or step.coherent else 0.0)
    resolved = seen_again or step.preconditioner is not None  # the index of rows of the step
    points = points_of_step(step, sizes, steepness(step) if resolved else None)
    return step, deviation, points, step_moments(step, points)


def _form_without_rows(step: Step, types: Types, *own: Floats) -> Floats:
    """Return the part of V_s that does not contain a, (R, F, F, U).

    own : steps along the own weight, those of the first step first.
    """
    s, pre, count = step.inputs.s[:, None], step.preconditioner, len(own)
    shift = 1.0 if pre is None else pre.shift
    V = np.zeros((len(s), 2 * count + 1, 2 * count + 1, len(types.g)))
    for k, along_own in enumerate(own):
        after, before, multiplier = count - 1 - k, count - k, count + 1 + k
        V[:, multiplier, after] = V[:, after, multiplier] = shift / s
        on_before = -(step.laws.update.rest * shift / s + along_own * step.kept_fraction(1.0))
        V[:, multiplier, before] = V[:, before, multiplier] = on_before
    return V


def forms_of(
    step: Step, types: Types, phi: float, rows: Population, features: Features | None
) -> Forms:
    r"""Return the forms of a population.

    For a preconditioned step W^0 also has :math:`ST - (1-\delta)ST^0` (symmetric, over 2), and
    :math:`\varphi_0m\ell h_\ell` takes the place of :math:`\varphi_0\ell`.

    .. math:: W^0 = -r'\varepsilon(ST^0 + T^0S),\qquad R = \gamma_g\sqrt\nu r' \text{ on } S,\qquad
        b = \tilde\beta = \beta - \varphi_0\ell r\gamma_g\sqrt\nu B_1 \\
        e^0 = (B_1,\ B_0/|w| - \varphi_0\ell r\varepsilon B_1,\ 0)
    """
    U, G = len(types.g), len(rows.length)
    noise = types.gamma * np.sqrt(types.nu)
    moved: tuple[int, ...] = ()
    W = square = np.zeros((G, 0, 0, U))
    if rows.rows.step:
        even = bool(types.epsilon.any())
        moved = (1, 2) if even else (2,)
        if step.preconditioner is not None:
            moved = (0, 1, 2)
        W, square = (np.zeros((G, len(moved), len(moved), U)) for _ in range(2))
        square[:, -1, -1] = rows.r2[:, None] * noise**2
        if len(moved) > 1:
            W[:, -2, -1] = W[:, -1, -2] = -rows.r[:, None] * types.epsilon
        if step.preconditioner is not None:
            again = step.laws.ridge_count / step.laws.step_count  # n/n_0
            W[:, 0, 2] = W[:, 2, 0] = again
            W[:, 1, 2] -= step.laws.update.rest * again
            W[:, 2, 1] = W[:, 1, 2]
    e = push = np.zeros((*rows.mass.shape, 0, U))
    total = np.zeros((*rows.mass.shape, U))
    if features is not None:
        e, total = features.B1[:, :, None], features.noise
    if isinstance(features, StepFeatures):
        residual = rows.residual[..., None]
        own = step.own_share(rows.length[:, None, None]) * residual
        beta = features.beta - own * noise * features.B1
        initial = features.B0 / types.size - own * types.epsilon * features.B1
        e = np.stack([features.B1, initial, np.zeros_like(initial)], 2)
        push = np.zeros((*rows.mass.shape, len(moved), U))
        push[:, :, -1] = step.phi0 / phi * beta * noise * residual
        total = features.noise + beta**2
    products = () if features is None else features.products
    numbers = W, square, e, push, total, products
    return Forms(rows.length, rows.mass, rows.rows.step, rows.rows.ridge, moved, *numbers)
