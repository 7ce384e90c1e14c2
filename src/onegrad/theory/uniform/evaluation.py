r"""Errors of a problem at one case of its laws, with given numbers of nodes.

`errors` is what a driver calls: it discretises laws, solves the equations from where another
solution ended, and returns errors with what bars are made of.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from onegrad.arrays import Floats
from onegrad.exceptions import NotConverged
from onegrad.theory.uniform.features import (
    Features,
    StepFeatures,
    features_of_step,
    fresh_features,
)
from onegrad.theory.uniform.fit import (
    MIN_SIGNAL,
    LabelProblem,
    Places,
    own_scale,
    quadratic_problem,
    readings_of,
    special_shares,
)
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
from onegrad.theory.uniform.pencil import Forms, Parameter, Pencil
from onegrad.theory.uniform.products import strong_products, with_products
from onegrad.theory.uniform.response import Response, respond
from onegrad.theory.uniform.rules import index_rule
from onegrad.theory.uniform.second_step import (
    RESIDUAL_NODES,
    first_batch_again,
    first_forms,
    first_population,
    form_without_rows,
    second_batch,
    second_forms,
    second_population,
    take_second_step,
)
from onegrad.theory.uniform.second_step import fresh_features as features_of_two
from onegrad.theory.uniform.second_step import fresh_rows as fresh_rows_of_two
from onegrad.theory.uniform.seen_rows import seen_features, seen_forms, seen_rows
from onegrad.theory.uniform.solver import ROUGH_TOLERANCES, TOLERANCES, Solution, solve
from onegrad.theory.uniform.step import Step, take_step

MAX_OVERLAP = 0.9999999  # of v with the teacher, in the rule of the index
MAX_LENGTH_DEVIATION = 0.6  # of the squared length of inputs with a covariance
# deviations of the weight along v by which a neuron's index is steeper, with a covariance
LARGE_WEIGHT = 2.5
MIN_OFF_V = 0.02  # of rho^2
PENALTY_STEP = 10.0  # between penalties, where a smaller one is solved from a larger one
NODES_PER_STEEPNESS = 2.8  # nodes of the index in a bin, per unit of s/rho: 20 where that is 7


@dataclass(frozen=True)
class Nodes:
    """Numbers of nodes, or spacings of them in the variable of their rules."""

    residual: int = 10  # of rows of the step one_batch
    bins: int = 16  # of r, of rows in step and ridge, for each length
    per_bin: int = 7  # of the index in a bin, where features are not steep
    index: float = 1.0  # spacing, of fresh rows
    readout: float = 1.25  # spacing, of normal readouts


@dataclass(frozen=True)
class Equations:
    """Laws with given nodes: all but the unknowns."""

    step: Step
    types: Types
    moments: StepMoments
    pencil: Pencil
    labels: LabelProblem
    along_v: float  # mean share of a neuron's variance along v
    off_v: float  # and of that along one special direction off v
    steepness: float  # largest s/rho
    growth: float = 1.0  # E r^2 of a second step over that of the first


@dataclass(frozen=True)
class Evaluation:
    """Errors at one case with given nodes."""

    train: float  # ridge objective, penalty included
    test: float
    penalty: float
    gap: float  # direct over total response to the penalty
    solution: Solution  # to start others from
    response: Response
    equations: Equations

    @property
    def squared_loss(self) -> float:
        """Training loss without the penalty.

        The two are known to relative order 1/d: near interpolation that may be more than their
        difference.
        """
        return max(self.train - self.penalty, 0.0)


def errors(laws: Laws, nodes: Nodes | None = None, start: Solution | None = None) -> Evaluation:
    """Return the errors at one case of a problem's laws.

    Near interpolation, where shares of order 1/n grow beyond any size, they are left out.

    start : a solution of similar equations; where types of neurons are others it is not used.
    """
    eq = discretise(laws, nodes or Nodes())
    try:
        return _errors(eq, start)
    except NotConverged:
        return _errors(replace(eq, labels=replace(eq.labels, leading_order=True)), start)


def _errors(eq: Equations, start: Solution | None) -> Evaluation:
    solution = solve_equations(eq, start)
    response = respond(eq.labels, solution, [Parameter(test=1.0), Parameter(ridge=1.0)])
    test, norm = response.slopes
    # d delta/d lambda is one without the reaction of the rest; types count as ridge uses them:
    # those of very large readouts may react a million times more
    a, reaction = solution.state.a, -response.log_a[1] * solution.state.delta
    gap = float(a.sum() / (a @ reaction))
    penalty = eq.pencil.ridge * norm
    return Evaluation(response.objective, test, penalty, gap, solution, response, eq)


def errors_with(nodes: Nodes, evaluation: Evaluation) -> tuple[float, float]:
    """Return train and test with other nodes, to compare: a third of the time of `errors`.

    Types of neurons must be the same.
    """
    eq = discretise(evaluation.equations.step.laws, nodes)
    solution = solve_equations(eq, evaluation.solution, ROUGH_TOLERANCES)
    start = evaluation.response.changes[:1]
    response = respond(eq.labels, solution, [Parameter(test=1.0)], start)
    return response.objective, response.slopes[0]


def left_out_error(evaluation: Evaluation) -> float:
    """Return the mean squared leave-one-out residual of ridge, with the first layer as it is."""
    solution, labels = evaluation.solution, evaluation.equations.labels
    weights = [1 / row.pi**2 if len(row.pi) else row.pi for row in solution.state.rows]
    return respond(labels, solution, [Parameter(weights=weights)]).slopes[0]


def solve_equations(
    eq: Equations, start: Solution | None = None, tolerances: tuple[float, ...] = TOLERANCES
) -> Solution:
    """Return the fixed point of the equations: from larger penalties where it is far."""
    labels, energy = eq.labels, eq.step.laws.neurons.activation.second_moment

    def solution(ridge: float, start: Floats | None) -> Solution:
        return solve(
            replace(eq.pencil, ridge=ridge),
            lambda state: special_shares(labels, state, quadratic_problem(labels, state)),
            energy,
            start,
            tolerances,
        )

    ridge = eq.pencil.ridge
    try:
        return solution(ridge, None if start is None else start.x)
    except NotConverged:
        larger = int(np.ceil(np.log(energy / ridge) / np.log(PENALTY_STEP)))
        if larger < 1:
            raise
    solutions = [solution(ridge * PENALTY_STEP**larger, None)]
    for k in range(larger - 1, -1, -1):
        before, last = (solutions[i].x for i in (max(len(solutions) - 2, 0), -1))
        solutions.append(solution(ridge * PENALTY_STEP**k, 2 * last - before))
    return solutions[-1]


def discretise(laws: Laws, nodes: Nodes) -> Equations:
    """Return the equations of laws with given nodes."""
    if laws.update.second is not None:
        return _discretise_two_steps(laws, nodes)
    step = take_step(laws)
    inputs, d = step.inputs, step.inputs.d
    deviation = np.sqrt(2 * step.bulk_trace / d)
    if not inputs.isotropic:
        deviation = min(deviation, MAX_LENGTH_DEVIATION)
        deviation *= inputs.evenness
    several = laws.same_rows or step.coherent
    sizes = row_sizes(inputs, deviation if several else 0.0)
    steep = steepness(step)
    resolved = laws.same_rows or step.preconditioner is not None  # the index of rows of the step
    points = points_of_step(step, sizes, steep if resolved else None)
    moments = step_moments(step, points)
    types = neuron_types(step, moments, readouts(step, moments, nodes.readout))
    plane = weights_in_the_plane(step, types, moments)
    types = with_special_weights(step, types, moments, plane)
    types, plane = with_initial_weights(step, types, moments)
    along_v, rho2 = plane[:, 0, 0], types.rho**2
    total = rho2 if types.initial is None else types.initial.rho**2
    variables = RowVariables(
        step.directions, len(moments.constraints), step.indices, laws.same_rows and step.full
    )
    strength = np.abs(types.s) / types.rho
    if not inputs.isotropic:
        off_v = np.sqrt(np.maximum(rho2 - along_v, MIN_OFF_V * rho2))
        strength = (np.abs(types.s) + LARGE_WEIGHT * np.sqrt(along_v)) / off_v
    overlap = float(np.clip(step.overlaps @ unit_linear(step.labels), -MAX_OVERLAP, MAX_OVERLAP))
    teacher = along_linear(step.labels)
    rule = index_rule(laws.neurons.activation, float(strength.max()), teacher, overlap)
    per_bin = max(nodes.per_bin, int(np.ceil(NODES_PER_STEEPNESS * steep)))
    count, n = rule.count(nodes.index), laws.ridge_count

    def population(rows: Rows) -> Population:
        if rows.step and rows.ridge:
            return rows_of_both(step, rows, points, moments, variables, nodes.bins, per_bin)
        if rows.step:
            return rows_of_step(step, rows, points, moments, nodes.residual)
        mass, replaced = rows.count / n, True
        return fresh_rows(step, rows, variables, rule, count, deviation, mass, replaced)

    def features(rows: Population) -> Features:
        if rows.rows.step:
            return features_of_step(step, types, rows)
        return fresh_features(step, types, rows, along_v)

    populations = tuple(population(rows) for rows in laws.rows)
    of_rows = [features(x) if x.rows.ridge else None for x in populations]
    unseen = Rows(False, True, 0)
    ready = [k for k, x in enumerate(populations) if x.rows.ridge and not x.rows.step]
    if ready and not laws.labels.replaced:
        test, of_test = populations[ready[0]], of_rows[ready[0]]
        test = replace(test, rows=unseen, mass=test.mass / test.mass.sum())
    else:
        test = fresh_rows(step, unseen, variables, rule, count, deviation, 1.0, False)
        of_test = features(test)
    assert of_test is not None
    products = strong_products(step, types, moments, test, of_test)
    of_rows = [f and with_products(f, products) for f in of_rows]
    of_test = with_products(of_test, products)
    lengthened = laws.neurons.weights == "gaussian"
    second_order = lengthened or laws.neurons.one_size or step.activation.c2 != 0.0
    second_order |= not inputs.isotropic
    coherent = second_order and step.coherent != 0.0
    places = Places(
        types=len(types.g),
        fields=3,
        row=variables,
        second_order=second_order,
        chaos=len(of_test.chaos),
        intercept=laws.intercept,
        owners=tuple(np.flatnonzero(np.abs(step.g0) > MIN_SIGNAL).tolist()) * second_order,
        leaning=tuple(range(types.initial is not None, 1 + step.indices)) * coherent,
    )
    pencil = Pencil(
        phi=d / n,
        ridge=laws.ridge,
        ratio=laws.neurons.N / d * types.weight,
        omega=inputs.omega,
        fields=3,
        constant=_form_without_rows(step, types),
        over_a=_prior_over_a(step, types),
        rows=tuple(
            forms_of(step, types, d / n, x, f) for x, f in zip(populations, of_rows, strict=True)
        ),
        test=forms_of(step, types, d / n, test, of_test),
        products=products,
    )
    readings = [
        None if f is None else readings_of(places, step, types, moments, x, f, plane)
        for x, f in zip(populations, of_rows, strict=True)
    ]
    labels = LabelProblem(
        places,
        pencil,
        step,
        types,
        n,
        populations,
        tuple(readings),
        readings_of(places, step, types, moments, test, of_test, plane),
        step.phi0 * own_scale(step, types) ** 2 * moments.square,
    )
    largest = np.linalg.eigvalsh(plane[:, 1:, 1:])[:, -1] if step.directions > 1 else 0 * rho2
    return Equations(
        step,
        types,
        moments,
        pencil,
        labels,
        along_v=float(types.weight @ (along_v / total)),
        off_v=float(types.weight @ (largest / total)),
        steepness=float(strength.max()),
    )


def _discretise_two_steps(laws: Laws, nodes: Nodes) -> Equations:
    """Return the equations after two steps."""
    step, d, n = take_step(laws), laws.inputs.d, laws.ridge_count
    deviation = float(np.sqrt(2 * step.bulk_trace / d))
    if not step.inputs.isotropic:
        deviation = min(deviation, MAX_LENGTH_DEVIATION)
    again = laws.update.again
    same = laws.same_rows
    sizes = row_sizes(laws.inputs, deviation if again or same or step.coherent else 0.0)
    steep = steepness(step)
    points = points_of_step(step, sizes, steep if again or same else None)
    moments = step_moments(step, points)
    assert laws.update.second is not None
    gamma = step.gamma + laws.update.second / float(np.sqrt(laws.neurons.N))
    law = readouts(replace(step, gamma=gamma), moments, nodes.readout)
    first = neuron_types(step, moments, law)
    plane = weights_in_the_plane(step, first, moments)
    first = with_special_weights(step, first, moments, plane)
    batch_rows = Rows(True, False, laws.step_count)
    old = RowVariables(step.directions, len(moments.constraints), step.indices, same and step.full)
    if again or same:
        one_batch = rows_by_index(step, batch_rows, points, moments, old, RESIDUAL_NODES)
    else:
        one_batch = rows_of_step(step, batch_rows, points, moments, nodes.residual)
    if again:
        batch = first_batch_again(step, first, one_batch, old.fields)
    else:
        lengths = [size.length for size in sizes]
        batch = second_batch(step, first, plane[:, 0, 0], lengths, moments)
    second = take_second_step(step, first, plane, moments, batch)
    both, types, plane = second.step, second.types, second.plane
    more = (0, both.directions - step.directions)
    moments = replace(moments, M=np.pad(moments.M, (more, more)))
    variables = RowVariables(
        both.directions,
        old.constraints + second.functions.shape[1],
        step.indices,
        old.has_rest,
    )
    second_order = laws.neurons.one_size or step.activation.c2 != 0.0 or not step.inputs.isotropic
    unseen = Rows(False, True, 0)
    spread = deviation if second_order else 0.0
    test, X = fresh_rows_of_two(second, unseen, variables, nodes.index, spread, 1.0, False)
    of_test = features_of_two(second, test, X)
    test_forms = forms_of(both, types, d / n, test, of_test)
    second_rows = second_population(second, batch_rows, step.directions)
    step_forms = [second_forms(second, second_rows)]
    if not again:
        step_forms.append(first_forms(forms_of(step, first, d / n, one_batch, None)))
    populations, of_rows, forms = list[Population](), list[Features | None](), list[Forms]()
    for rows in laws.rows:
        share = rows.count / laws.step_count if rows.step else rows.count / n
        if not rows.step:
            fresh = test
            if laws.labels.replaced:
                fresh, X = fresh_rows_of_two(
                    second, rows, variables, nodes.index, spread, 1.0, True
                )
            fresh = replace(fresh, rows=rows, mass=share * fresh.mass)
            of_fresh = features_of_two(second, fresh, X) if laws.labels.replaced else of_test
            populations.append(fresh)
            of_rows.append(of_fresh)
            forms.append(forms_of(both, types, d / n, fresh, of_fresh))
            continue
        seen = replace(one_batch, rows=rows, mass=share * one_batch.mass)
        if rows.ridge:
            kappa = seen.kappa[:, 0]
            seen, X_seen = seen_rows(second, seen, old, variables)
            of_seen = seen_features(second, seen, X_seen, kappa)
            populations.append(seen)
            of_rows.append(of_seen)
            forms.append(seen_forms(second, step_forms[-1], seen, of_seen))
        else:
            if again:
                seen = replace(second_rows, mass=share * second_rows.mass)
            else:
                seen = first_population(second, seen, step.directions)
            populations.append(seen)
            of_rows.append(None)
            forms.append(replace(step_forms[-1], mass=seen.mass))
    if not again:
        populations.append(second_rows)
        of_rows.append(None)
        forms.append(step_forms[0])
    places = Places(
        types=len(types.g),
        fields=5,
        row=variables,
        second_order=second_order,
        chaos=0,
        intercept=laws.intercept,
        owners=tuple(np.flatnonzero(np.abs(both.g0) > MIN_SIGNAL).tolist()) * second_order,
        leaning=tuple(range(1 + step.indices)) * (second_order and step.coherent != 0.0),
    )
    s = laws.inputs.s[:, None]
    over_a = np.zeros((len(s), 5, 5, len(types.g)))
    over_a[:, 2, 2] = 1 / (s * types.length)
    pencil = Pencil(
        phi=d / n,
        ridge=laws.ridge,
        ratio=laws.neurons.N / d * types.weight,
        omega=laws.inputs.omega,
        fields=5,
        constant=form_without_rows(second),
        over_a=over_a,
        rows=tuple(forms),
        test=test_forms,
    )
    labels = LabelProblem(
        places,
        pencil,
        both,
        types,
        n,
        tuple(populations),
        tuple(
            None if f is None else readings_of(places, both, types, moments, x, f, plane)
            for x, f in zip(populations, of_rows, strict=True)
        ),
        readings_of(places, both, types, moments, test, of_test, plane),
        d * second.own_variance,
    )
    rho2 = types.rho**2
    return Equations(
        both,
        types,
        moments,
        pencil,
        labels,
        along_v=float(types.weight @ (plane[:, 0, 0] / rho2)),
        off_v=float(types.weight @ (np.linalg.eigvalsh(plane[:, 1:, 1:])[:, -1] / rho2)),
        steepness=float((np.linalg.norm(second.weights, axis=1) / types.rho).max()),
        growth=float(batch.p @ batch.r2) / max(step.energy, MIN_SIGNAL),
    )


def _form_without_rows(step: Step, types: Types) -> Floats:
    """Return the part of V_s that does not contain a, (R, F, F, U)."""
    s, U = step.inputs.s, len(types.g)
    V = np.zeros((len(s), 3, 3, U))
    pre = step.preconditioner
    shift, own = (1.0, types.own) if pre is None else (pre.shift, types.own * pre.held(1.0))
    V[:, 2, 0] = V[:, 0, 2] = shift / s[:, None]
    V[:, 2, 1] = V[:, 1, 2] = -(step.laws.update.rest * shift / s[:, None] + own)
    return V


def _prior_over_a(step: Step, types: Types) -> Floats:
    """Return V'_s: the initial weights."""
    s, U = step.inputs.s, len(types.g)
    V = np.zeros((len(s), 3, 3, U))
    V[:, 1, 1] = 1 / (s[:, None] * types.length)
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
        own = (step.own_share(rows.length[:, None]) * rows.residual)[..., None]
        beta = features.beta - own * noise * features.B1
        initial = features.B0 / types.size - own * types.epsilon * features.B1
        e = np.stack([features.B1, initial, np.zeros_like(initial)], 2)
        push = np.zeros((*rows.mass.shape, len(moved), U))
        push[:, :, -1] = step.phi0 / phi * beta * noise * rows.residual[..., None]
        total = features.noise + beta**2
    products = () if features is None else features.products
    numbers = W, square, e, push, total, products
    return Forms(rows.length, rows.mass, rows.rows.step, rows.rows.ridge, moved, *numbers)
