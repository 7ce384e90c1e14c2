"""A fitted network as one value: first layer, second layer, and what the fit was like.

The second layer is a function of the moments alone, so that adding, merging or removing rows is
adding or subtracting moments and solving again.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from onegrad.arrays import Floats
from onegrad.data.encoding import Encoding
from onegrad.data.tally import Tally
from onegrad.estimators.model.targets import Targets
from onegrad.exceptions import InvalidInput
from onegrad.layers.layer import Layer
from onegrad.layers.rows import ScaledRows, row_slices
from onegrad.ridge import Factor, Moments, NormalEquations, Readout


@dataclass(frozen=True)
class FeatureSpectrum:
    """Eigenvalues of the features' covariance, largest first, learned and untrained.

    `spikes` are the learned eigenvalues above the largest untrained one, rounding allowed for.
    """

    learned: Floats
    untrained: Floats

    @property
    def spikes(self) -> Floats:
        edge = (1 + 1e-9) * self.untrained.max(initial=0.0)
        above: Floats = self.learned[self.learned > edge]
        return above


@dataclass(frozen=True)
class SecondLayer:
    """Ridge regression on the features of the rows that the moments are the sums of.

    Parameters
    ----------
    moments : sums over all rows that the readout is fitted on.
    ridge, intercept : the penalty (absolute) and whether there is a free constant.
    """

    moments: Moments
    ridge: float
    intercept: bool

    @cached_property
    def equations(self) -> NormalEquations:
        if self.moments.weight <= 0:
            raise InvalidInput("X", problem="no rows are left to fit the readout on")
        return NormalEquations.of(self.moments, self.intercept)

    @cached_property
    def factor(self) -> Factor:
        """Of Cov(f) + ridge."""
        return self.equations.factor(self.ridge)

    @cached_property
    def readout(self) -> Readout:
        return self.equations.solve(self.ridge, self.factor)

    def variance(self, F: Floats) -> Floats:
        r"""(n, K) posterior variance of a new target with features F.

        .. math:: s^2\big(1 + \tfrac1n (f - \bar f)^\top (\mathrm{Cov} f + \lambda)^{-1}
                  (f - \bar f)\big), \qquad s^2 = \min_a \big[\text{loss} + \lambda|a|^2\big]

        Holds for the Gaussian prior a ~ N(0, s^2/(n lambda)) whose posterior mean ridge is.
        """
        noise = np.maximum(
            self.equations.y_square - (self.readout.coef * self.equations.v).sum(0), 0.0
        )
        variance: Floats = (1.0 + self.equations.leverage(F, self.factor))[:, None] * noise
        return variance

    def left_out(self, F: Floats, rows: ScaledRows) -> Floats:
        """(m, K) residual of each row, of features F, were the readout fitted without it:
        e / (1 - h).
        """
        constant = self.intercept / self.moments.weight
        h = rows.w * (self.equations.leverage(F, self.factor) + constant)
        e = rows.t - F @ self.readout.coef - self.readout.intercept
        left: Floats = e / np.maximum(1.0 - h, 1e-3)[:, None]
        return left


@dataclass(frozen=True)
class Member:
    """One network of a committee: first layer and second.

    The layer is learned from a sample of the rows of the fit, and fixed from then on.
    """

    layer: Layer
    second: SecondLayer

    def predict(self, x: Floats) -> Floats:
        """(n, K) predictions on the scale of the targets."""
        readout = self.second.readout
        pieces = [self.layer(x[rows]) @ readout.coef for rows in row_slices(len(x))]
        return np.concatenate(pieces) + readout.intercept

    def variance(self, x: Floats) -> Floats:
        """(n, K) posterior variance of a new target, on its scale."""
        return np.concatenate(
            [self.second.variance(self.layer(x[rows])) for rows in row_slices(len(x))]
        )

    def left_out(self, rows: ScaledRows) -> Floats:
        """(m, K) residual of each row if the readout were fitted without it."""
        pieces = [np.empty((0, rows.t.shape[1]))]
        for block in rows.blocks() if len(rows) else ():
            pieces.append(self.second.left_out(self.layer.features(block.z), block))
        return np.concatenate(pieces)


@dataclass(frozen=True)
class CommitteeMoments:
    """The moments of the same rows under every member's layer; they add and subtract together."""

    members: tuple[Moments, ...]

    @property
    def rows(self) -> int:
        return self.members[0].rows

    def __add__(self, other: CommitteeMoments) -> CommitteeMoments:
        return CommitteeMoments(tuple(map(operator.add, self.members, other.members)))

    def __sub__(self, other: CommitteeMoments) -> CommitteeMoments:
        return CommitteeMoments(tuple(map(operator.sub, self.members, other.members)))


