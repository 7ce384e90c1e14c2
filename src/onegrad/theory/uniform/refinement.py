"""Training and test errors of the uniform theory, with as many nodes as a tolerance asks for.

Problems are solved in a row: each starts at the solution of the one before.
"""

from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import scipy

from onegrad.arrays import Floats
from onegrad.exceptions import AssumptionWarning, NotConverged
from onegrad.problem import Problem
from onegrad.theory.prediction import Errors, TrainTest
from onegrad.theory.uniform import accuracy
from onegrad.theory.uniform.accuracy import PLAIN_ROUTE, NeglectedSizes, neglected_of_directions
from onegrad.theory.uniform.concerns import concerns
from onegrad.theory.uniform.discretisation import Equations, NodeMask, equations
from onegrad.theory.uniform.fixed_point import (
    FIXED_POINT_TOLERANCE,
    Solution,
    operations,
    solve_fixed_point,
)
from onegrad.theory.uniform.gauss_nodes import Numbers
from onegrad.theory.uniform.preparation import (
    NodeCounts,
    node_counts,
    prepare_constants,
    prepare_problem,
)
from onegrad.theory.uniform.ridge_errors import RidgeErrors, ridge_errors
from onegrad.theory.uniform.spread import spread

QUADRATURE_TOLERANCE = 1e-3  # below the theory's own error: a few tenths of a percent at n = 1000
# of nodes of the index and of a neuron, in the variable of their rules: a dozen or two of each up
# to alpha = 1
SPACINGS = (1.0, 1.5)
COARSER = 4 / 3  # factor of the spacing of the rule that a prediction is compared with
SHRINKING = 0.25  # of the error by that factor; a tenth and less in nine problems of ten
MIN_SPACING = 0.25  # a limit like MAX_NODES, which is reached before; neither is tuned
ROUGH_TOLERANCE = 0.03  # of rtol: the Newton step at which a coarser rule is solved well enough
MAX_NODES = NodeCounts(64, 96)
# nodes of samples on a grid from which none are added: random problems took minutes beyond it
MAX_REFINED_SAMPLES = 800
# of a solution that is tried, and of one from which no nodes are added (a fifth of a second, see
# `operations`). Numbers of nodes did not bound the time: blocks, functions and values of the
# activation made points of few nodes run for minutes
MAX_OPERATIONS, MAX_REFINED_OPERATIONS = 4e9, 1e9
WARM_PLAIN_ITERATIONS = 3  # they make most of the way, at a third of the cost
MAX_WARM_ITERATIONS = 12  # Newton steps from the solution before; three or four when it serves

# discretises something prepared, which has a problem and the rules of its index and its neurons
Discretise = Callable[[Any, NodeCounts], Equations]


class TooManyOperations(NotConverged):
    """A solution that would take seconds was not tried."""


@dataclass(frozen=True)
class WarmStart:
    """A solution to start the next one from: pi over the samples' probabilities, and delta.

    Both are arrays over a grid of nodes, the last axis being that of the rule.
    """

    relative_pi: Numbers
    delta: Numbers


@dataclass(frozen=True)
class Evaluation:
    """Errors with given numbers of nodes."""

    nodes: NodeCounts
    # means over the constants of the initial output
    train: float
    test: float
    squared_loss: float
    values: tuple[RidgeErrors, ...]  # errors at each of these constants
    residual: float  # of the first solution
    iterations: int  # likewise
    last: WarmStart  # the last solution
    operations: float  # the most that one of these solutions took


@dataclass(frozen=True)
class Refinement:
    """The finest evaluation of a problem, with the estimated error of its quadrature."""

    finest: Evaluation
    quadrature_error: float
    resolved: bool  # whether the tolerance was met before the largest number of nodes
    spacings: tuple[float, float]  # where the next problem starts
    # relative changes by coarser rules of the index and of a neuron, see `COARSER`
    changes: tuple[float, ...] = ()


def fresh_row_errors(
    problems: Sequence[Problem],
    rtol: float,  # relative error allowed to quadrature
    nodes: NodeCounts | None,  # exactly these numbers instead
    route: str = PLAIN_ROUTE,  # coefficients of the accuracy, see `stated_accuracy`
    # what is neglected beside `neglected_sizes` of something prepared
    more_sizes: Callable[[Any], NeglectedSizes] = neglected_of_directions,
    prepare: Callable[..., Any] = prepare_problem,
    discretise: Discretise = equations,
) -> list[Errors]:
    """Return the errors of ridge on fresh rows, one value per problem.

    Each problem starts from the solution of the one before it.
    """
    start: WarmStart | None = None
    spacings, points = SPACINGS, []
    for problem in problems:
        mean, constants = prepare_constants(problem, prepare)
        if nodes is None:
            refinement = refine(mean, constants, rtol, start, spacings, discretise)
        else:
            fixed = evaluate_at_nodes(constants, nodes, start, discretise)
            refinement = Refinement(fixed, float("nan"), True, spacings)
        points.append(_errors_of_one(problem, constants, refinement, route, more_sizes(mean)))
        start, spacings = refinement.finest.last, refinement.spacings
    return points


