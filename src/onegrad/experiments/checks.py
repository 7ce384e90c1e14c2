"""Theory against simulation, point by point: the rows of the verification table."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.stats

from onegrad.arrays import Floats, standard_error
from onegrad.experiments.results import Points
from onegrad.problem import Problem

LIMIT = 3.0  # normal scores beyond this are misses
SHARE = 0.95  # of the points must be within the limit


@dataclass(frozen=True)
class Check:
    """One quantity at one point: what a theory says there and what networks did.

    accuracy : the theory's own stated relative accuracy there (0 for an exact statement).
    """

    quantity: str
    where: str
    claim: str
    theory: float
    simulated: float
    se: float
    seeds: int
    accuracy: float

    @property
    def difference(self) -> float:
        return self.simulated - self.theory

    @property
    def z(self) -> float:
        """Difference in standard errors, nothing allowed for: Student's t as a normal score."""
        return normal_score(self.difference / self.se, self.seeds - 1)

    @property
    def z_beyond(self) -> float:
        """The same for the part of the difference beyond the stated accuracy."""
        beyond = max(abs(self.difference) - self.accuracy * abs(self.theory), 0.0)
        return normal_score(math.copysign(beyond, self.difference) / self.se, self.seeds - 1)

    @property
    def holds(self) -> bool:
        return abs(self.z_beyond) <= LIMIT


@dataclass(frozen=True)
class Verdict:
    """How many of some checks hold."""

    points: int
    holding: int
    exact: int  # within the limit with nothing allowed for

    @classmethod
    def of(cls, checks: Iterable[Check]) -> Verdict:
        checks = list(checks)
        exact = sum(abs(c.z) <= LIMIT for c in checks)
        return cls(len(checks), sum(c.holds for c in checks), exact)

    @property
    def passed(self) -> bool:
        return self.holding >= SHARE * self.points

    def __str__(self) -> str:
        if not self.points:
            return "nothing to verify"
        word = "holds" if self.passed else "MISSED"
        within = f"|z| ≤ {LIMIT:g} beyond the theory's stated accuracy"
        return f"{word}: {self.holding} of {self.points} points have {within}"


def normal_score(t: float, freedom: int) -> float:
    """The normal quantile at the same tail probability as Student's t: few seeds count for less."""
    if freedom < 1 or not math.isfinite(t):
        return math.nan
    tail = float(scipy.stats.t.sf(abs(t), freedom))
    return math.copysign(float(scipy.stats.norm.isf(max(tail, 1e-300))), t)


def compare(
    simulated: Points,
    predicted: Points,
    quantities: Sequence[str],
    claim: str = "uniform",
    accuracy: float | None = None,
) -> list[Check]:
    """Checks at every point that a simulation and a theory share, at least two seeds each.

    accuracy : the stated one; None takes that of the uniform theory for the problem.
    """
    theory = {_place(p.problem): p for p in predicted}
    checks = []
    for point in simulated:
        other = theory.get(_place(point.problem))
        if other is None or point.seeds < 2:
            continue
        allowed = uniform_accuracy(point.problem) if accuracy is None else accuracy
        checks += [
            check(q, point.problem, point.values[q], other.mean(q), claim, allowed)
            for q in quantities
        ]
    return checks


def check(
    quantity: str, problem: Problem, values: Floats, theory: float, claim: str, accuracy: float
) -> Check:
    """One check of a value per seed."""
    mean, se = float(np.mean(values)), float(standard_error(values))
    sizes = f"n={problem.n} d={problem.d} N={problem.N}"
    where = f"{sizes} λ={problem.ridge:.3g} η={problem.step:.3g}"
    return Check(quantity, where, claim, theory, mean, se, len(values), accuracy)


def uniform_accuracy(problem: Problem) -> float:
    """Stated accuracy of the uniform theory: 1 % for odd activations, 2 % otherwise.

    See docs/theory.md; measured against simulations with 160 to 1,000 seeds.
    """
    even = abs(problem.sigma.c[2:12:2]).max()
    return 0.01 if even < 1e-9 else 0.02


def outlier_accuracy(problem: Problem) -> float:
    """Of the outlier equation, which is asymptotic: its corrections are of order 1/sqrt(n)."""
    return 1 / math.sqrt(problem.n)


def _place(problem: Problem) -> tuple[object, ...]:
    fields = problem.to_dict()
    del fields["alpha"]
    fields["eta"] = float(f"{problem.step:.9g}")
    fields["ridge"] = float(f"{problem.ridge:.9g}")
    return tuple(fields.values())
