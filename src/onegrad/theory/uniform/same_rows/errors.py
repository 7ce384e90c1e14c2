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
from onegrad.exceptions import NotConverged
from onegrad.problem import Problem
from onegrad.theory.uniform.first_step import StepNumbers
from onegrad.theory.uniform.graded_rule import GradedRule, index_rule
from onegrad.theory.uniform.label_law import LabelLaw, along_linear
from onegrad.theory.uniform.ridge_errors import RidgeErrors
from onegrad.theory.uniform.same_rows.features import fresh_features, training_features
from onegrad.theory.uniform.same_rows.fixed_point import (
    FieldSolution,
    FreshForms,
    Packing,
    RowForms,
    Shares,
    accelerated,
    first_guess,
    fresh_forms,
    iterate,
    no_shares,
    row_forms,
)
from onegrad.theory.uniform.same_rows.label_fit import (
    LabelProblem,
    Quadratic,
    label_problem,
    quadratic_problem,
)
from onegrad.theory.uniform.same_rows.neurons import NeuronTypes, neuron_types
from onegrad.theory.uniform.same_rows.response import (
    Parameter,
    Tangent,
    fresh_quadratic,
    quadratic_response,
    tangent,
)
from onegrad.theory.uniform.same_rows.special_shares import (
    inverse_form,
    shares_response,
    special_shares,
)
from onegrad.theory.uniform.same_rows.training_rows import (
    fresh_rows,
    step_on_its_rows,
    training_rows,
)

TOLERANCES = (1e-3, 1e-5, 1e-6, 1e-7)  # of the equations, between updates of the shares
RESPONSE_TOLERANCE = 1e-6  # of the linear response, relative
MAX_RESPONSE_ITERATIONS = 200
SHARE_CORRECTIONS = 2  # each is smaller than the one before by their share, a few percent


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


def same_equations(problem: Problem, constant: float, nodes: SameNodes) -> SameEquations:
    """Return the equations with given numbers of nodes.

    What is of order 1/d averages out over normal readouts if the activation is odd.
    """
    step = step_on_its_rows(problem, constant)
    training = training_rows(problem, step, nodes.bins, nodes.index)
    types = neuron_types(problem, step, training, nodes.readout)
    second_order = problem.readout != "gaussian" or step.c2 != 0.0
    rule = _fresh_rule(problem, step, types)
    fresh = fresh_rows(problem, step, rule, rule.count(1.0))
    features = training_features(problem, step, types, training.rows)
    of_fresh = fresh_features(problem, types, fresh)
    labels = label_problem(problem, step, types, training, fresh, features, of_fresh, second_order)
    return SameEquations(
        step,
        types,
        row_forms(problem, step, types, training.rows, features),
        fresh_forms(fresh, of_fresh),
        labels,
        problem.sigma.second_moment,
    )


def same_errors(eq: SameEquations) -> SameErrors:
    """Return the errors of a discretised problem."""
    solution = solve(eq)
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
    """Return the training objective, its derivatives by parameters, and those of the fields."""
    state, labels = solution.state, eq.labels
    quadratic, fresh = quadratic_problem(labels, state), fresh_quadratic(labels)
    h = np.linalg.solve(quadratic.H, quadratic.side)
    shares = [no_shares(eq.forms)] * len(parameters)
    guess = [(np.zeros_like(state.G), np.zeros_like(state.log_a))] * len(parameters)
    inverse = inverse_form(labels.places, quadratic.H)

    def response(parameter: Parameter, change: Tangent) -> Quadratic:
        return quadratic_response(labels, state, parameter, change, fresh)

    for _ in range(SHARE_CORRECTIONS):
        tangents = respond(eq, solution, parameters, shares, guess)
        shares = [
            shares_response(labels, state, inverse, change, response(parameter, change).H)
            for parameter, change in zip(parameters, tangents, strict=True)
        ]
        guess = [(change.G, change.log_a) for change in tangents]
    tangents = respond(eq, solution, parameters, shares, guess)
    changes = [response(*pair) for pair in zip(parameters, tangents, strict=True)]
    derivatives = [c.constant - 2 * float(c.side @ h) + float(h @ c.H @ h) for c in changes]
    return quadratic.constant - float(quadratic.side @ h), derivatives, tangents


def solve(eq: SameEquations) -> FieldSolution:
    """Solve the equations; the shares of the special variables are updated in between."""
    forms, iterations, shares = eq.forms, 0, no_shares(eq.forms)
    G, log_a = first_guess(forms, eq.energy)
    for tolerance in TOLERANCES:
        solution = iterate(forms, G, log_a, shares, tolerance)
        iterations += solution.iterations
        state = solution.state
        G, log_a = state.G, state.log_a
        if tolerance > TOLERANCES[-1]:
            shares = special_shares(eq.labels, state, quadratic_problem(eq.labels, state).H)
    return FieldSolution(solution.state, solution.shares, solution.residual, iterations)


def respond(
    eq: SameEquations,
    solution: FieldSolution,
    parameters: list[Parameter],
    shares: list[Shares],
    guess: list[tuple[Floats, Floats]],
) -> list[Tangent]:
    """Return the tangents of the fixed point along parameters."""
    packing, state = Packing.of(eq.forms), solution.state
    last: list[Tangent] = []

    def residual(x: Floats) -> tuple[Floats, float]:
        parts = np.split(x, len(parameters))
        last[:] = [
            tangent(eq.forms, eq.fresh, state, parameter, share, *packing.unpack(part))
            for part, parameter, share in zip(parts, parameters, shares, strict=True)
        ]
        moved = [packing.pack(t.G, t.log_a) for t in last]
        sizes = [
            np.abs(new - old).max() / max(np.abs(new).max(), 1e-300)
            for new, old in zip(moved, parts, strict=True)
        ]
        return np.concatenate(moved) - x, float(max(sizes))

    x = np.concatenate([packing.pack(*g) for g in guess])
    _, size, _ = accelerated(residual, x, RESPONSE_TOLERANCE, MAX_RESPONSE_ITERATIONS, 0)
    if size >= RESPONSE_TOLERANCE:
        raise NotConverged(f"uniform theory on the rows of the step: response off by {size:.1e}")
    return list(last)


def _fresh_rule(problem: Problem, step: StepNumbers, types: NeuronTypes) -> GradedRule:
    """Return the rule for the index of fresh rows."""
    strength = float(np.abs(types.s / types.rho).max())
    return index_rule(problem.sigma, strength, along_linear(LabelLaw.of(problem)), step.theta)
