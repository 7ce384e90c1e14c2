"""Errors of ridge on the rows of the step, with their accuracy, spread and warnings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from onegrad.exceptions import AssumptionWarning, InvalidInput, OutOfScope
from onegrad.problem import Problem
from onegrad.theory.direction import output_constants
from onegrad.theory.prediction import Errors
from onegrad.theory.uniform.accuracy import neglected_sizes, stated_accuracy
from onegrad.theory.uniform.concerns import concerns
from onegrad.theory.uniform.label_law import LabelLaw
from onegrad.theory.uniform.preparation import NodeCounts
from onegrad.theory.uniform.refinement import fresh_row_errors
from onegrad.theory.uniform.same_rows.errors import (
    SameErrors,
    SameNodes,
    same_equations,
    same_errors,
)
from onegrad.theory.uniform.same_rows.training_rows import MAX_INDICES
from onegrad.theory.uniform.spread import spread

NODES = SameNodes(bins=12, index=7, readout=1)
NORMAL_NODES = SameNodes(bins=5, index=7, readout=14)  # of normal readouts
STRONG_NODES = SameNodes(bins=5, index=7, readout=20)  # and a strong step
STRONG_EXPONENT = 0.35
FEWER_NODES = 4 / 3  # factor of the numbers of nodes that a prediction is compared with


@dataclass(frozen=True)
class SameEvaluation:
    """Errors with given numbers of nodes: means over the constants, and one value for each."""

    train: float
    test: float
    squared_loss: float
    values: tuple[SameErrors, ...]


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
    return [
        _errors_of_one(problem) if problem.step else fresh_row_errors([problem], rtol, None)[0]
        for problem in problems
    ]


def evaluate_same_rows(problem: Problem, nodes: SameNodes) -> SameEvaluation:
    """Return the errors of a problem with given numbers of nodes."""
    full = problem.residual == "full"
    constants = output_constants(problem) if full else (0.0,)
    values = tuple(
        same_errors(same_equations(problem, constant, nodes, second_order=True))
        for constant in constants
    )
    return SameEvaluation(
        train=float(np.mean([v.values.train for v in values])),
        test=float(np.mean([v.values.test for v in values])),
        squared_loss=float(np.mean([v.values.train - v.values.penalty for v in values])),
        values=values,
    )


def _nodes(problem: Problem) -> SameNodes:
    if problem.readout != "gaussian":
        return NODES
    return STRONG_NODES if problem.step > problem.n**STRONG_EXPONENT else NORMAL_NODES


def _errors_of_one(problem: Problem) -> Errors:
    nodes = _nodes(problem)
    finest = evaluate_same_rows(problem, nodes)
    error = 0.0
    coarser = [replace(nodes, bins=round(nodes.bins / FEWER_NODES))]
    if problem.readout == "gaussian":
        coarser.append(replace(nodes, readout=round(nodes.readout / FEWER_NODES)))
    for fewer in coarser:
        other = evaluate_same_rows(problem, fewer)
        error += max(abs(other.train / finest.train - 1), abs(other.test / finest.test - 1))
    first = finest.values[0]
    sizes = neglected_sizes(problem, first.step, first.values)
    stated, reason = stated_accuracy(sizes, "same rows")
    scatter = spread(problem, first.values)
    warnings: tuple[AssumptionWarning, ...] = concerns(
        problem, stated, reason, scatter.test / first.values.test
    )
    return Errors(
        train=finest.train,
        test=finest.test,
        squared_loss=finest.squared_loss,
        residual=first.solution.residual,
        iterations=first.solution.iterations,
        accuracy=stated.map(lambda value: value + error),
        spread=scatter,
        quadrature_error=error,
        nodes=(2 * nodes.bins * nodes.index, len(first.solution.state.a)),
        warnings=warnings,
    )


def _require_covered_here(problem: Problem) -> None:
    """Raise OutOfScope for what is covered on fresh rows only."""
    if problem.n_step != problem.n:
        covered = "n_step=n with ridge_rows='same'"
        raise OutOfScope("uniform", "n_step", problem.n_step, covered)
    if problem.labels != "plain":
        covered = "labels='plain' with ridge_rows='same'"
        raise OutOfScope("uniform", "labels", problem.labels, covered)
    indices = LabelLaw.of(problem).indices
    if indices > MAX_INDICES:
        covered = f"teachers of at most {MAX_INDICES} indices with ridge_rows='same'"
        raise OutOfScope("uniform", "teacher", problem.teacher_function.name, covered)
