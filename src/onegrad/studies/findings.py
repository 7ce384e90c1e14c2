"""Values that a finding is made of: estimates, optima, paired differences, trends, selections.

An optimum carries its grid, a selection what it was selected from, a largest value of how many it
is. What decides a headline has an `interval`: the values that three standard errors leave, by
Student's t where networks are few.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.special import ndtr, ndtri

from onegrad.arrays import Floats, standard_error, student_score
from onegrad.exceptions import InvalidInput
from onegrad.experiments.checks import MAX_SCORE
from onegrad.experiments.results import Point, Points
from onegrad.pictures import Curve

Facts = Mapping[str, Any]  # numbers, texts, truth values, lists of these and of tables of them


class Estimate(NamedTuple):
    """A mean with its standard error, which `format` writes together.

    freedom : degrees of freedom of the standard error: networks less one.

    >>> f"{Estimate(0.25, 0.031):+.2f}"
    '+0.25 ± 0.03'
    """

    mean: float
    se: float
    freedom: float = math.inf

    @classmethod
    def of(cls, values: Floats) -> Self:
        """Return the mean of values and its standard error."""
        return cls(float(np.mean(values)), float(standard_error(values)), len(values) - 1)

    @classmethod
    def along(cls, curve: Curve) -> list[Self]:
        """Return the values of a curve, in order."""
        freedom = np.broadcast_to(curve.freedom, curve.y.shape)
        triples = np.stack([curve.y, curve.se, freedom], 1).tolist()
        return [cls(*triple) for triple in triples]

    @property
    def z(self) -> float:
        """The mean in standard errors."""
        return self.mean / self.se if self.se else math.copysign(math.inf, self.mean)

    @property
    def interval(self) -> tuple[float, float]:
        """The values within three standard errors, or more by Student's t for few networks."""
        half_width = student_score(MAX_SCORE, self.freedom) * self.se
        return self.mean - half_width, self.mean + half_width

    def shifted(self, by: float) -> "Estimate":
        """Return the estimate of the quantity plus a known number."""
        return Estimate(self.mean + by, self.se, self.freedom)

    def __format__(self, spec: str) -> str:
        return f"{self.mean:{spec}} ± {self.se:{spec.removeprefix('+')}}"


@dataclass(frozen=True)
class Extreme:
    """The largest or the smallest of several noisy values, written as `0.12 (of 5: 0.08 to 0.16)`.

    interval : of the largest true value. It is as unlikely to miss as that of a single value,
        because each of the values gets the part 1/count of that risk.
    """

    mean: float
    interval: tuple[float, float]
    count: int

    def __format__(self, spec: str) -> str:
        low, high = self.interval
        return f"{self.mean:{spec}} (of {self.count}: {low:{spec}} to {high:{spec}})"


def largest(values: Sequence[Estimate]) -> Extreme:
    """Return the largest of several estimates.

    >>> f"{largest([Estimate(0.1, 0.01), Estimate(0.12, 0.01)]):.2f}"
    '0.12 (of 2: 0.09 to 0.15)'
    """
    # Bonferroni: the largest of k noisy means is too large by the luck of the luckiest
    score = -ndtri(ndtr(-MAX_SCORE) / len(values))
    means, errors, freedom = np.array(values).T
    half_widths = student_score(score, freedom) * errors
    low, high = (float(np.max(means + sign * half_widths)) for sign in (-1, 1))
    return Extreme(float(means.max()), (low, high), len(values))


def smallest(values: Sequence[Estimate]) -> Extreme:
    """Return the smallest of several estimates."""
    opposite = largest([v._replace(mean=-v.mean) for v in values])
    low, high = opposite.interval
    return Extreme(-opposite.mean, (-high, -low), opposite.count)


def largest_deviation(values: Sequence[Estimate]) -> Extreme:
    """Return the largest absolute value of several estimates."""
    extreme = largest([v._replace(mean=sign * v.mean) for v in values for sign in (-1, 1)])
    low, high = extreme.interval
    return Extreme(extreme.mean, (max(low, 0.0), high), len(values))


def paired_difference(a: Floats, b: Floats) -> Estimate:
    """Return the mean of a - b over common seeds, with its standard error.

    >>> f"{paired_difference(np.array([1.0, 2.0, 4.0]), np.array([0.5, 1.4, 3.6])):.2f}"
    '0.50 ± 0.06'
    """
    a, b = _common_seeds(a, b)
    return Estimate.of(a - b)


def paired_ratio(a: Floats, b: Floats) -> Estimate:
    """Return mean(a)/mean(b) over common seeds, with its standard error to first order."""
    a, b = _common_seeds(a, b)
    ratio = float(np.mean(a) / np.mean(b))
    return Estimate.of((a - ratio * b) / np.mean(b))._replace(mean=ratio)


def paired_change(a: Floats, b: Floats) -> Estimate:
    """Return mean(a)/mean(b) - 1 over common seeds, with its standard error to first order."""
    return paired_ratio(a, b).shifted(-1)


