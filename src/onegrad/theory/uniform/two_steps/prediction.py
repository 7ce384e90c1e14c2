"""Training and test errors after two steps on fresh batches and ridge."""

from __future__ import annotations

from collections.abc import Sequence

from onegrad.exceptions import OutOfScope
from onegrad.problem import Problem
from onegrad.theory.prediction import Errors
from onegrad.theory.uniform.accuracy import NeglectedSizes
from onegrad.theory.uniform.concerns import MAX_MEAN_SQUARE
from onegrad.theory.uniform.preparation import NodeCounts
from onegrad.theory.uniform.refinement import fresh_row_errors
from onegrad.theory.uniform.two_steps.discretisation import equations_of_two_steps
from onegrad.theory.uniform.two_steps.preparation import PreparedTwoSteps, prepare_two_steps

LARGE_GROWTH = 100.0  # of the mean square of residuals by the first step


def two_step_errors(
    problems: Sequence[Problem], rtol: float, nodes: NodeCounts | None = None
) -> list[Errors]:
    """Return training and test errors of problems with two steps, each from the one before.

    rtol, nodes : relative error allowed to quadrature, or numbers of nodes.
    """
    for problem in problems:
        _require_two_fresh_steps(problem)
    two = [p for p in problems if p.step or p.labels != "plain"]
    prepare, discretise = prepare_two_steps, equations_of_two_steps
    errors = iter(
        fresh_row_errors(two, rtol, nodes, "two steps", _growth_sizes, prepare, discretise)
    )
    points = []
    for problem in problems:
        if problem.step or problem.labels != "plain":
            points.append(next(errors))
        else:  # a batch that moves nothing
            one = problem.replace(steps=1, later_alpha="", eta=problem.later_steps[0])
            points += fresh_row_errors([one], rtol, nodes)
    return points


def _growth_sizes(prepared: PreparedTwoSteps) -> NeglectedSizes:
    r"""Return what two steps neglect where the second sees larger residuals than the first.

    With :math:`R = Er_2^2/Er_1^2` above a hundred the first step has blown the output up, and
    fluctuations of the output that the theory takes for means decide the second.
    """
    share = prepared.growth / (prepared.growth + LARGE_GROWTH)
    return {
        "a first step that blows the residuals of the second up": share,
        "equal readouts after a step that blows residuals up": share
        * (prepared.problem.readout == "constant"),
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
