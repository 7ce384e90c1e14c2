"""Training and test error of one problem, or of many that share work."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, fields, replace
from typing import Any

import numpy as np

from onegrad.exceptions import AssumptionWarning, InvalidInput, NotConverged
from onegrad.problem import Problem
from onegrad.theory.direction import output_constants
from onegrad.theory.results import Bars, Errors
from onegrad.theory.uniform.accuracy import accuracy
from onegrad.theory.uniform.equations import Equations, Sizes, equations, resolving
from onegrad.theory.uniform.fixed_point import Numbers, Solution, solve
from onegrad.theory.uniform.losses import losses
from onegrad.theory.uniform.spread import spread
from onegrad.theory.uniform.validity import concerns, require_covered

AVERAGED = ("train", "test", "squared_loss")
RTOL = 1e-3  # below the theory's own error, which is a few tenths of a percent at n = 1000
UNITS = (1.0, 1.5)  # between nodes of the index and of a neuron, in the variable of their grading
COARSER = 4 / 3  # unit of the rule that a prediction is compared with
SHRINKING = 0.25  # of the error by that factor; a tenth and less in nine problems of ten
FINEST = 0.25  # unit
MOST = Sizes(64, 96)
NEAR = 12  # Newton steps from the solution before; three or four when it serves


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
        raise InvalidInput("rtol", rtol, "> 0")
    for problem in problems:
        require_covered(problem)
    walk = Walk()
    points = [
        walk.refined(problem, rtol) if sizes is None else walk.at(problem, sizes)
        for problem in problems
    ]
    warnings = _distinct(points)
    names = [f.name for f in fields(Errors) if f.name not in ("nodes", "warnings")]
    columns: dict[str, Any] = {name: _column(points, name) for name in names}
    nodes = np.array([astuple(point.nodes) for point in points])
    return Errors(**columns, nodes=nodes, warnings=warnings)


def predict(problem: Problem, *, rtol: float = RTOL, sizes: Sizes | None = None) -> Errors:
    """`errors` of one problem, as numbers."""
    found = errors([problem], rtol=rtol, sizes=sizes)
    numbers: dict[str, Any] = {}
    for f in fields(Errors):
        column = getattr(found, f.name)
        if isinstance(column, Bars):
            numbers[f.name] = column.map(lambda v: v[0])
        elif f.name != "warnings":
            numbers[f.name] = column[0]
    return replace(found, **numbers | {"nodes": Sizes(*found.nodes[0].tolist())})


def _column(points: Sequence[Errors], name: str) -> Any:
    values = [getattr(point, name) for point in points]
    if not isinstance(values[0], Bars):
        return np.array(values)
    return Bars(train=np.array([v.train for v in values]), test=np.array([v.test for v in values]))


class Walk:
    """Predictions along a line of problems, each started at the solution before it."""

    def __init__(self) -> None:
        self.before: tuple[Sizes, Numbers, Numbers] | None = None
        self.units = UNITS

    def refined(self, problem: Problem, rtol: float) -> Errors:
        """Nodes as the gradings ask, then more of the index or of a neuron until both agree.

        Quadrature converges geometrically, so the error after a change c that followed a change c'
        is about c^2/c'.
        """
        units = list(self.units)
        fine = self.at(problem, resolving(problem, *units))
        changes, estimates = [0.0, 0.0], [0.0, 0.0]
        for i in range(2):
            coarser = [unit * (COARSER if i == j else 1) for j, unit in enumerate(units)]
            changes[i] = _change(self.at(problem, resolving(problem, *coarser)), fine)
            estimates[i] = SHRINKING * changes[i]
        while sum(estimates) > rtol:
            i = int(np.argmax(estimates))
            units[i] /= COARSER
            sizes = resolving(problem, *units)
            if units[i] < FINEST or sizes.index > MOST.index or sizes.neuron > MOST.neuron:
                percent = f"{100 * sum(estimates):.1g} %"
                text = f"uniform theory: computed to within {percent} (see quadrature_error)"
                note = AssumptionWarning("uniform", "quadrature_error", text)
                fine = replace(fine, warnings=(*fine.warnings, note))
                break
            finer = self.at(problem, sizes)
            change = _change(fine, finer)
            estimates[i] = change * min(max(change / changes[i], 0.1), 1.0) if change else 0.0
            changes[i], fine = change, finer
        self.units = min(units[0] * COARSER, UNITS[0]), min(units[1] * COARSER, UNITS[1])
        error = sum(estimates)
        bars = fine.accuracy.map(lambda v: v + error)
        return replace(fine, quadrature_error=error, accuracy=bars)

    def at(self, problem: Problem, sizes: Sizes) -> Errors:
        """The prediction with given nodes, averaged over the constant of the initial output."""
        full = problem.residual == "full" and problem.step > 0
        constants = output_constants(problem) if full else (0.0,)
        parts = [self.given(problem, sizes, constant) for constant in constants]
        if len(parts) == 1:
            return parts[0]
        means: dict[str, Any] = {
            name: float(np.mean([getattr(x, name) for x in parts])) for name in AVERAGED
        }
        return replace(parts[0], **means, warnings=_distinct(parts))

    def given(self, problem: Problem, sizes: Sizes, constant: float) -> Errors:
        """The prediction at one constant; leaves its solution as the next start."""
        eq = equations(problem, sizes, constant=constant)
        solution = self._solve(eq, problem.ridge, sizes)
        self.before = sizes, solution.state.pi / eq.p, solution.state.delta
        values = losses(eq, solution)
        bars, reason = accuracy(problem, eq.step, values)
        scatter = spread(problem, values)
        return Errors(
            train=values.train,
            test=values.test,
            squared_loss=values.train - values.penalty,
            accuracy=bars,
            spread=scatter,
            quadrature_error=float("nan"),
            residual=solution.residual,
            iterations=solution.iterations,
            nodes=sizes,
            warnings=concerns(problem, bars, reason, scatter.test / values.test),
        )

    def _solve(self, eq: Equations, ridge: float, sizes: Sizes) -> Solution:
        """From the solution before if there is one and it serves, else from scratch."""
        if self.before is not None:
            old, share, delta = self.before
            pi = eq.p * _resampled(share, old.index, sizes.index, 1)
            delta = _resampled(delta, old.neuron, sizes.neuron, 2)
            if pi.shape == eq.p.shape and delta.shape == eq.weight.shape:
                try:
                    return solve(eq, ridge, (pi, delta), limit=NEAR)
                except NotConverged:
                    pass
        return solve(eq, ridge)


def _distinct(points: Sequence[Errors]) -> tuple[AssumptionWarning, ...]:
    """Return the warnings of all points, each text once."""
    return tuple({str(w): w for point in points for w in point.warnings}.values())


def _change(a: Errors, b: Errors) -> float:
    return float(max(abs(a.train / b.train - 1), abs(a.test / b.test - 1)))


def _resampled(values: Numbers, old: int, new: int, inner: int) -> Numbers:
    """Positive values on `old` nodes of a graded rule, in blocks of `inner`, on `new` nodes."""
    if old == new:
        return values
    blocks = np.log(values).reshape(-1, old, inner)
    at = np.linspace(0, old - 1, new)
    low = np.minimum(at.astype(int), old - 2)
    share = (at - low)[:, None]
    mixed = blocks[:, low] * (1 - share) + blocks[:, low + 1] * share
    return np.asarray(np.exp(mixed).ravel())
