"""A fitted network as one value: first layer, second layer, and what the fit was like.

The second layer is a function of the moments alone, so that adding, merging or removing rows is
adding or subtracting moments and solving again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from onegrad.arrays import Floats
from onegrad.data.encoding import Encoding
from onegrad.errors import InvalidInput
from onegrad.estimators.targets import Targets
from onegrad.layers.layer import Layer
from onegrad.layers.rows import Rows, row_blocks
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
            raise InvalidInput("no rows are left to fit the readout on")
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

    def left_out(self, layer: Layer, rows: Rows) -> Floats:
        """(m, K) residual of each row if the readout were fitted without it: e / (1 - h)."""
        constant = self.intercept / self.moments.weight
        pieces = [np.empty((0, rows.t.shape[1]))]
        for block in rows.blocks() if len(rows) else ():
            F = layer.of_scaled(block.z)
            h = block.w * (self.equations.leverage(F, self.factor) + constant)
            e = block.t - F @ self.readout.coef - self.readout.intercept
            pieces.append(e / np.maximum(1.0 - h, 1e-3)[:, None])
        return np.concatenate(pieces)


@dataclass(frozen=True)
class AtFit:
    """What describes the rows of the fit; rows that come or go later leave it as it is.

    Parameters
    ----------
    metric : (d, d) average gradient outer product of the fitted function, scaled inputs.
    untrained : eigenvalues of the untrained features' covariance, largest first.
    residuals : (m, K) leave-one-out residuals of the held-out rows, scaled targets.
    slope : of the logistic function that turns scores into probabilities.
    choice, trials : what held-out rows chose, and everything that they were asked.
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
class Fitted:
    """The state of an estimator.

    Parameters
    ----------
    layer, targets, encoding : x -> features, y -> targets, table -> x (None for matrices); learned
        from a sample of the rows of the fit, and fixed from then on.
    second : the readout, of all rows that are in the model now.
    at_fit : what describes the rows of the fit.
    """

    layer: Layer
    targets: Targets
    encoding: Encoding | None
    second: SecondLayer
    at_fit: AtFit

    @property
    def moments(self) -> Moments:
        return self.second.moments

    @property
    def readout(self) -> Readout:
        return self.second.readout

    @cached_property
    def spectrum(self) -> FeatureSpectrum:
        learned = np.maximum(self.second.equations.eigenvalues(), 0.0)
        return FeatureSpectrum(learned, self.at_fit.untrained)

    def with_moments(self, moments: Moments) -> Fitted:
        """The same first layer with the readout of other rows."""
        return replace(self, second=replace(self.second, moments=moments))

    def predict(self, x: Floats) -> Floats:
        """(n, K) predictions on the scale of the targets."""
        pieces = [self.layer(x[rows]) @ self.readout.coef for rows in row_blocks(len(x))]
        return np.concatenate(pieces) + self.readout.intercept

    def variance(self, x: Floats) -> Floats:
        """(n, K) posterior variance of a new target, on its scale."""
        return np.concatenate(
            [self.second.variance(self.layer(x[rows])) for rows in row_blocks(len(x))]
        )