@dataclass(frozen=True)
class AtFit:
    """What describes the rows of the fit; rows that come or go later leave it as it is.

    Parameters
    ----------
    metric : (d, d) average gradient outer product of the fitted function, scaled inputs.
    untrained : eigenvalues of the untrained features' covariance, largest first.
    residuals : (m, K) leave-one-out residuals of the held-out rows, scaled targets.
    slope : of the logistic function that turns scores into probabilities.
    choice, trials : what held-out rows chose, and everything that they were asked; where there are
        several members, lists of their choices.
    rows : how many the readout was fitted on.
    """

    metric: Floats
    untrained: Floats
    residuals: Floats
    slope: float
    choice: dict[str, Any]
    trials: tuple[dict[str, Any], ...]
    rows: int


@dataclass(frozen=True)
class Changes:
    """How many rows came and went since the fit, or since rows last described the model."""

    added: int = 0
    removed: int = 0

    def __bool__(self) -> bool:
        return bool(self.added or self.removed)

    def __str__(self) -> str:
        return f"{self.added:,} rows were added and {self.removed:,} removed since"


@dataclass(frozen=True)
class Fitted:
    r"""The state of an estimator: a committee of networks, often of one, whose mean it predicts.

    .. math:: f(x) = \frac1M \sum_m a_m\cdot f_m(x)

    Parameters
    ----------
    members : the networks; their readouts are of all rows that are in the model now.
    targets, encoding : y -> targets, table -> x (None for matrices); learned from a sample of the
        rows of the fit, and fixed from then on.
    at_fit : what describes the rows of the fit.
    tally : which rows are in the model, where there are few enough to be kept.
    changes : rows that came and went since the fit.
    """

    members: tuple[Member, ...]
    targets: Targets
    encoding: Encoding | None
    at_fit: AtFit
    tally: Tally | None = None
    changes: Changes = Changes()

    @property
    def layers(self) -> tuple[Layer, ...]:
        return tuple(member.layer for member in self.members)

    @property
    def moments(self) -> CommitteeMoments:
        return CommitteeMoments(tuple(member.second.moments for member in self.members))

    @property
    def width(self) -> int:
        """Number of features of all members."""
        return sum(layer.width for layer in self.layers)

    @property
    def coef(self) -> Floats:
        """(width, K): all members' features times these, plus a constant, are the prediction."""
        coef = np.concatenate([member.second.readout.coef for member in self.members])
        return coef / len(self.members)

    @property
    def importances(self) -> Floats:
        """(d,) diagonal of the metric, scaled to sum to one; zeros where it is zero."""
        diagonal = np.diag(self.at_fit.metric)
        total = diagonal.sum()
        return diagonal / total if total > 0 else np.zeros_like(diagonal)

    @cached_property
    def spectrum(self) -> FeatureSpectrum:
        each = [member.second.equations.eigenvalues() for member in self.members]
        learned = np.maximum(largest_first(each), 0.0)
        return FeatureSpectrum(learned, self.at_fit.untrained)

    def with_moments(self, moments: CommitteeMoments) -> Fitted:
        """The same first layers with the readouts of other rows."""
        pairs = zip(self.members, moments.members, strict=True)
        members = (replace(m, second=replace(m.second, moments=sums)) for m, sums in pairs)
        return replace(self, members=tuple(members))

    def features(self, x: Floats) -> Floats:
        """(n, width) of all members."""
        return np.concatenate([layer(x) for layer in self.layers], 1)

    def predict(self, x: Floats) -> Floats:
        """(n, K) predictions on the scale of the targets."""
        scores = mean([member.predict(x) for member in self.members])
        if not np.isfinite(scores).all():  # inputs are bounded: only a forged layer gets here
            raise InvalidInput(
                "model", problem="its numbers are so large that predictions overflow"
            )
        return scores

    def variance(self, x: Floats) -> Floats:
        """(n, K) variance of a new target, on its scale.

        The members are equally likely posteriors: the mean of their variances, and the variance
        of their means.
        """
        means = [member.predict(x) for member in self.members]
        within = mean([member.variance(x) for member in self.members])
        spread: Floats = within + np.var(means, axis=0)
        return spread


def mean(values: Sequence[Floats]) -> Floats:
    mean: Floats = sum(values[1:], values[0]) / len(values)
    return mean


def largest_first(values: Sequence[Floats]) -> Floats:
    return np.sort(np.concatenate(values))[::-1]
