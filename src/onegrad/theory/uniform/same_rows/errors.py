r"""Errors of ridge on the rows of the step, with their accuracy, spread and warnings.

The test error is the derivative of the training objective by a weight of fresh rows, the squared
norm of the readout that by the penalty. The mean squared leave-one-out residual of ridge, with the
first layer as it is, :math:`E_j[(y_j - f_j)^2/\hat\pi_j^2]`, is the derivative along loss weights
:math:`1/\hat\pi_j^2`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from onegrad.arrays import Floats
from onegrad.exceptions import AssumptionWarning, InvalidInput, OutOfScope
from onegrad.problem import Problem
from onegrad.theory.direction import is_of_one_size, output_constants
from onegrad.theory.prediction import Errors
from onegrad.theory.uniform import accuracy
from onegrad.theory.uniform.concerns import concerns
from onegrad.theory.uniform.first_step import StepNumbers
from onegrad.theory.uniform.laws.labels import LabelLaw, along_linear
from onegrad.theory.uniform.preparation import NodeCounts
from onegrad.theory.uniform.refinement import fresh_row_errors
from onegrad.theory.uniform.ridge_errors import RidgeErrors
from onegrad.theory.uniform.rules import index_rule
from onegrad.theory.uniform.same_rows import fixed_point, response
from onegrad.theory.uniform.same_rows.features import fresh_features, training_features
from onegrad.theory.uniform.same_rows.label_fit import (
    LabelProblem,
    label_problem,
    quadratic_problem,
)
from onegrad.theory.uniform.same_rows.neurons import (
    NeuronTypes,
    neuron_types,
    readout_rule,
    weights_in_the_plane,
)
from onegrad.theory.uniform.same_rows.training_rows import (
    MAX_INDICES,
    energy_of_long_rows,
    fine_grids,
    fresh_points_needed,
    fresh_rows,
    residual_moments,
    step_on_its_rows,
    training_rows,
)
from onegrad.theory.uniform.spread import spread

# of the equations, between updates of the shares
TOLERANCES: tuple[float, ...] = (1e-3, 1e-5, 1e-6, 1e-7)
# of the linear response, relative, between updates of the shares, which are a few percent
RESPONSE_TOLERANCES = (1e-3, 1e-4, 1e-6)
MAX_RESPONSE_ITERATIONS = 200
# of the index in a bin, and for each width rho/s on which features change: at s/rho = 4 training
# errors are off by 6 % with 7, by 0.2 % with 12
NODES_PER_BIN, NODES_PER_WIDTH = 7, 4.0
# of these nodes and of the points of a fresh index: what the first two levels differ by tells
# whether they are enough, and the last two, which are extrapolated, differ in bins alone
LEVEL_SHARES = (0.6, 1.0, 1.0)
# the error falls like one over the square of their number, more slowly for labels with heavy tails:
# the last two are extrapolated
BINS, BINS_OF_MANY_READOUTS = (12, 24, 48), (4, 8, 16)
READOUT_SPACING = 1.25  # of normal readouts, in the variable of their rule
REMAINING = 0.25  # share of the change by the last level that may still be missing


@dataclass(frozen=True)
class SameNodes:
    """Numbers of nodes: bins of r, nodes of the index in a bin, nodes of a normal readout."""

    bins: int
    index: int
    readout: int
    fresh: int = 0  # points of a fresh index in the law of a row, see `fine_grids`


@dataclass(frozen=True)
class SameErrors:
    """Errors of ridge on the rows of the step."""

    step: StepNumbers
    values: RidgeErrors  # with a gap that is direct over total response to the penalty
    solution: fixed_point.FieldSolution
    neglected: accuracy.NeglectedSizes  # beside those of fresh rows


@dataclass(frozen=True)
class SameEquations:
    """A problem at one constant of its initial output, discretised."""

    step: StepNumbers
    types: NeuronTypes
    forms: fixed_point.RowForms
    fresh: fixed_point.FreshForms
    labels: LabelProblem
    energy: float
    neglected: accuracy.NeglectedSizes  # beside those of fresh rows


@dataclass(frozen=True)
class RowsOfStep:
    """A problem at one constant of its initial output, before nodes are chosen."""

    problem: Problem
    step: StepNumbers
    residual_mean: float  # E r
    residual_square: float  # E r^2

    @classmethod
    def of(cls, problem: Problem, constant: float) -> RowsOfStep:
        """Return the step and the moments of its residuals."""
        step = step_on_its_rows(problem, constant)
        return cls(problem, step, *residual_moments(fine_grids(problem, step)))

    def types(self, readouts: int) -> NeuronTypes:
        """Return the types of neurons, with so many nodes of a normal readout."""
        mean, square = self.residual_mean, self.residual_square
        return neuron_types(self.problem, self.step, mean, square, readouts)


def same_equations(rows: RowsOfStep, nodes: SameNodes) -> SameEquations:
    """Return the equations with given numbers of nodes.

    What is of order 1/d averages out over readouts of several sizes if the activation is odd.
    """
    problem, step = rows.problem, rows.step
    labels = LabelLaw.of(problem)
    energy = labels.teacher.second_moment + labels.noise**2
    grids = fine_grids(problem, step, nodes.fresh)
    training = training_rows(grids, energy, nodes.bins, nodes.index)
    types = rows.types(nodes.readout)
    second_order = is_of_one_size(problem) or step.c2 != 0.0
    strength = float(np.abs(types.s / types.rho).max())
    rule = index_rule(problem.sigma, strength, along_linear(labels), step.theta)
    fresh = fresh_rows(problem, step, rule, rule.count(1.0))
    features = training_features(problem, step, types, training.rows)
    of_fresh = fresh_features(problem, types, fresh)
    plane = weights_in_the_plane(problem, step, types, training)
    neglected = accuracy.neglected_of_shares(
        problem, types.weight, plane[:, 0, 0], plane[:, 1:, 1:], types.rho**2
    )
    fit = label_problem(problem, step, types, training, fresh, features, of_fresh, second_order)
    return SameEquations(
        step,
        types,
        fixed_point.row_forms(problem, step, types, training.rows, features),
        fixed_point.fresh_forms(fresh, of_fresh),
        fit,
        problem.sigma.second_moment,
        neglected,
    )


def same_errors(eq: SameEquations, start: fixed_point.FieldState | None = None) -> SameErrors:
    """Return the errors of a discretised problem; `start` as in `solve`."""
    solution = solve(eq, start)
    zeros = np.zeros(eq.forms.p.shape)
    parameters = [response.Parameter(1.0, 0.0, zeros), response.Parameter(0.0, 1.0, zeros)]
    train, (test, norm), tangents = derivatives(eq, solution, parameters)
    # d delta/d lambda is one without the reaction of the rest
    ddelta = -tangents[1].log_a * solution.state.delta
    gap = 1 / float(eq.types.weight @ ddelta)
    values = RidgeErrors(train, eq.forms.ridge * norm, test, gap)
    return SameErrors(eq.step, values, solution, eq.neglected)


def left_out_error(eq: SameEquations) -> float:
    """Return the mean squared leave-one-out residual of ridge, with the first layer as it is."""
    solution = solve(eq)
    parameter = response.Parameter(0.0, 0.0, 1 / solution.state.pi**2)
    return derivatives(eq, solution, [parameter])[1][0]


def derivatives(
    eq: SameEquations, solution: fixed_point.FieldSolution, parameters: list[response.Parameter]
) -> tuple[float, list[float], list[response.Tangent]]:
    """Return the training objective, its derivatives by parameters, and those of the fields.

    The shares of the special variables respond too: they are updated in between.
    """
    state, labels, packing = solution.state, eq.labels, fixed_point.Packing.of(eq.forms)
    quadratic, fresh = quadratic_problem(labels, state), response.fresh_quadratic(labels)
    h = np.linalg.solve(quadratic.H, quadratic.side)
    inverse = response.inverse_form(labels.places, quadratic.H)
    at_point = response.Linearisation.of(eq.forms, eq.fresh, state)

    def moved(
        x: Floats,
        parameter: response.Parameter | None = None,
        share: fixed_point.Shares | None = None,
    ) -> tuple[response.Tangent, Floats]:
        """Return the tangent of one pass, and what is left of it."""
        tangent = at_point.tangent(*packing.unpack(x), parameter, share)
        return tangent, packing.pack(tangent.G, tangent.log_a) - x

    equations = fixed_point.LinearEquations(lambda x: -moved(x)[1])
    shares = [fixed_point.no_shares(eq.forms)] * len(parameters)
    xs = np.zeros((len(parameters), len(packing.pack(state.G, state.log_a))))
    for tolerance in RESPONSE_TOLERANCES:
        sources = list(zip(parameters, shares, strict=True))
        residuals = np.array([moved(x, *s)[1] for x, s in zip(xs, sources, strict=True)])
        xs = equations.solve(xs, residuals, tolerance, MAX_RESPONSE_ITERATIONS)
        tangents = [moved(x, *s)[0] for x, s in zip(xs, sources, strict=True)]
        changes = [
            response.quadratic_response(labels, state, parameter, tangent, fresh)
            for parameter, tangent in zip(parameters, tangents, strict=True)
        ]
        if tolerance > RESPONSE_TOLERANCES[-1]:
            shares = [
                response.shares_response(labels, state, inverse, tangent, change.H)
                for tangent, change in zip(tangents, changes, strict=True)
            ]
    slopes = [c.constant - 2 * float(c.side @ h) + float(h @ c.H @ h) for c in changes]
    return quadratic.constant - float(quadratic.side @ h), slopes, tangents


def solve(
    eq: SameEquations, start: fixed_point.FieldState | None = None
) -> fixed_point.FieldSolution:
    """Solve the equations; the shares of the special variables are updated in between.

    start : a solution with other nodes of the rows; of no use where the types are others.
    """
    forms, iterations, shares = eq.forms, 0, fixed_point.no_shares(eq.forms)
    G, log_a = fixed_point.first_guess(forms, eq.energy)
    tolerances, acceleration = TOLERANCES, fixed_point.Acceleration(fixed_point.HALF_STEPS)
    if start is not None and len(start.a) == forms.types:
        G, log_a = start.G, start.log_a
        tolerances, acceleration = TOLERANCES[1:], fixed_point.Acceleration(0)
        state = fixed_point.evaluate_fields(forms, G, log_a, shares)
        shares = response.special_shares(eq.labels, state, quadratic_problem(eq.labels, state).H)
    for tolerance in tolerances:
        solution = fixed_point.iterate(forms, G, log_a, shares, tolerance, acceleration)
        iterations += solution.iterations
        state = solution.state
        G, log_a = state.G, state.log_a
        if tolerance > TOLERANCES[-1]:
            shares = response.special_shares(
                eq.labels, state, quadratic_problem(eq.labels, state).H
            )
    return fixed_point.FieldSolution(solution.state, solution.shares, solution.residual, iterations)


@dataclass(frozen=True)
class SameEvaluation:
    """Errors with given numbers of nodes: means over the constants, and one value for each."""

    nodes: SameNodes
    train: float
    test: float
    squared_loss: float
    values: tuple[SameErrors, ...]
    quadrature_error: float = float("nan")  # of the finest evaluation, estimated from those before


def same_row_errors(
    problems: Sequence[Problem], rtol: float, nodes: NodeCounts | None
) -> list[Errors]:
    """Return the errors of ridge on the rows of the step, one value per problem.

    Holds for one step on Gaussian inputs. Without a step it does not matter on which rows it was.
    See docs/same_rows.md; tests/theory/uniform/same_rows.
    """
    if nodes is not None:
        raise InvalidInput("nodes", problem="ridge on the rows of the step chooses its own nodes")
    for problem in problems:
        if problem.n_step != problem.n:
            covered = "n_step=n with ridge_rows='same'"
            raise OutOfScope("uniform", "n_step", problem.n_step, covered)
        if LabelLaw.of(problem).indices > MAX_INDICES:
            covered = f"teachers of at most {MAX_INDICES} indices with ridge_rows='same'"
            raise OutOfScope("uniform", "teacher", problem.teacher_function.name, covered)
    points = []
    for problem in problems:
        if problem.step:
            points.append(_errors_of_one(problem, refine_same_rows(problem, rtol), rtol))
        else:
            points += fresh_row_errors([problem.replace(ridge_rows="fresh")], rtol, None)
    return points


def refine_same_rows(problem: Problem, rtol: float) -> SameEvaluation:
    """Evaluate a problem with more and more bins until rtol is met.

    Their error falls like one over the square of their number: the finest values are extrapolated.
    """
    constants, one_size = rows_at_constants(problem), is_of_one_size(problem)
    readouts = 1 if one_size else readout_count(constants[0])
    types = constants[0].types(readouts)
    strength = float(np.abs(types.s / types.rho).max())
    levels = [
        SameNodes(
            bins,
            max(NODES_PER_BIN, int(np.ceil(share * NODES_PER_WIDTH * strength))),
            readouts,
            fresh_points_needed(problem, share * strength),
        )
        for bins, share in zip(
            BINS if one_size else BINS_OF_MANY_READOUTS, LEVEL_SHARES, strict=True
        )
    ]
    finer = evaluate_same_rows(constants, levels[0])
    for nodes in levels[1:]:
        coarser, finer = finer, evaluate_same_rows(constants, nodes, finer)
        change = max(abs(coarser.train / finer.train - 1), abs(coarser.test / finer.test - 1))
        error = REMAINING * change
        if error <= rtol:
            break

    def extrapolated(fine: float, coarse: float) -> float:
        return fine + (fine - coarse) / 3

    return replace(
        finer,
        train=extrapolated(finer.train, coarser.train),
        test=extrapolated(finer.test, coarser.test),
        squared_loss=extrapolated(finer.squared_loss, coarser.squared_loss),
        quadrature_error=error,
    )


def readout_count(rows: RowsOfStep) -> int:
    """Return the number of nodes that resolve normal readouts."""
    rule = readout_rule(rows.problem, rows.step, rows.residual_mean, rows.residual_square)
    return rule.count(READOUT_SPACING)


def rows_at_constants(problem: Problem) -> tuple[RowsOfStep, ...]:
    """Return the rows of the step at each constant of the initial output."""
    constants = output_constants(problem) if problem.residual == "full" else (0.0,)
    return tuple(RowsOfStep.of(problem, constant) for constant in constants)


def evaluate_same_rows(
    constants: Sequence[RowsOfStep], nodes: SameNodes, before: SameEvaluation | None = None
) -> SameEvaluation:
    """Return the errors of a problem with given numbers of nodes.

    before : an evaluation with other nodes, to start from.
    """
    starts = [v.solution.state for v in before.values] if before else [None] * len(constants)
    values = tuple(
        same_errors(same_equations(rows, nodes), start)
        for rows, start in zip(constants, starts, strict=True)
    )
    return SameEvaluation(
        nodes,
        train=float(np.mean([v.values.train for v in values])),
        test=float(np.mean([v.values.test for v in values])),
        squared_loss=float(np.mean([v.values.train - v.values.penalty for v in values])),
        values=values,
    )


def _errors_of_one(problem: Problem, finest: SameEvaluation, rtol: float) -> Errors:
    """Return the errors of one problem with their accuracy, spread and warnings."""
    error, first = finest.quadrature_error, finest.values[0]
    sizes = accuracy.neglected_sizes(problem, first.step, first.values) | first.neglected
    teacher = LabelLaw.of(problem).teacher
    energy = teacher.second_moment + problem.noise**2
    # the sums of r x are fixed along v and the teacher's directions too, where long rows count
    sizes["labels with heavy tails at a small d"] = energy_of_long_rows(teacher) / (
        energy * problem.d
    )
    stated, reason = accuracy.stated_accuracy(sizes, "same rows")
    scatter = spread(problem, first.values)
    warnings = concerns(problem, stated, reason, scatter.test / first.values.test)
    if not error <= rtol:
        text = f"uniform theory: computed to within {100 * error:.1g} % (see quadrature_error)"
        warnings = (*warnings, AssumptionWarning("uniform", "quadrature_error", text))
    return Errors(
        train=finest.train,
        test=finest.test,
        squared_loss=finest.squared_loss,
        residual=first.solution.residual,
        iterations=first.solution.iterations,
        accuracy=stated.map(lambda value: float(np.hypot(value, error))),
        spread=scatter,
        quadrature_error=error,
        nodes=(2 * finest.nodes.bins * finest.nodes.index, len(first.solution.state.a)),
        warnings=warnings,
    )
