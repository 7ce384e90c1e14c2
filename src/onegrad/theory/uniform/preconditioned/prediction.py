"""Training and test errors after a preconditioned step and ridge on fresh rows."""

from __future__ import annotations

from collections.abc import Sequence

from onegrad.exceptions import OutOfScope
from onegrad.problem import Problem
from onegrad.theory.prediction import Errors
from onegrad.theory.uniform.preparation import NodeCounts
from onegrad.theory.uniform.refinement import fresh_row_errors


def preconditioned_errors(
    problems: Sequence[Problem], rtol: float, nodes: NodeCounts | None = None
) -> list[Errors]:
    """Return training and test errors of problems, each from the one before.

    rtol, nodes : relative error allowed to quadrature, or numbers of nodes.
    """
    for problem in problems:
        if problem.update != "preconditioned":
            covered = "update='gradient' or 'preconditioned'"
            raise OutOfScope("uniform", "update", problem.update, covered)
    return fresh_row_errors(problems, rtol, nodes, "preconditioned")
