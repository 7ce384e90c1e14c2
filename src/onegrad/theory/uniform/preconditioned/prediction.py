"""Training and test errors after a preconditioned step and ridge on fresh rows."""

from __future__ import annotations

from collections.abc import Sequence

from onegrad.problem import Problem
from onegrad.theory.prediction import Errors
from onegrad.theory.uniform.accuracy import NeglectedSizes
from onegrad.theory.uniform.preparation import NodeCounts, Prepared
from onegrad.theory.uniform.refinement import fresh_row_errors


def preconditioned_errors(
    problems: Sequence[Problem], rtol: float, nodes: NodeCounts | None = None
) -> list[Errors]:
    """Return training and test errors of problems, each from the one before.

    rtol, nodes : relative error allowed to quadrature, or numbers of nodes.
    """
    return fresh_row_errors(problems, rtol, nodes, "preconditioned", _neglected_products)


def _neglected_products(prepared: Prepared) -> NeglectedSizes:
    """Return what is neglected of the fourth order of the step: products that do not commute.

    Its size is the squared share of the step in the variance of the bulk weights.
    """
    step, trace = prepared.step, prepared.covariance.trace
    moved = 4 * step.c2**2 * (trace.mu**2 + trace.excess)
    moved += step.nu * prepared.problem.phi_step * trace.s
    growth = step.gamma**2 * float(trace.weight @ moved)
    share = growth / (1 + growth) if step.c2 else 0.0
    return {"matrices of a preconditioned step that do not commute": share**2}
