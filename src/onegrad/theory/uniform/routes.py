"""The equations that serve a problem, and the errors that they give.

The engine (`refine`) serves all that its laws combine (`laws.table`). Inputs with a covariance on
which nothing but the residual differs from the plain problem have equations of their own.
"""

from collections.abc import Sequence
from dataclasses import fields
from itertools import groupby
from typing import Any

import numpy as np

from onegrad.exceptions import InvalidInput, NotConverged
from onegrad.functions.function import MultiIndex
from onegrad.parallel.cores import one_blas_thread
from onegrad.problem import FIELDS, Problem
from onegrad.theory.prediction import Errors, TrainTest
from onegrad.theory.uniform.concerns import UNIFORM_FIELDS, require_covered
from onegrad.theory.uniform.evaluation import Nodes
from onegrad.theory.uniform.input_covariance import InputSpectrum, covariance_errors
from onegrad.theory.uniform.refine import errors_of_problems
from onegrad.theory.uniform.refinement import QUADRATURE_TOLERANCE, fresh_row_errors

EXTENSION_FIELDS = ("inputs", "ridge_rows", "steps", "update", "weight_decay", "paired")
PER_PROBLEM = ("warnings", "neglected")  # columns of Errors that are not arrays
ERROR_FIELDS = (*UNIFORM_FIELDS, *EXTENSION_FIELDS)
# what the equations for a covariance cover, other fields of extensions being at their defaults
OF_COVARIANCE = {"labels": ("plain", "centred"), "residual": ("labels", "full")}


@one_blas_thread
def uniform_errors(
    problems: Sequence[Problem],
    *,
    rtol: float = QUADRATURE_TOLERANCE,
    nodes: Nodes | None = None,
    inputs: InputSpectrum | None = None,
) -> Errors:
    """Return training and test errors after gradient steps and ridge: columns over problems.

    Problems may differ in anything; each starts from the solution of the one before it, so that
    neighbours that differ little (in step or ridge) gain most.

    Parameters
    ----------
    rtol : relative error allowed to quadrature; nodes are added until it is met.
    nodes : use exactly these nodes instead.
    inputs : spectrum of a user's inputs, in place of the problems' own.

    Holds for one step on Gaussian inputs, which may have a covariance, then ridge on fresh rows or
    on those of the step; and for two steps.
    See docs/uniform.md; tests/theory/uniform/test_stored_simulations_agree.py.
    """
    if not rtol > 0:
        raise InvalidInput("rtol", rtol, "> 0")
    for problem in problems:
        require_covered(problem, UNIFORM_FIELDS if inputs is not None else ERROR_FIELDS)
    kinds = [kind_of(problem, inputs) for problem in problems]
    points: list[Errors] = []
    for kind, pairs in groupby(zip(kinds, problems, strict=True), key=lambda pair: pair[0]):
        part = [problem for _, problem in pairs]
        if kind == "covariance":
            points += covariance_errors(part, rtol, None)
        else:
            points += _engine_errors(part, rtol, nodes, inputs)
    return _columns(points)


def kind_of(problem: Problem, inputs: InputSpectrum | None = None) -> str:
    """Return whether the engine serves a problem, or equations for a covariance."""
    if inputs is not None:
        return "engine"
    others = [field for field in EXTENSION_FIELDS if field != "inputs"]
    plain_otherwise = not any(_is_set(problem, field) for field in others)
    plain_otherwise &= not isinstance(problem.teacher_function, MultiIndex)
    plain_otherwise &= all(
        getattr(problem, field) in values for field, values in OF_COVARIANCE.items()
    )
    # a spike along the teacher on fewer rows than inputs: those equations are 13 to 57 % off there,
    # the engine 2 to 6
    plain_otherwise &= not (problem.input_overlap and problem.rows_of_step < problem.d)
    return "covariance" if plain_otherwise and problem.input_law.name != "gaussian" else "engine"


def _engine_errors(
    problems: Sequence[Problem], rtol: float, nodes: Nodes | None, inputs: InputSpectrum | None
) -> list[Errors]:
    """Return the errors by the engine; where it does not converge, by the plain theory's solver.

    That is at the interpolation threshold, with a penalty near zero.
    """
    try:
        return errors_of_problems(problems, rtol, nodes, inputs)
    except NotConverged:
        if len(problems) > 1:
            return [
                error
                for problem in problems
                for error in _engine_errors([problem], rtol, nodes, inputs)
            ]
        if inputs or any(_is_set(problems[0], field) for field in EXTENSION_FIELDS):
            raise
        return fresh_row_errors(problems, rtol, None)


def _is_set(problem: Problem, field: str) -> bool:
    return bool(getattr(problem, field) != FIELDS[field].default)


def _columns(points: Sequence[Errors]) -> Errors:
    """Return errors of single problems as columns, and each text of their warnings once."""
    columns: dict[str, Any] = {}
    for name in (f.name for f in fields(Errors) if f.name not in PER_PROBLEM):
        values = [getattr(point, name) for point in points]
        if isinstance(values[0], TrainTest):
            train, test = (np.array([getattr(v, k) for v in values]) for k in ("train", "test"))
            columns[name] = TrainTest(train=train, test=test)
        else:
            columns[name] = np.array(values)
    warnings = {str(warning): warning for point in points for warning in point.warnings}
    neglected = tuple(sizes for point in points for sizes in point.neglected)
    return Errors(**columns, warnings=tuple(warnings.values()), neglected=neglected)
