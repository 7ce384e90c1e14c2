r"""Training and test error of ridge on the rows of the step, with given numbers of nodes.

The test error is the derivative of the training objective by a weight of fresh rows, the squared
norm of the readout that by the penalty. The mean squared leave-one-out residual of ridge, with the
first layer as it is, :math:`E_j[(y_j - f_j)^2/\hat\pi_j^2]`, is the derivative along loss weights
:math:`1/\hat\pi_j^2`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from onegrad.arrays import Floats
from onegrad.problem import Problem
from onegrad.theory.uniform.first_step import StepNumbers
from onegrad.theory.uniform.graded_rule import GradedRule, index_rule
from onegrad.theory.uniform.label_law import LabelLaw, along_linear
from onegrad.theory.uniform.ridge_errors import RidgeErrors
from onegrad.theory.uniform.same_rows.acceleration import Acceleration, LinearEquations
from onegrad.theory.uniform.same_rows.features import fresh_features, training_features
from onegrad.theory.uniform.same_rows.fixed_point import (
    HALF_STEPS,
    FieldSolution,
    FieldState,
    FreshForms,
    Packing,
    RowForms,
    Shares,
    evaluate_fields,
    first_guess,
    fresh_forms,
    iterate,
    no_shares,
    row_forms,
)
from onegrad.theory.uniform.same_rows.label_fit import (
    LabelProblem,
    label_problem,
    quadratic_problem,
)
from onegrad.theory.uniform.same_rows.neurons import NeuronTypes, neuron_types
from onegrad.theory.uniform.same_rows.response import (
    Linearisation,
    Parameter,
    Tangent,
    fresh_quadratic,
    inverse_form,
    quadratic_response,
    shares_response,
    special_shares,
)
from onegrad.theory.uniform.same_rows.training_rows import (
    RowGrid,
    fine_grids,
    fresh_rows,
    step_on_its_rows,
    training_rows,
)

TOLERANCES: tuple[float, ...] = (
    1e-3,
    1e-5,
    1e-6,
    1e-7,
)  # of the equations, between updates of the shares
# of the linear response, relative, between updates of the shares, which are a few percent
RESPONSE_TOLERANCES = (1e-3, 1e-4, 1e-6)
MAX_RESPONSE_ITERATIONS = 200


@dataclass(frozen=True)
class SameNodes:
    """Numbers of nodes: bins of r, nodes of the index in a bin, nodes of a normal readout."""

    bins: int
    index: int
    readout: int


@dataclass(frozen=True)
class SameErrors:
    """Errors of ridge on the rows of the step.

    step : numbers of the step.
    values : train and test error; their gap is direct over total response to the penalty.
    solution : the fixed point.
    """

    step: StepNumbers
    values: RidgeErrors
    solution: FieldSolution


@dataclass(frozen=True)
class SameEquations:
    """A problem at one constant of its initial output, discretised."""

    step: StepNumbers
    types: NeuronTypes
    forms: RowForms
    fresh: FreshForms
    labels: LabelProblem
    energy: float


@dataclass(frozen=True)
class RowsOfStep:
    """A problem at one constant of its initial output, before nodes are chosen."""

    problem: Problem
    step: StepNumbers
    grids: tuple[RowGrid, RowGrid]

    @classmethod
    def of(cls, problem: Problem, constant: float) -> RowsOfStep:
        """Return the step and the law of its rows."""
        step = step_on_its_rows(problem, constant)
        return cls(problem, step, fine_grids(problem, step))


def same_equations(rows: RowsOfStep, nodes: SameNodes) -> SameEquations:
    """Return the equations with given numbers of nodes.

    What is of order 1/d averages out over normal readouts if the activation is odd.
    """
    problem, step = rows.problem, rows.step
    labels = LabelLaw.of(problem)
    energy = labels.teacher.second_moment + labels.noise**2
    training = training_rows(rows.grids, energy, nodes.bins, nodes.index)
    types = neuron_types(problem, step, training, nodes.readout)
    second_order = problem.readout != "gaussian" or step.c2 != 0.0
    rule = _fresh_rule(problem, step, types)
    fresh = fresh_rows(problem, step, rule, rule.count(1.0))
    features = training_features(problem, step, types, training.rows)
    of_fresh = fresh_features(problem, types, fresh)
    fit = label_problem(problem, step, types, training, fresh, features, of_fresh, second_order)
    return SameEquations(
        step,
        types,
        row_forms(problem, step, types, training.rows, features),
        fresh_forms(fresh, of_fresh),
        fit,
        problem.sigma.second_moment,
    )


def same_errors(eq: SameEquations, start: FieldState | None = None) -> SameErrors:
    """Return the errors of a discretised problem.

    start : a solution with other nodes of the rows.
    """
    solution = solve(eq, start)
    zeros = np.zeros(eq.forms.p.shape)
    parameters = [Parameter(1.0, 0.0, zeros), Parameter(0.0, 1.0, zeros)]
    train, (test, norm), tangents = derivatives(eq, solution, parameters)
    # d delta/d lambda is one without the reaction of the rest
    ddelta = -tangents[1].log_a * solution.state.delta
    gap = 1 / float(eq.types.weight @ ddelta)
    return SameErrors(eq.step, RidgeErrors(train, eq.forms.ridge * norm, test, gap), solution)


def left_out_error(eq: SameEquations) -> float:
    """Return the mean squared leave-one-out residual of ridge, with the first layer as it is."""
    solution = solve(eq)
    parameter = Parameter(0.0, 0.0, 1 / solution.state.pi**2)
    return derivatives(eq, solution, [parameter])[1][0]


def derivatives(
    eq: SameEquations, solution: FieldSolution, parameters: list[Parameter]
) -> tuple[float, list[float], list[Tangent]]:
    """Return the training objective, its derivatives by parameters, and those of the fields.

    The shares of the special variables respond too: they are updated in between.
    """
    state, labels, packing = solution.state, eq.labels, Packing.of(eq.forms)
    quadratic, fresh = quadratic_problem(labels, state), fresh_quadratic(labels)
    h = np.linalg.solve(quadratic.H, quadratic.side)
    inverse = inverse_form(labels.places, quadratic.H)
    at_point = Linearisation.of(eq.forms, eq.fresh, state)

    def moved(
        x: Floats, parameter: Parameter | None = None, share: Shares | None = None
    ) -> tuple[Tangent, Floats]:
        """Return the tangent of one pass, and what is left of it."""
        tangent = at_point.tangent(*packing.unpack(x), parameter, share)
        return tangent, packing.pack(tangent.G, tangent.log_a) - x

    equations = LinearEquations(lambda x: -moved(x)[1])
    shares = [no_shares(eq.forms)] * len(parameters)
    xs = np.zeros((len(parameters), len(packing.pack(state.G, state.log_a))))
    for tolerance in RESPONSE_TOLERANCES:
        sources = list(zip(parameters, shares, strict=True))
        residuals = np.array([moved(x, *s)[1] for x, s in zip(xs, sources, strict=True)])
        xs = equations.solve(xs, residuals, tolerance, MAX_RESPONSE_ITERATIONS)
        tangents = [moved(x, *s)[0] for x, s in zip(xs, sources, strict=True)]
        changes = [
            quadratic_response(labels, state, parameter, tangent, fresh)
            for parameter, tangent in zip(parameters, tangents, strict=True)
        ]
        if tolerance > RESPONSE_TOLERANCES[-1]:
            shares = [
                shares_response(labels, state, inverse, tangent, change.H)
                for tangent, change in zip(tangents, changes, strict=True)
            ]
    slopes = [c.constant - 2 * float(c.side @ h) + float(h @ c.H @ h) for c in changes]
    return quadratic.constant - float(quadratic.side @ h), slopes, tangents


def solve(eq: SameEquations, start: FieldState | None = None) -> FieldSolution:
    """Solve the equations; the shares of the special variables are updated in between.

    start : a solution with other nodes of the rows; of no use where the types are others.
    """
    forms, iterations, shares = eq.forms, 0, no_shares(eq.forms)
    G, log_a = first_guess(forms, eq.energy)
    tolerances, acceleration = TOLERANCES, Acceleration(HALF_STEPS)
    if start is not None and len(start.a) == forms.types:
        G, log_a = start.G, start.log_a
        tolerances, acceleration = TOLERANCES[1:], Acceleration(0)
        state = evaluate_fields(forms, G, log_a, shares)
        shares = special_shares(eq.labels, state, quadratic_problem(eq.labels, state).H)
    for tolerance in tolerances:
        solution = iterate(forms, G, log_a, shares, tolerance, acceleration)
        iterations += solution.iterations
        state = solution.state
        G, log_a = state.G, state.log_a
        if tolerance > TOLERANCES[-1]:
            shares = special_shares(eq.labels, state, quadratic_problem(eq.labels, state).H)
    return FieldSolution(solution.state, solution.shares, solution.residual, iterations)


def _fresh_rule(problem: Problem, step: StepNumbers, types: NeuronTypes) -> GradedRule:
    """Return the rule for the index of fresh rows."""
    strength = float(np.abs(types.s / types.rho).max())
    return index_rule(problem.sigma, strength, along_linear(LabelLaw.of(problem)), step.theta)
