"""Verification: sentences by the quantities that decide them, theory by simulation at points."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from onegrad.arrays import Floats, normal_score, standard_error
from onegrad.experiments.results import Points, Results
from onegrad.problem import Problem

# By chance one true point in 370 has a larger score. Points of a curve share seeds, so their misses
# come together: a figure may miss one point in twenty.
MAX_SCORE = 3.0
MIN_HOLDING = 0.95


@dataclass(frozen=True)
class Headline:
    """A sentence, and the quantity that decides it.

    shown : the quantity's value with its error.
    interval : the values within `MAX_SCORE` standard errors, more by Student's t for few networks.
    above, below : the sentence holds where the whole interval is between these.
    """

    sentence: str
    quantity: str
    shown: str
    interval: tuple[float, float]
    above: float = -math.inf
    below: float = math.inf

    @property
    def condition(self) -> str:
        """Where the quantity has to lie, such as `> 0`."""
        if math.isfinite(self.above) and math.isfinite(self.below):
            return f"{self.above:.4g} to {self.below:.4g}"
        return f"> {self.above:.4g}" if math.isfinite(self.above) else f"< {self.below:.4g}"

    @property
    def holds(self) -> bool:
        low, high = self.interval
        return self.above < low <= high < self.below  # False for NaN


@dataclass(frozen=True)
class Check:
    """One quantity at one point, predicted and measured.

    where : the sizes, penalty and step of the point.
    claim : the name of the prediction.
    accuracy : relative accuracy that the prediction states there; 0 if it states none.
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
        """Difference in standard errors, as the normal score of Student's t."""
        return float(normal_score(self.difference / self.se, self.seeds - 1))

    @property
    def z_beyond(self) -> float:
        """Normal score of the part of the difference that exceeds the stated accuracy."""
        beyond = max(abs(self.difference) - self.accuracy * abs(self.theory), 0.0)
        return float(normal_score(math.copysign(beyond, self.difference) / self.se, self.seeds - 1))

    @property
    def holds(self) -> bool:
        return abs(self.z_beyond) <= MAX_SCORE


@dataclass(frozen=True)
class Verdict:
    """Number of checks, of those that hold, and of those that hold without an allowance."""

    points: int
    holding: int
    exact: int

    @classmethod
    def of(cls, checks: Iterable[Check]) -> Self:
        checks = list(checks)
        exact = sum(abs(c.z) <= MAX_SCORE for c in checks)
        return cls(len(checks), sum(c.holds for c in checks), exact)

    @property
    def passed(self) -> bool:
        return self.holding >= MIN_HOLDING * self.points

    def __str__(self) -> str:
        if not self.points:
            return "no point is predicted by theory; nothing to verify"
        word = "holds" if self.passed else "MISSED"
        within = f"|z| ≤ {MAX_SCORE:g} beyond the theory's stated accuracy"
        return f"{word}: {self.holding} of {self.points} points have {within}"


def compare_results(
    simulated: Points,
    predicted: Points,
    quantities: Sequence[str],
    claim: str = "uniform",
    accuracy: float | None = None,
) -> list[Check]:
    """Return a check of each quantity at every point that both have, with at least two seeds.

    accuracy : the relative accuracy of the theory; None for the one that each prediction states.
    """
    predictions = {location(p.problem): p for p in predicted}
    checks = []
    for point in simulated:
        prediction = predictions.get(location(point.problem))
        if prediction is None or point.seeds < 2:
            continue
        for quantity in quantities:
            expected = prediction.mean(quantity)
            stated = prediction.accuracy(quantity) if accuracy is None else accuracy
            values = point.values[quantity]
            checks.append(check(quantity, point.problem, values, expected, claim, stated))
    return checks


def comparison_of(
    pairs: Mapping[str, str], quantities: Sequence[str]
) -> Callable[[Results], list[Check]]:
    """Return the `checks` of a study that compares grids of networks with those of a theory."""
    return lambda results: [
        check
        for networks, theory in pairs.items()
        for check in compare_results(results[networks], results[theory], quantities)
    ]


def check(
    quantity: str, problem: Problem, values: Floats, theory: float, claim: str, accuracy: float
) -> Check:
    """Return the check of the mean of these values, one per seed."""
    mean, se = float(np.mean(values)), float(standard_error(values))
    return Check(quantity, place(problem), claim, theory, mean, se, len(values), accuracy)


def place(problem: Problem) -> str:
    """Return the sizes, penalty and step of a problem as the tables of checks name them."""
    sizes = f"n={problem.n} d={problem.d} N={problem.N}"
    return f"{sizes} λ={problem.ridge:.3g} η={problem.step:.3g}"


def outlier_accuracy(problem: Problem) -> float:
    """Return the order 1/sqrt(n) of what the outlier equation, a limit, leaves out."""
    return 1 / math.sqrt(problem.n)


def location(problem: Problem) -> tuple[object, ...]:
    """Return the fields of a problem, its step and penalty up to rounding, formulas to blanks."""
    fields = problem.to_dict()
    del fields["alpha"]
    # theory and networks may come by the same step as eta and as n^alpha, which round differently
    fields["eta"] = float(f"{problem.step:.9g}")
    fields["ridge"] = float(f"{problem.ridge:.9g}")
    return tuple(v.replace(" ", "") if isinstance(v, str) else v for v in fields.values())
