r"""A fitted network as one value: first layer, moments, and all that follows from them.

The second layer is a function of the moments alone, so that adding, merging or removing rows is
adding or subtracting moments and solving again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from onegrad.arrays import Floats
from onegrad.data.encoding import Encoding
from onegrad.errors import InvalidInput
from onegrad.estimators.lesson import Rows
from onegrad.estimators.targets import Targets
from onegrad.layers.layer import Layer, row_blocks
from onegrad.ridge import Factor, Moments, NormalEquations, Readout


@dataclass(frozen=True)
class Spectrum:
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
class Fitted:
    """The state of an estimator.

    Parameters
    ----------
    layer, targets, encoding : x -> features, y -> targets, table -> x (None for matrices).
    moments : sums over all rows that the readout is fitted on.
    ridge, intercept : the penalty (absolute) and whether there is a free constant.
    metric : (d, d) average gradient outer product of the fitted function, scaled inputs.
    untrained : eigenvalues of the untrained features' covariance, largest first.
    residuals : (m, K) leave-one-out residuals of the held-out rows, scaled targets.
    slope : of the logistic function that turns scores into probabilities.
    choice, trials : what held-out rows chose, and everything that they were asked.
    """

    layer: Layer
    targets: Targets
    encoding: Encoding | None
    moments: Moments
    ridge: float
    intercept: bool
    metric: Floats
    untrained: Floats
    residuals: Floats
    slope: float = 1.0
    choice: dict[str, Any] = field(default_factory=dict)
    trials: tuple[dict[str, Any], ...] = ()

    @cached_property
    def equations(self) -> NormalEquations:
        if self.moments.weight <= 0:
            raise InvalidInput("no rows are left to fit the readout on")
        return NormalEquations.of(self.moments, self.intercept)

    @cached_property
    def readout(self) -> Readout:
        return self.equations.solve(self.ridge)

    @cached_property
    def factor(self) -> Factor:
        """The Cholesky factor of Cov(f) + ridge."""
        return self.equations.factor(self.ridge)

    @cached_property
    def spectrum(self) -> Spectrum:
        return Spectrum(np.maximum(self.equations.eigenvalues(), 0.0), self.untrained)

    def with_moments(self, moments: Moments) -> Fitted:
        """The same first layer with the readout of other rows."""
        return replace(self, moments=moments)

    def predict(self, x: Floats) -> Floats:
        """(n, K) predictions on the scale of the targets."""
        readout = self.readout
        pieces = [self.layer(x[rows]) @ readout.coef for rows in row_blocks(len(x))]
        return np.concatenate(pieces) + readout.intercept

    def variance(self, x: Floats) -> Floats:
        r"""(n, K) posterior variance of a new target, on its scale.

        .. math:: s^2\big(1 + \tfrac1n (f - \bar f)^\top (\mathrm{Cov} f + \lambda)^{-1}
                  (f - \bar f)\big), \qquad s^2 = \min_a \big[\text{loss} + \lambda|a|^2\big]

        Holds for the Gaussian prior a ~ N(0, s^2/(n lambda)) whose posterior mean ridge is.
        """
        noise = np.maximum(
            self.equations.y_square - (self.readout.coef * self.equations.v).sum(0), 0.0
        )
        pieces = [1.0 + self.leverage(self.layer(x[rows])) for rows in row_blocks(len(x))]
        variance: Floats = np.concatenate(pieces)[:, None] * noise
        return variance

    def leverage(self, F: Floats) -> Floats:
        r"""(n,) :math:`\frac1{\sum w}\,(f-\bar f)^\top(\mathrm{Cov} f+\lambda)^{-1}(f-\bar f)`."""
        return self.equations.leverage(F, self.factor)

    def left_out(self, held: Rows) -> Floats:
        """(m, K) residual of each row if the readout were fitted without it: e / (1 - h)."""
        pieces = [np.empty((0, held.t.shape[1]))]
        for rows in held.blocks() if len(held) else ():
            F = self.layer.of_scaled(rows.z)
            h = rows.w * (self.leverage(F) + self.intercept / self.moments.weight)
            e = rows.t - F @ self.readout.coef - self.readout.intercept
            pieces.append(e / np.maximum(1.0 - h, 1e-3)[:, None])
        return np.concatenate(pieces)


def summary(trials: list[Any]) -> Iterator[dict[str, Any]]:
    """What each trial tried and how held-out rows judged it."""
    for trial in trials:
        yield {**trial.label, "ridge": trial.ridge, "score": trial.score}
