"""Training and test error of one problem, or of many that share work."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from onegrad.errors import AssumptionWarning, InvalidInput, NotConverged
from onegrad.problem import Problem
from onegrad.theory.uniform.equations import Equations, Sizes, equations
from onegrad.theory.uniform.fixed_point import Array, Solution, solve
from onegrad.theory.uniform.losses import losses
from onegrad.theory.uniform.setting import require_covered
from onegrad.theory.uniform.validity import concerns

LADDER = (
    Sizes(8, 8),
    Sizes(12, 14),
    Sizes(14, 24),
    Sizes(20, 36),
    Sizes(28, 56),
    Sizes(40, 80),
)
RTOL = 1e-3  # below the theory's own error, which is a few tenths of a percent at n = 1000


@dataclass(frozen=True)
class Errors:
    """What the theory predicts, and how well the numbers are known.

    train, test : ridge objective at its minimum, with its penalty; squared error, with its noise.
    squared_loss : the ridge objective without its penalty.
    quadrature_error : estimated relative error from the finite number of nodes.
    residual, iterations : last Newton step of the fixed point, and the steps it took.
    sizes : nodes that were used.
    warnings : where the problem leaves the range in which the theory was checked.
    """

    train: float
    test: float
    squared_loss: float
    quadrature_error: float
    residual: float
    iterations: int
    sizes: Sizes
    warnings: tuple[str, ...] = ()


def predict(
    problem: Problem,
    *,
    isotropic: bool = False,
    rtol: float = RTOL,
    sizes: Sizes | None = None,
) -> Errors:
    """Training and test error after one gradient step and ridge.

    Parameters
    ----------
    isotropic : keep the covariance of the bulk weights round (simpler, up to 3 % off for c_2 != 0).
    rtol : relative error allowed to quadrature; nodes are added until it is met.
    sizes : use exactly these numbers of nodes instead.

    Holds for one step on Gaussian inputs with a single-index teacher, then ridge on fresh rows.
    See docs/uniform.md; tests/theory/uniform/test_prediction_matches_reference_simulations.py.
    """
    return predict_curve([problem], isotropic=isotropic, rtol=rtol, sizes=sizes)[0]


def predict_curve(
    problems: Sequence[Problem],
    *,
    isotropic: bool = False,
    rtol: float = RTOL,
    sizes: Sizes | None = None,
) -> list[Errors]:
    """`predict` for several problems: each starts from the solution of the one before it.

    Problems may differ in anything; neighbours that differ little (in step or ridge) gain most.
    """
    if not rtol > 0:
        raise InvalidInput(f"rtol must be > 0; got {rtol!r:.60}")
    for problem in problems:
        require_covered(problem)
    starts: dict[Sizes, tuple[Array, Array]] = {}
    results: list[Errors] = []
    first = 0
    for problem in problems:
        if sizes is not None:
            results.append(_at(problem, sizes, isotropic, starts))
        else:
            results.append(_refined(problem, LADDER[first:], rtol, isotropic, starts))
            first = max(LADDER.index(results[-1].sizes) - 1, 0)
    _warn(message for result in results for message in result.warnings)
    return results


def _refined(
    problem: Problem,
    ladder: Sequence[Sizes],
    rtol: float,
    isotropic: bool,
    starts: dict[Sizes, tuple[Array, Array]],
) -> Errors:
    """Add nodes until two predictions agree.

    Quadrature converges geometrically, so the error after a change c that followed a change c' is
    about c^2/c'.
    """
    coarse = _at(problem, ladder[0], isotropic, starts)
    before = 0.0
    for sizes in ladder[1:]:
        fine = _at(problem, sizes, isotropic, starts)
        change = max(abs(fine.train / coarse.train - 1), abs(fine.test / coarse.test - 1))
        shrinking = max(change / before, 0.1) if before > change else 1.0
        fine = replace(fine, quadrature_error=change * shrinking)
        if fine.quadrature_error <= rtol:
            return fine
        coarse, before = fine, change
    note = f"quadrature error {fine.quadrature_error:.1g} at the largest number of nodes"
    return replace(fine, warnings=(*fine.warnings, note))


def _at(
    problem: Problem, sizes: Sizes, isotropic: bool, starts: dict[Sizes, tuple[Array, Array]]
) -> Errors:
    """The prediction with given nodes; leaves its solution as the next start."""
    eq = equations(problem, sizes, isotropic)
    solution = _solve(eq, problem.ridge, starts.get(sizes))
    starts[sizes] = solution.state.pi, solution.state.delta
    values = losses(eq, solution)
    return Errors(
        train=values.train,
        test=values.test,
        squared_loss=values.train - values.penalty,
        quadrature_error=float("nan"),
        residual=solution.residual,
        iterations=solution.iterations,
        sizes=sizes,
        warnings=concerns(problem, values),
    )


def _solve(eq: Equations, ridge: float, start: tuple[Array, Array] | None) -> Solution:
    """From the neighbour's solution if there is one and it serves, else from scratch."""
    if start is not None and start[0].shape == eq.p.shape and start[1].shape == eq.weight.shape:
        try:
            return solve(eq, ridge, start)
        except NotConverged:
            pass
    return solve(eq, ridge)


def _warn(messages: Iterable[str]) -> None:
    for message in dict.fromkeys(messages):
        warnings.warn(message, AssumptionWarning, stacklevel=4)