def refine(
    mean: Any,  # the problem as `prepare_constants` returns it, or prepared otherwise
    constants: Sequence[Any],  # the same at each constant of its initial output
    rtol: float,
    start: WarmStart | None = None,  # the last solution of the problem before
    spacings: tuple[float, float] = SPACINGS,  # and its spacings
    discretise: Discretise = equations,
) -> Refinement:
    """Evaluate a problem with as many nodes as its rules ask for, and more until rtol is met.

    Quadrature converges geometrically, so the error after a change c that followed a change c' is
    about c^2/c'.
    """
    spacing = list(spacings)

    def evaluate(nodes: NodeCounts, last: WarmStart | None) -> Evaluation:
        return evaluate_at_nodes(constants, nodes, last, discretise, max_operations=MAX_OPERATIONS)

    finest = evaluate(node_counts(mean, *spacing), start)
    changes, estimates, rough = [0.0, 0.0], [0.0, 0.0], ROUGH_TOLERANCE * rtol
    for i in range(2):
        coarser = [s * (COARSER if i == j else 1) for j, s in enumerate(spacing)]
        nodes = node_counts(mean, *coarser)
        other = evaluate_at_nodes(constants, nodes, finest.last, discretise, rough)
        changes[i] = _relative_change(other, finest)
        estimates[i] = SHRINKING * changes[i]
    resolved = True
    while sum(estimates) > rtol:
        i = int(np.argmax(estimates))
        spacing[i] /= COARSER
        nodes = node_counts(mean, *spacing)
        too_many = nodes.index > MAX_NODES.index or nodes.neuron > MAX_NODES.neuron
        too_many |= finest.last.relative_pi.size > MAX_REFINED_SAMPLES
        too_many |= finest.operations > MAX_REFINED_OPERATIONS
        if spacing[i] < MIN_SPACING or too_many:
            resolved = False
            break
        try:
            finer = evaluate(nodes, finest.last)
        except TooManyOperations:
            resolved = False
            break
        change = _relative_change(finest, finer)
        estimates[i] = change * min(max(change / changes[i], 0.1), 1.0) if change else 0.0
        changes[i], finest = change, finer
    following = min(spacing[0] * COARSER, SPACINGS[0]), min(spacing[1] * COARSER, SPACINGS[1])
    return Refinement(finest, sum(estimates), resolved, following, tuple(changes))


def evaluate_at_nodes(
    constants: Sequence[Any],
    nodes: NodeCounts,
    start: WarmStart | None,
    discretise: Discretise = equations,
    tolerance: float = FIXED_POINT_TOLERANCE,
    max_operations: float = np.inf,
) -> Evaluation:
    """Solve a problem with given nodes at each constant of its initial output.

    Raises TooManyOperations where a solution would take more than `max_operations`.
    """
    values, solutions, largest = [], [], 0.0
    for prepared in constants:
        eq = discretise(prepared, nodes)
        largest = max(largest, operations_within(eq, max_operations))
        solution = _solve_from(eq, prepared.problem.ridge, nodes, start, tolerance)
        samples, neurons = _masks(eq, nodes)
        relative_pi, delta = solution.state.pi / eq.p, solution.state.delta
        start = WarmStart(_on_grid(relative_pi, samples), _on_grid(delta, neurons))
        values.append(ridge_errors(eq, solution))
        solutions.append(solution)
    assert start is not None
    return Evaluation(
        nodes,
        train=float(np.mean([v.train for v in values])),
        test=float(np.mean([v.test for v in values])),
        squared_loss=float(np.mean([v.train - v.penalty for v in values])),
        values=tuple(values),
        residual=solutions[0].residual,
        iterations=solutions[0].iterations,
        last=start,
        operations=largest,
    )


def operations_within(eq: Equations, limit: float = MAX_OPERATIONS) -> float:
    """Return the operations of a solution; raise TooManyOperations where they are more."""
    needed = operations(eq)
    if needed > limit:
        raise TooManyOperations(
            f"uniform theory: {len(eq.p)} nodes of samples and {len(eq.weight)} of neurons "
            f"would take {needed:.1e} operations a step (at most {limit:.0e})"
        )
    return needed


