"""Training and test error of one problem, or of many that share work."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, fields, replace

import numpy as np

from onegrad.errors import InvalidInput, NotConverged, warn
from onegrad.problem import Problem
from onegrad.theory.direction import output_constants
from onegrad.theory.results import Errors
from onegrad.theory.uniform.equations import Equations, Sizes, equations
from onegrad.theory.uniform.fixed_point import Numbers, Solution, solve
from onegrad.theory.uniform.losses import losses
from onegrad.theory.uniform.validity import concerns, require_covered

LADDER = tuple(Sizes(*k) for k in ((8, 8), (12, 14), (14, 24), (20, 36), (28, 56), (40, 80)))
Starts = dict[tuple[Sizes, float], tuple[Numbers, Numbers]]  # the last with nodes and constant
AVERAGED = ("train", "test", "squared_loss")
RTOL = 1e-3  # below the theory's own error, which is a few tenths of a percent at n = 1000


def errors(
    problems: Sequence[Problem], *, rtol: float = RTOL, sizes: Sizes | None = None
) -> Errors:
    """Training and test errors after one gradient step and ridge: columns over problems.

    Problems may differ in anything; each starts from the solution of the one before it, so that
    neighbours that differ little (in step or ridge) gain most.

    Parameters
    ----------
    rtol : relative error allowed to quadrature; nodes are added until it is met.
    sizes : use exactly these numbers of nodes instead.

    Holds for one step on Gaussian inputs with a single-index teacher, then ridge on fresh rows.
    See docs/uniform.md; tests/theory/uniform/test_prediction_matches_reference_simulations.py.
    """
    if not rtol > 0:
        raise InvalidInput(f"rtol must be > 0; got {rtol!r:.60}")
    for problem in problems:
        require_covered(problem)
    starts: Starts = {}
    points: list[Errors] = []
    first = 0
    for problem in problems:
        if sizes is not None:
            points.append(_at(problem, sizes, starts))
        else:
            points.append(_refined(problem, LADDER[first:], rtol, starts))
            first = max(LADDER.index(points[-1].nodes) - 1, 0)
    lines = tuple(dict.fromkeys(line for point in points for line in point.warnings))
    warn(*lines)
    names = [f.name for f in fields(Errors) if f.name not in ("nodes", "warnings")]
    columns = {name: np.array([getattr(point, name) for point in points]) for name in names}
    nodes = np.array([astuple(point.nodes) for point in points])
    return Errors(**columns, nodes=nodes, warnings=lines)


def predict(problem: Problem, *, rtol: float = RTOL, sizes: Sizes | None = None) -> Errors:
    """`errors` of one problem, as numbers."""
    found = errors([problem], rtol=rtol, sizes=sizes)
    numbers = {f.name: getattr(found, f.name)[0] for f in fields(Errors) if f.name != "warnings"}
    return replace(found, **numbers | {"nodes": Sizes(*found.nodes[0].tolist())})


def _refined(problem: Problem, ladder: Sequence[Sizes], rtol: float, starts: Starts) -> Errors:
    """Add nodes until two predictions agree.

    Quadrature converges geometrically, so the error after a change c that followed a change c' is
    about c^2/c'.
    """
    coarse = _at(problem, ladder[0], starts)
    before = 0.0
    for sizes in ladder[1:]:
        fine = _at(problem, sizes, starts)
        change = max(abs(fine.train / coarse.train - 1), abs(fine.test / coarse.test - 1))
        shrinking = max(change / before, 0.1) if before > change else 1.0
        fine = replace(fine, quadrature_error=change * shrinking)
        if fine.quadrature_error <= rtol:
            return fine
        coarse, before = fine, change
    note = f"quadrature error {fine.quadrature_error:.1g} at the largest number of nodes"
    return replace(fine, warnings=(*fine.warnings, note))


def _at(problem: Problem, sizes: Sizes, starts: Starts) -> Errors:
    """The prediction with given nodes, averaged over the constant of the initial output."""
    full = problem.residual == "full" and problem.step > 0
    parts = [
        _given(problem, sizes, starts, constant)
        for constant in (output_constants(problem) if full else (0.0,))
    ]
    if len(parts) == 1:
        return parts[0]
    means = {name: float(np.mean([getattr(x, name) for x in parts])) for name in AVERAGED}
    lines = tuple(dict.fromkeys(line for x in parts for line in x.warnings))
    return replace(parts[0], **means, warnings=lines)


def _given(problem: Problem, sizes: Sizes, starts: Starts, constant: float) -> Errors:
    """The prediction at one constant; leaves its solution as the next start."""
    eq = equations(problem, sizes, constant=constant)
    solution = _solve(eq, problem.ridge, starts.get((sizes, constant)))
    starts[sizes, constant] = solution.state.pi, solution.state.delta
    values = losses(eq, solution)
    return Errors(
        train=values.train,
        test=values.test,
        squared_loss=values.train - values.penalty,
        quadrature_error=float("nan"),
        residual=solution.residual,
        iterations=solution.iterations,
        nodes=sizes,
        warnings=concerns(problem, eq.step, values),
    )


def _solve(eq: Equations, ridge: float, start: tuple[Numbers, Numbers] | None) -> Solution:
    """From the neighbour's solution if there is one and it serves, else from scratch."""
    if start is not None and start[0].shape == eq.p.shape and start[1].shape == eq.weight.shape:
        try:
            return solve(eq, ridge, start)
        except NotConverged:
            pass
    return solve(eq, ridge)
