"""Errors of ridge on the rows of the step, with their accuracy, spread and warnings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from onegrad.exceptions import AssumptionWarning, InvalidInput, OutOfScope
from onegrad.problem import Problem
from onegrad.theory.direction import output_constants
from onegrad.theory.prediction import Errors
from onegrad.theory.uniform import accuracy
from onegrad.theory.uniform.concerns import concerns
from onegrad.theory.uniform.label_law import LabelLaw
from onegrad.theory.uniform.preparation import NodeCounts
from onegrad.theory.uniform.refinement import fresh_row_errors
from onegrad.theory.uniform.same_rows.errors import (
    RowsOfStep,
    SameErrors,
    SameNodes,
    same_equations,
    same_errors,
)
from onegrad.theory.uniform.same_rows.neurons import readout_rule
from onegrad.theory.uniform.same_rows.training_rows import (
    MAX_INDICES,
    energy_of_long_rows,
    residual_moments,
)
from onegrad.theory.uniform.spread import spread

NODES_PER_BIN = 7
BINS = (12, 24, 48)
BINS_OF_NORMAL_READOUTS = (4, 8, 16)
READOUT_SPACING = 1.25  # of normal readouts, in the variable of their rule
REMAINING = 0.25  # share of the change by the last level that may still be missing


@dataclass(frozen=True)
class SameEvaluation:
    """Errors with given numbers of nodes: means over the constants, and one value for each."""

    nodes: SameNodes
    train: float
    test: float
    squared_loss: float
    values: tuple[SameErrors, ...]


@dataclass(frozen=True)
class SameRefinement:
    """The finest evaluation of a problem, with the estimated error of its nodes.

    resolved : whether the tolerance was met before the last level.
    """

    finest: SameEvaluation
    quadrature_error: float
    resolved: bool


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
        _require_covered_here(problem)
    points = []
    for problem in problems:
        if problem.step:
            points.append(_errors_of_one(problem, refine_same_rows(problem, rtol)))
        else:
            points += fresh_row_errors([problem.replace(ridge_rows="fresh")], rtol, None)
    return points


def refine_same_rows(problem: Problem, rtol: float) -> SameRefinement:
    """Evaluate a problem with more and more bins until rtol is met.

    Their error falls like one over the square of their number: the finest values are extrapolated.
    """
    constants, normal = rows_at_constants(problem), problem.readout == "gaussian"
    levels = [
        SameNodes(bins, NODES_PER_BIN, readout_count(constants[0]) if normal else 1)
        for bins in (BINS_OF_NORMAL_READOUTS if normal else BINS)
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

    finest = replace(
        finer,
        train=extrapolated(finer.train, coarser.train),
        test=extrapolated(finer.test, coarser.test),
        squared_loss=extrapolated(finer.squared_loss, coarser.squared_loss),
    )
    return SameRefinement(finest, error, error <= rtol)


def readout_count(rows: RowsOfStep) -> int:
    """Return the number of nodes that resolve normal readouts."""
    rule = readout_rule(rows.problem, rows.step, *residual_moments(rows.grids))
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


def _errors_of_one(problem: Problem, refinement: SameRefinement) -> Errors:
    """Return the errors of one problem with their accuracy, spread and warnings."""
    finest, error = refinement.finest, refinement.quadrature_error
    first = finest.values[0]
    sizes = accuracy.neglected_sizes(problem, first.step, first.values)
    teacher = LabelLaw.of(problem).teacher
    energy = teacher.second_moment + problem.noise**2
    # the sums of r x are fixed along v and the teacher's directions too, where long rows count
    sizes["labels with heavy tails at a small d"] = energy_of_long_rows(teacher) / (
        energy * problem.d
    )
    stated, reason = accuracy.stated_accuracy(sizes, "same rows")
    scatter = spread(problem, first.values)
    warnings = concerns(problem, stated, reason, scatter.test / first.values.test)
    if not refinement.resolved:
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


def _require_covered_here(problem: Problem) -> None:
    """Raise OutOfScope for what is covered on fresh rows only."""
    if problem.n_step != problem.n:
        covered = "n_step=n with ridge_rows='same'"
        raise OutOfScope("uniform", "n_step", problem.n_step, covered)
    indices = LabelLaw.of(problem).indices
    if indices > MAX_INDICES:
        covered = f"teachers of at most {MAX_INDICES} indices with ridge_rows='same'"
        raise OutOfScope("uniform", "teacher", problem.teacher_function.name, covered)