def _solve_from(
    eq: Equations, ridge: float, nodes: NodeCounts, start: WarmStart | None, tolerance: float
) -> Solution:
    """Solve from the solution before if there is one and it serves, else from scratch."""
    if start is not None:
        samples, neurons = _masks(eq, nodes)
        relative_pi = _resampled(start.relative_pi, samples.shape)
        delta = _resampled(start.delta, neurons.shape)
        if relative_pi.shape == samples.shape and delta.shape == neurons.shape:
            before = eq.p * relative_pi[samples], delta[neurons]
            try:
                return solve_fixed_point(
                    eq, ridge, before, tolerance, MAX_WARM_ITERATIONS, WARM_PLAIN_ITERATIONS
                )
            except NotConverged:
                pass
    return solve_fixed_point(eq, ridge, tol=tolerance)


def _relative_change(a: Evaluation, b: Evaluation) -> float:
    return float(max(abs(a.train / b.train - 1), abs(a.test / b.test - 1)))


def _masks(eq: Equations, nodes: NodeCounts) -> tuple[NodeMask, NodeMask]:
    """Return the nodes of samples and of neurons on their grids, the axis of the rule last."""
    if eq.masks is not None:
        return eq.masks
    samples, neurons = (len(eq.p), nodes.index), (len(eq.weight), nodes.neuron)
    first, second = (np.ones((size // k, k), bool) for size, k in (samples, neurons))
    return first, second


def _on_grid(values: Numbers, mask: NodeMask) -> Numbers:
    """Return positive values on a grid; nodes that are left out have the geometric mean."""
    on_grid = np.full(mask.shape, np.exp(np.log(values).mean()))
    on_grid[mask] = values
    return on_grid


def _resampled(values: Numbers, shape: tuple[int, ...]) -> Numbers:
    """Interpolate positive values on a grid to one of another shape, along axes that are rules.

    Of a grid of two axes the first counts fluctuations that have no order.
    """
    if values.shape == shape or len(values.shape) != len(shape):
        return values
    logs = np.log(values)
    for axis in range(int(len(shape) == 2), len(shape)):
        old, new = values.shape[axis], shape[axis]
        if old != new:
            along = np.moveaxis(logs, axis, -1) @ _interpolation(old, new)
            logs = np.moveaxis(along, -1, axis)
    return np.exp(logs)


@lru_cache(maxsize=256)
def _interpolation(old: int, new: int) -> Floats:
    """Return the matrix (old, new) of cubic splines through equally spaced values."""
    at, order = np.linspace(0, old - 1, new), min(3, old - 1)
    spline = scipy.interpolate.make_interp_spline(np.arange(old), np.eye(old), k=order)
    return spline(at).T


def _errors_of_one(
    problem: Problem,
    constants: Sequence[Any],
    refinement: Refinement,
    route: str,
    more_sizes: NeglectedSizes,
) -> Errors:
    """Return the errors of one problem with their accuracy, spread and warnings."""
    values = refinement.finest.values
    warnings: list[AssumptionWarning] = []
    stated = [
        accuracy.stated_accuracy(
            accuracy.neglected_sizes(problem, prepared.step, v) | more_sizes, route
        )
        for prepared, v in zip(constants, values, strict=True)
    ]
    spreads = [spread(problem, v) for v in values]
    for (relative, reason), scatter, v in zip(stated, spreads, values, strict=True):
        warnings += concerns(problem, relative, reason, scatter.test / v.test)
    return errors_of_refinement(refinement, stated[0][0], spreads[0], warnings)


def errors_of_refinement(
    refinement: Refinement,
    relative: TrainTest,  # accuracy without that of quadrature
    scatter: TrainTest,  # spread of single networks
    warnings: Sequence[AssumptionWarning],
) -> Errors:
    """Return the errors of the finest evaluation; their accuracy has the quadrature's added."""
    finest, error = refinement.finest, refinement.quadrature_error
    if not refinement.resolved:
        text = f"uniform theory: computed to within {100 * error:.1g} % (see quadrature_error)"
        warnings = [*warnings, AssumptionWarning("uniform", "quadrature_error", text)]
    return Errors(
        train=finest.train,
        test=finest.test,
        squared_loss=finest.squared_loss,
        residual=finest.residual,
        iterations=finest.iterations,
        accuracy=relative.map(lambda v: float(np.hypot(v, np.nan_to_num(error)))),
        spread=scatter,
        quadrature_error=error,
        nodes=astuple(finest.nodes),
        warnings=tuple(warnings),
    )