def unpaired_difference(a: Estimate, b: Estimate) -> Estimate:
    """Return a - b of independent estimates, with Welch's degrees of freedom."""
    freedom = welch_freedom([a.se**2, b.se**2], [a.freedom, b.freedom])
    return Estimate(a.mean - b.mean, math.hypot(a.se, b.se), freedom)


def mean_of(values: Sequence[Estimate]) -> Estimate:
    """Return the mean of independent estimates, with Welch's degrees of freedom."""
    means, errors, freedom = np.array(values).T
    se = float(np.sum(errors**2) ** 0.5) / len(values)
    return Estimate(float(means.mean()), se, welch_freedom(errors**2, freedom))


def welch_freedom(variances: Any, freedoms: Any) -> float:
    r"""Return the degrees of freedom of a sum of independent estimates (Satterthwaite 1946).

    .. math:: \Big(\sum_i v_i\Big)^2 \Big/ \sum_i v_i^2/f_i
    """
    variances = np.asarray(variances, dtype=float)
    parts = float(np.sum(variances**2 / np.asarray(freedoms, dtype=float)))
    return float(np.sum(variances) ** 2 / parts) if parts else math.inf


def _common_seeds(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    a, b = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    if a.ndim != 1 or a.shape != b.shape:
        problem = f"paired values need the same seeds; got shapes {a.shape} and {b.shape}"
        raise InvalidInput("a, b", problem=problem)
    return a, b


@dataclass(frozen=True)
class BestPoint:
    """The lowest mean over a grid."""

    value: Estimate  # the mean with its standard error
    at: Mapping[str, float]  # the position along each axis of the search
    ends: Mapping[str, tuple[float, float]]  # the first and last value of each axis
    values: Floats = field(default_factory=lambda: np.empty(0))  # by seed; empty for a theory

    @property
    def axes_at_end(self) -> tuple[str, ...]:
        """Axes along which the best value is the first or the last of the grid."""
        return tuple(axis for axis, x in self.at.items() if x in self.ends[axis])

    @property
    def bound(self) -> str:
        """`at most ` where the optimum may lie beyond the grid, otherwise ``."""
        return "at most " if self.axes_at_end else ""


def of_point(point: Point, quantity: str) -> Estimate:
    """Return the mean of a quantity at a point; a theory has no error."""
    values = point.values[quantity]
    return Estimate.of(values) if point.seeded else Estimate(point.mean(quantity), 0.0)


def lowest_point(points: Points, quantity: str, along: Sequence[str]) -> BestPoint:
    """Return the lowest mean of a quantity over points that differ in the fields `along`."""
    best = min(points, key=lambda p: p.mean(quantity))
    levels = {axis: points.levels(axis) for axis in along}
    position = {axis: min(x, key=lambda v: abs(v - best.field(axis))) for axis, x in levels.items()}
    return BestPoint(
        value=of_point(best, quantity),
        at=position,
        ends={axis: (values[0], values[-1]) for axis, values in levels.items()},
        values=best.values[quantity] if best.seeded else np.empty(0),
    )


def trend(sizes: Sequence[float], values: Sequence[Estimate]) -> Estimate:
    """Return the change per doubling of a size, by a weighted least-squares line in log2(size).

    >>> f"{trend([100, 200, 400], [Estimate(m, 0.1) for m in (1.0, 1.5, 2.0)]):+.2f}"
    '+0.50 ± 0.07'
    """
    x, (means, errors, freedom) = np.log2(sizes), np.array(values).T
    if not np.all(errors > 0):  # of a theory, which is exact
        return Estimate(float(np.polyfit(x, means, 1)[0]), 0.0)
    line, covariance = np.polyfit(x, means, 1, w=1 / errors, cov="unscaled")
    # the slope is a sum of the means, each with the weight (x - mean x)/se^2 up to a factor
    parts = ((x - np.average(x, weights=1 / errors**2)) / errors) ** 2
    return Estimate(float(line[0]), float(covariance[0, 0] ** 0.5), welch_freedom(parts, freedom))


def power_law(sizes: Sequence[float], values: Sequence[Estimate]) -> Estimate:
    """Return the exponent p of the weighted least-squares law size^p; NaN if a value is negative.

    >>> f"{power_law([100, 200, 400], [Estimate(m, 0.01 * m) for m in (4.0, 2.0, 1.0)]):.3f}"
    '-1.000 ± 0.010'
    """
    if not all(v.mean > 0 for v in values):
        return Estimate(math.nan, math.nan)
    logs = [Estimate(math.log2(v.mean), v.se / (v.mean * math.log(2)), v.freedom) for v in values]
    return trend(sizes, logs)


@dataclass(frozen=True)
class Selection:
    """The number of items that are quoted, and of how many; written as `3 of 6`."""

    chosen: int
    total: int

    @classmethod
    def of(cls, satisfied: Iterable[Any]) -> Self:
        """Return how many items satisfy a condition."""
        chosen = [bool(item) for item in satisfied]
        return cls(sum(chosen), len(chosen))

    @property
    def interval(self) -> tuple[float, float]:
        """The share that was chosen, which has no error."""
        return self.chosen / self.total, self.chosen / self.total

    def __str__(self) -> str:
        return f"{self.chosen} of {self.total}"
