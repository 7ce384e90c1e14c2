r"""Errors of a problem at one case of its laws, with given numbers of nodes.

`errors` is what a driver calls: it discretises laws, solves the equations from where another
solution ended, and returns errors with what bars are made of.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from onegrad.exceptions import NotConverged
from onegrad.theory.uniform.discretise import Nodes, Steps, discretise
from onegrad.theory.uniform.fit import Equations, quadratic_problem, special_shares
from onegrad.theory.uniform.laws.table import Laws
from onegrad.theory.uniform.pencil import Parameter
from onegrad.theory.uniform.response import ROUGH_RESPONSE_TOLERANCES, Response, respond
from onegrad.theory.uniform.solver import ROUGH_TOLERANCES, TOLERANCES, Packing, Solution, solve

TEST, RIDGE = Parameter(test=1.0), Parameter(ridge=1.0)
MAX_GAP = 1.01  # one up to rounding: a branch with a training error of 1e-16 had 1e13
# ratio of errors of draws: where types have other nodes from draw to draw, a start led to training
# errors of .08 and 0 for .31 and .46
MAX_RATIO_TO_START = 3.0
PENALTY_STEP = 10.0  # between penalties, where a smaller one is solved from a larger one


@dataclass(frozen=True)
class Evaluation:
    """Errors at one case with given nodes."""

    train: float  # ridge objective, penalty included
    test: float
    penalty: float
    gap: float  # direct over total response to the penalty
    reaction: float  # of the shares: the test error over the one without it
    solution: Solution  # to start others from
    response: Response
    leading_order: bool  # without shares
    steps: Steps
    variables: int  # of the fit

    @property
    def squared_loss(self) -> float:
        """Training loss without the penalty.

        The two are known to relative order 1/d: near interpolation that may be more than their
        difference.
        """
        return max(self.train - self.penalty, 0.0)


def errors(
    laws: Laws,
    nodes: Nodes | None = None,
    starts: Sequence[Evaluation] = (),
    rough: bool = False,
    like: Steps | None = None,
) -> Evaluation:
    """Return the errors at one case of a problem's laws.

    Near interpolation, where shares of order 1/n grow beyond any size, they are left out.

    starts : evaluations of similar equations, of which the last with as many types serves.
    rough : errors are good to a part in a thousand; the responses to the penalty, and of the
        shares, are those of the start, if there is one.
    like : steps that are much alike, of which the kinds of types are taken.
    """
    eq = discretise(laws, nodes or Nodes(), like)
    length = Packing.of(eq.pencil).length
    start = next((x for x in reversed(starts) if len(x.solution.x) == length), None)
    if rough and starts and starts[-1].leading_order:  # draws are compared with one another
        return _errors(replace(eq, leading_order=True), start, rough)
    try:
        evaluation = _errors(eq, start, rough)
        if rough and start is not None and _is_far(evaluation, start):
            return _errors(eq, None, rough=False)
        return evaluation
    except NotConverged:
        return _errors(replace(eq, leading_order=True), start, rough=False)


def _is_far(evaluation: Evaluation, start: Evaluation) -> bool:
    """Return whether an error is so far from that of its start that it may be of another branch."""
    ratios = [evaluation.train / start.train, evaluation.test / start.test]
    return max(ratios) > MAX_RATIO_TO_START or min(ratios) < 1 / MAX_RATIO_TO_START


def _errors(eq: Equations, start: Evaluation | None, rough: bool) -> Evaluation:
    if rough and start is not None:
        solution = solve_equations(eq, start.solution, ROUGH_TOLERANCES)
        packing, before = solution.packing, start.solution.packing
        changes = packing.pack(*before.unpack(start.response.changes[0]))[None]
        response = respond(eq, solution, [TEST], changes, ROUGH_RESPONSE_TOLERANCES)
    else:
        solution = solve_equations(eq, None if start is None else start.solution)
        response = respond(eq, solution, [TEST, RIDGE])
    test = response.slopes[0]
    reaction = test / response.slopes_at_shares[0]
    if len(response.slopes) > 1:
        # d delta/d lambda is one without the reaction of the rest; types count as ridge uses them:
        # those of very large readouts may react a million times more
        a, growth = solution.state.a, -response.log_a[1] * solution.state.delta
        gap = float(a.sum() / (a @ growth))
        if not 0 < gap < MAX_GAP:
            raise NotConverged("uniform theory: a response to the penalty that no solution has")
        penalty = eq.pencil.ridge * response.slopes[1]
    else:
        assert start is not None
        gap, penalty = start.gap, start.penalty / start.train * response.objective
        reaction = start.reaction
        test *= reaction
    if min(response.objective, test) <= 0:
        raise NotConverged("uniform theory: an error that is not positive")
    return Evaluation(
        train=response.objective,
        test=test,
        penalty=penalty,
        gap=gap,
        reaction=reaction,
        solution=solution,
        response=response,
        leading_order=eq.leading_order,
        steps=eq.steps,
        variables=eq.places.count,
    )


def solve_equations(
    eq: Equations, start: Solution | None = None, tolerances: tuple[float, ...] = TOLERANCES
) -> Solution:
    """Return the fixed point of the equations: from larger penalties where it is far."""
    energy = eq.step.laws.neurons.activation.second_moment

    def solution(ridge: float, start: Solution | None) -> Solution:
        try:
            return solve(
                replace(eq.pencil, ridge=ridge),
                lambda state: special_shares(eq, state, quadratic_problem(eq, state)),
                energy,
                start,
                tolerances,
            )
        except np.linalg.LinAlgError as reason:
            raise NotConverged("uniform theory: its equations are singular") from reason

    ridge = eq.pencil.ridge
    try:
        return solution(ridge, start)
    except NotConverged:
        larger = int(np.ceil(np.log(energy / ridge) / np.log(PENALTY_STEP)))
        if larger < 1:
            raise
    solutions = [solution(ridge * PENALTY_STEP**larger, None)]
    for k in range(larger - 1, -1, -1):
        before, last = solutions[max(len(solutions) - 2, 0)], solutions[-1]
        further = replace(last, x=2 * last.x - before.x)
        solutions.append(solution(ridge * PENALTY_STEP**k, further))
    return solutions[-1]
