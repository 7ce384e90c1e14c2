"""The equations that serve a problem, and the errors that they give.

A problem with one field off its default may have equations of its own: a row of `ROUTES`. The first
route that applies is taken, the plain theory last. Fields that no route combines go to the engine,
whose laws combine (`refine`).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from dataclasses import field as dataclass_field
from functools import partial
from itertools import groupby
from typing import Any

import numpy as np

from onegrad.exceptions import InvalidInput, OutOfScope
from onegrad.parallel.cores import one_blas_thread
from onegrad.problem import FIELDS, Problem
from onegrad.theory.prediction import Errors, TrainTest
from onegrad.theory.uniform.accuracy import neglected_of_preconditioned_step
from onegrad.theory.uniform.concerns import UNIFORM_FIELDS, require_covered
from onegrad.theory.uniform.input_covariance import InputSpectrum, covariance_errors
from onegrad.theory.uniform.preparation import NodeCounts
from onegrad.theory.uniform.refine import errors_of_problems
from onegrad.theory.uniform.refinement import QUADRATURE_TOLERANCE, fresh_row_errors
from onegrad.theory.uniform.same_rows.errors import same_row_errors
from onegrad.theory.uniform.two_steps.discretisation import two_step_errors

ErrorsOfProblems = Callable[[Sequence[Problem], float, NodeCounts | None], list[Errors]]


@dataclass(frozen=True)
class Route:
    """Equations for the problems with some field off its default."""

    fields: tuple[str, ...]  # that lead here, beside those of the plain theory; none leads anywhere
    # of problems, one value each, from a relative error and numbers of nodes
    errors: ErrorsOfProblems
    # values of other fields that are covered, where these are not all
    choices: Mapping[str, tuple[str, ...]] = dataclass_field(default_factory=dict)

    def applies(self, problem: Problem) -> bool:
        """Return whether a field of the problem leads here."""
        return not self.fields or any(_is_set(problem, field) for field in self.fields)


OUTPUTS = ("labels", "full")  # residuals with all or nothing of the output
ROUTES = (
    Route(("inputs",), covariance_errors, {"labels": ("plain", "centred"), "residual": OUTPUTS}),
    Route(("ridge_rows",), same_row_errors, {"labels": ("plain",), "residual": OUTPUTS}),
    Route(("steps",), two_step_errors),
    Route(
        ("update",),
        partial(
            fresh_row_errors, route="preconditioned", more_sizes=neglected_of_preconditioned_step
        ),
    ),
    Route((), fresh_row_errors),
)


def _engine_errors(
    problems: Sequence[Problem], rtol: float, nodes: NodeCounts | None
) -> list[Errors]:
    """Return the errors of problems whose laws no route combines."""
    if nodes is not None:
        raise InvalidInput("nodes", problem="combined laws choose their own nodes")
    return errors_of_problems(problems, rtol)


ENGINE = Route((), _engine_errors)
# fields with equations of their own, or for the engine alone
OFF_DEFAULT = (*(field for route in ROUTES for field in route.fields), "weight_decay", "paired")
ERROR_FIELDS = (*UNIFORM_FIELDS, *OFF_DEFAULT)


@one_blas_thread
def uniform_errors(
    problems: Sequence[Problem],
    *,
    rtol: float = QUADRATURE_TOLERANCE,
    nodes: NodeCounts | None = None,
    inputs: InputSpectrum | None = None,
) -> Errors:
    """Return training and test errors after gradient steps and ridge: columns over problems.

    Problems may differ in anything; each starts from the solution of the one before it, so that
    neighbours that differ little (in step or ridge) gain most.

    Parameters
    ----------
    rtol : relative error allowed to quadrature; nodes are added until it is met.
    nodes : use exactly these numbers of nodes instead; ridge on fresh rows only.
    inputs : spectrum of a user's inputs, in place of the problems' own.

    Holds for one step on Gaussian inputs, which may have a covariance, then ridge on fresh rows or
    on those of the step, with combinations of these; and for two steps on fresh batches of
    isotropic inputs.
    See docs/uniform.md; tests/theory/uniform/test_stored_simulations_agree.py.
    """
    if not rtol > 0:
        raise InvalidInput("rtol", rtol, "> 0")
    if inputs is not None:
        for problem in problems:
            require_covered(problem)
        return _columns(covariance_errors(problems, rtol, nodes, inputs))
    routes = [route_of(problem) for problem in problems]
    points: list[Errors] = []
    for route, pairs in groupby(zip(routes, problems, strict=True), key=lambda pair: pair[0]):
        points += route.errors([problem for _, problem in pairs], rtol, nodes)
    return _columns(points)


def route_of(problem: Problem) -> Route:
    """Return the equations that serve a problem; raise OutOfScope where none do."""
    require_covered(problem, ERROR_FIELDS)
    route = next(route for route in ROUTES if route.applies(problem))
    others = [field for field in OFF_DEFAULT if field not in route.fields]
    unknown = any(_is_set(problem, field) for field in others)
    unknown |= any(getattr(problem, k) not in values for k, values in route.choices.items())
    unknown |= problem.ridge_rows == "same" and problem.rows_of_step != problem.n
    if not unknown:
        return route
    if problem.steps > 1:
        field = next(
            (field for field in OFF_DEFAULT if field != "steps" and _is_set(problem, field)),
            "residual",
        )
        covered = f"{FIELDS[field].default!r} with steps={problem.steps}"
        raise OutOfScope("uniform", field, getattr(problem, field), covered)
    return ENGINE


def _is_set(problem: Problem, field: str) -> bool:
    return bool(getattr(problem, field) != FIELDS[field].default)


def _columns(points: Sequence[Errors]) -> Errors:
    """Return errors of single problems as columns, and each text of their warnings once."""
    columns: dict[str, Any] = {}
    for name in (f.name for f in fields(Errors) if f.name != "warnings"):
        values = [getattr(point, name) for point in points]
        if isinstance(values[0], TrainTest):
            train, test = (np.array([getattr(v, k) for v in values]) for k in ("train", "test"))
            columns[name] = TrainTest(train=train, test=test)
        elif name == "neglected":
            columns[name] = tuple(sizes for point in points for sizes in point.neglected)
        else:
            columns[name] = np.array(values)
    warnings = {str(warning): warning for point in points for warning in point.warnings}
    return Errors(**columns, warnings=tuple(warnings.values()))
