"""Training and test errors after two steps on fresh batches and ridge."""

from __future__ import annotations

from collections.abc import Sequence

from onegrad.exceptions import OutOfScope
from onegrad.problem import Problem
from onegrad.theory.prediction import Errors
from onegrad.theory.uniform.accuracy import NeglectedSizes
from onegrad.theory.uniform.concerns import MAX_MEAN_SQUARE
from onegrad.theory.uniform.preparation import NodeCounts
from onegrad.theory.uniform.refinement import (
    SPACINGS,
    Refinement,
    WarmStart,
    errors_of_one,
    evaluate_at_nodes,
    fresh_row_errors,
    refine,
)
from onegrad.theory.uniform.two_steps.discretisation import equations_of_two_steps
from onegrad.theory.uniform.two_steps.preparation import prepare_two_step_constants

LARGE_GROWTH = 100.0  # of the mean square of residuals by the first step


def two_step_errors(
    problems: Sequence[Problem], rtol: float, nodes: NodeCounts | None = None
) -> list[Errors]:
    """Return training and test errors of problems with two steps, each from the one before.

    rtol, nodes : relative error allowed to quadrature, or numbers of nodes.
    """
    start: WarmStart | None = None
    spacings, points = SPACINGS, []
    for problem in problems:
        _require_two_fresh_steps(problem)
        if problem.labels == "plain" and not problem.step:  # a batch that moves nothing
            one = problem.replace(steps=1, later_alpha="", eta=problem.later_steps[0])
            points += fresh_row_errors([one], rtol, nodes)
            continue
        mean, constants = prepare_two_step_constants(problem)
        if nodes is None:
            refinement = refine(mean, constants, rtol, start, spacings, equations_of_two_steps)
        else:
            fixed = evaluate_at_nodes(constants, nodes, start, equations_of_two_steps)
            refinement = Refinement(fixed, float("nan"), True, spacings, fixed.last)
        sizes = _growth_sizes(problem, mean.growth)
        points.append(errors_of_one(problem, constants, refinement, "two steps", sizes))
        start, spacings = refinement.last, refinement.spacings
    return points


def _growth_sizes(problem: Problem, growth: float) -> NeglectedSizes:
    r"""Return what two steps neglect where the second sees larger residuals than the first.

    With :math:`R = Er_2^2/Er_1^2` above a hundred the first step has blown the output up, and
    fluctuations of the output that the theory takes for means decide the second.
    """
    share = growth / (growth + LARGE_GROWTH)
    return {
        "a first step that blows the residuals of the second up": share,
        "equal readouts after a step that blows residuals up": share
        * (problem.readout == "constant"),
    }


def _require_two_fresh_steps(problem: Problem) -> None:
    """Raise OutOfScope for more than two steps, and for two on one batch."""
    if problem.steps > 2:
        raise OutOfScope("uniform", "steps", problem.steps, "one or two steps")
    if problem.batches != "fresh":
        raise OutOfScope("uniform", "batches", problem.batches, "fresh batches with two steps")
    if problem.later_steps[0] > MAX_MEAN_SQUARE:
        covered = f"steps up to {MAX_MEAN_SQUARE:g}"
        raise OutOfScope("uniform", "later_alpha", problem.later_alpha, covered)
