"""A fitted model as one value: a committee of networks, and what describes the rows of the fit.

A network's readout is a function of its moments alone, so that adding, merging or removing rows is
adding or subtracting moments and solving again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np

from onegrad.arrays import Floats
from onegrad.exceptions import InvalidInput
from onegrad.ridge import Factor, Moments, NormalEquations, Readout
from onegrad.tables.first_layer.layer import Layer
from onegrad.tables.first_layer.scaling import ScaledRows, row_slices
from onegrad.tables.model.targets import Link, Targets
from onegrad.tables.parts.part import Part, RowPart
from onegrad.tables.rows.encoding import Encoding
from onegrad.tables.rows.sample import RowKeys, Tally

MIN_LEFT = 1e-9  # of a row's own influence: what is less is rounding


@dataclass(frozen=True, repr=False)
class FeatureSpectrum:
    """Eigenvalues of the features' covariance, largest first, learned and untrained.

    `spikes` are the learned eigenvalues above the largest untrained one, rounding allowed for.
    """

    learned: Floats
    untrained: Floats

    def __repr__(self) -> str:
        largest = ", ".join(f"{value:.4g}" for value in self.spikes[:5])
        more = f", and {len(self.spikes) - 5} more" if len(self.spikes) > 5 else ""
        edge = self.untrained.max(initial=0.0)
        return (
            f"FeatureSpectrum({len(self.learned)} eigenvalues, {len(self.spikes)} above the "
            f"untrained edge {edge:.4g}: {largest}{more})"
        )

    @property
    def spikes(self) -> Floats:
        edge = (1 + 1e-9) * self.untrained.max(initial=0.0)
        return self.learned[self.learned > edge]


@dataclass(frozen=True)
class LearnedRows:
    """The rows from which everything but the sums over rows was learned: their keys, in order."""

    keys: RowKeys
    chosen: bool  # by `learn_from`: then other rows come and go without a trace


@dataclass(frozen=True)
class StoredReadout:
    """The readout that sums over rows gave, with the rows that these follow from where few."""

    rows: int  # equal ones counted as often as they came
    weight: float
    readout: Readout
    few: ScaledRows | None  # distinct rows; None: the model was saved without its rows


@dataclass(frozen=True)
class Member:
    """One network of a committee: a first layer, and ridge regression on its features."""

    layer: Layer  # learned from a sample of the rows of the fit, and fixed from then on
    sums: Moments | StoredReadout  # over all rows; those of few rows are added up when needed
    ridge: float  # the penalty (absolute)
    intercept: bool  # whether there is a free constant
    share: float = 1.0  # what ridge regression counts in the prediction

    def __getstate__(self) -> dict[str, Any]:
        """Return what a pickle holds: nothing that can be computed again but the readout."""
        # a default fit of 442 rows took 237 MB with its sums and factors
        state = {each.name: getattr(self, each.name) for each in fields(self)}
        return state | {"ridge_readout": self.ridge_readout}

    def without_sums(self, few: ScaledRows | None) -> Member:
        """Return the member with its readout, and with its rows or nothing, in place of sums."""
        sums = StoredReadout(self.sums.rows, self.sums.weight, self.ridge_readout, few)
        return replace(self, sums=sums)

    @cached_property
    def moments(self) -> Moments:
        """The sums over all rows; the same to the last bit as before, for whole weights."""
        if isinstance(self.sums, Moments):
            return self.sums
        if self.sums.few is None:
            problem = 'it was saved with rows="frozen": it predicts, and knows nothing of its rows'
            raise InvalidInput("model", problem=problem)
        return replace(self.layer.scaled_moments(self.sums.few), rows=self.sums.rows)

    @cached_property
    def equations(self) -> NormalEquations:
        if self.moments.weight <= 0:
            raise InvalidInput("X", problem="no rows are left to fit the readout on")
        return NormalEquations.of(self.moments, self.intercept)

    @cached_property
    def factor(self) -> Factor:
        """Cholesky factor of Cov(f) + ridge."""
        return self.equations.factor(self.ridge)

    @cached_property
    def ridge_readout(self) -> Readout:
        """The readout that ridge regression on all rows gives."""
        if isinstance(self.sums, StoredReadout):
            return self.sums.readout
        return self.equations.solve(self.ridge, self.factor)

    @cached_property
    def readout(self) -> Readout:
        """The readout that predicts: that of ridge regression, times its share."""
        return self.ridge_readout.scaled(self.share)

    def predict(self, x: Floats) -> Floats:
        """Return (n, K) predictions on the scale of the targets."""
        readout = self.readout
        blocks = [self.layer(x[rows]) @ readout.coef for rows in row_slices(len(x))]
        return np.concatenate(blocks) + readout.intercept

    def variance(self, x: Floats) -> Floats:
        r"""Return the (n, K) posterior variance of a new target, on its scale.

        .. math:: s^2\big(1 + \tfrac1n (f - \bar f)^\top (\mathrm{Cov} f + \lambda)^{-1}
                  (f - \bar f)\big), \qquad s^2 = \min_a \big[\text{loss} + \lambda|a|^2\big]

        Holds for the Gaussian prior a ~ N(0, s^2/(n lambda)) whose posterior mean ridge is.
        """
        equations = self.equations
        coef = self.ridge_readout.coef
        noise = np.maximum(equations.y_square - (coef * equations.v).sum(0), 0.0)
        blocks = (self.layer(x[rows]) for rows in row_slices(len(x)))
        leverage = np.concatenate([equations.leverage(F, self.factor) for F in blocks])
        return (1.0 + leverage)[:, None] * noise

    def leave_one_out_residuals(self, rows: ScaledRows, left_out: Floats) -> Floats:
        r"""Return the (m, K) residuals of rows of the readout, each left out with a weight v.

        .. math:: r_i = y_i - a\cdot f_i + \frac{g_i}{1 - h_i}\,(y_i - a\cdot\tilde f_i), \qquad
                  h_i = v_i\,\tilde f_i^\top C^{-1}\tilde f_i, \quad
                  g_i = v_i\,f_i^\top C^{-1}\tilde f_i

        with the features as they were summed, rounded to their grid, and as they predict. Nearly
        interpolating readouts tell the two apart.
        """
        ridge, equations = self.ridge_readout, self.equations
        constant = self.intercept / equations.weight
        residuals = [np.empty((0, rows.t.shape[1]))]
        for part in row_slices(len(rows)) if len(rows) else ():
            block, v = rows[part], left_out[part]
            F = self.layer.features(block.z)
            summed = self.layer.on_grid(F)
            whitened = [equations.whiten(f, self.factor) for f in (summed, F)]
            h, g = (v * ((whitened[0] * f).sum(1) / equations.weight + constant) for f in whitened)
            e, e_summed = (block.t - f @ ridge.coef - ridge.intercept for f in (F, summed))
            e += (g / np.maximum(1.0 - h, MIN_LEFT))[:, None] * e_summed
            if self.share != 1:
                e = block.t - self.share * (block.t - e)
            residuals.append(e)
        return np.concatenate(residuals)


@dataclass(frozen=True)
class FitStatistics:
    """Everything that describes the rows of the fit; later ones do not change it."""

    metric: Floats  # (d, d) average gradient outer product of the fitted function, scaled inputs
    column_importances: Floats  # of each column of X, by permuting it; empty without held-out rows
    untrained: Floats  # eigenvalues of the untrained features' covariance, largest first
    residuals: Floats  # (m, K) of held-out rows that were left out, scaled targets
    residual_weights: Floats  # (m,) with which they count
    effective_rows: float  # number of rows of equal weight that say as much
    link: Link  # how scores become probabilities
    choice: dict[str, Any]  # of held-out rows; where there are several members, lists
    trials: tuple[dict[str, Any], ...]  # candidates for the first layer, with held-out scores
    rows: int  # that the readout was fitted on
    predicted: Floats  # (m, K) predictions of the rows of the residuals

    @property
    def importances(self) -> Floats:
        """(d,) diagonal of the metric, scaled to sum to one; zeros where it is zero."""
        diagonal = np.diag(self.metric)
        total = diagonal.sum()
        return diagonal / total if total > 0 else np.zeros_like(diagonal)


@dataclass(frozen=True)
class RowChanges:
    """Numbers of rows that were added and removed since the fit or the last calibration."""

    added: int = 0
    removed: int = 0

    def __bool__(self) -> bool:
        return bool(self.added or self.removed)

    def __str__(self) -> str:
        return f"{self.added:,} rows were added and {self.removed:,} removed since"


@dataclass(frozen=True, repr=False)
class Fitted:
    r"""The state of an estimator: a committee of networks, often of one, whose mean it predicts.

    .. math:: f(x) = \frac1M \sum_m \Big[a_m\cdot f_m(x) + \sum_p c_{mp}\,p_m(x)\Big]

    with further parts p where the held-out rows of a member say that they help. Readouts are fitted
    on all rows that are in the model now; what is learned from a sample of the rows of the fit is
    fixed.
    """

    members: tuple[Member, ...]
    targets: Targets  # y -> targets; fixed
    encoding: Encoding | None  # table -> x, None for matrices; fixed
    statistics: FitStatistics
    tally: Tally | None = None  # which rows are in the model; None where they are too many
    changes: RowChanges = RowChanges()  # rows that came and went since the fit
    parts: tuple[Part, ...] = ()  # of all members, each times its weight and 1/M
    weight_unit: float = 1.0  # in which the weights of rows are
    learned_from: LearnedRows | None = None  # None where it is frozen
    seed: int = 0  # of the keys of rows

    def __repr__(self) -> str:
        return f"Fitted({len(self.members)} networks, {self.rows} rows)"

    def __getstate__(self) -> dict[str, Any]:
        small = self.without_sums()
        return {each.name: getattr(small, each.name) for each in fields(small)}

    @property
    def layers(self) -> tuple[Layer, ...]:
        return tuple(member.layer for member in self.members)

    @property
    def fixed_parts(self) -> tuple[Part, ...]:
        """The parts of the prediction that further rows do not change."""
        return tuple(part for part in self.parts if not isinstance(part, RowPart))

    @property
    def row_parts(self) -> tuple[RowPart, ...]:
        """The parts that rows join and leave."""
        return tuple(part for part in self.parts if isinstance(part, RowPart))

    @property
    def rows(self) -> int:
        """Number of rows that are in the model."""
        return self.members[0].sums.rows

    @property
    def is_frozen(self) -> bool:
        """True if the model was saved without its rows and the sums over them."""
        sums = self.members[0].sums
        return isinstance(sums, StoredReadout) and sums.few is None

    @property
    def moments(self) -> tuple[Moments, ...]:
        """The sums over all rows, of each member."""
        return tuple(member.moments for member in self.members)

    @property
    def width(self) -> int:
        """Number of features of all members."""
        return sum(layer.width for layer in self.layers)

    @property
    def coef(self) -> Floats:
        """(width, K): all members' features times these, plus a constant, are the prediction."""
        coef = np.concatenate([member.readout.coef for member in self.members])
        return coef / len(self.members)

    @cached_property
    def spectrum(self) -> FeatureSpectrum:
        each = [member.equations.eigenvalues() for member in self.members]
        learned = np.maximum(largest_first(each), 0.0)
        return FeatureSpectrum(learned, self.statistics.untrained)

    @property
    def column_importances(self) -> Floats:
        """Importance of each column of X: what held-out rows lose when it is permuted.

        Where none were held out, or no column helps, the sum of the metric's diagonal over the
        inputs that it is encoded as.
        """
        if self.statistics.column_importances.any():
            return self.statistics.column_importances
        importances = self.statistics.importances
        return importances if self.encoding is None else self.encoding.sum_by_column(importances)

    def with_tally(self, tally: Tally | None) -> Fitted:
        """Return the model with a tally, which keeps the rows where they are fewer numbers."""
        if tally is not None and tally.z is not None and tally.t is not None:
            numbers = tally.z.size + tally.t.size
            if numbers >= sum(layer.width**2 for layer in self.layers):
                tally = replace(tally, z=None, t=None)
        return replace(self, tally=tally)

    def without_sums(self) -> Fitted:
        """Return the model with its rows in the place of the sums over them, where it has them."""
        few = few_rows(self.tally, self.targets)
        if few is None:
            return self
        return replace(self, members=tuple(member.without_sums(few) for member in self.members))

    def frozen(self) -> Fitted:
        """Return the model without its sums and its rows: it predicts, and is small."""
        members = tuple(member.without_sums(None) for member in self.members)
        return replace(self, members=members, tally=None, learned_from=None)

    def with_moments(self, moments: Iterable[Moments]) -> Fitted:
        """Return the same first layers with the readouts of other rows."""
        pairs = zip(self.members, moments, strict=True)
        return replace(self, members=tuple(replace(m, sums=sums) for m, sums in pairs))

    def features(self, x: Floats) -> Floats:
        """Return the (n, width) features of all members."""
        return np.concatenate([layer(x) for layer in self.layers], 1)

    def predict(self, x: Floats) -> Floats:
        """Return (n, K) predictions on the scale of the targets."""
        scores = np.mean([member.predict(x) for member in self.members], axis=0)
        if self.parts:
            z = self.layers[0].scaling(x)
            for part in self.parts:
                scores += part(z)
        if not np.isfinite(scores).all():  # inputs are bounded: only a forged layer gets here
            problem = "its numbers are so large that predictions overflow"
            raise InvalidInput("model", problem=problem)
        return scores

    def variance(self, x: Floats) -> Floats:
        """Return the (n, K) variance of a new target, on its scale.

        The members are equally likely posteriors: the mean of their variances, and the variance
        of their means.
        """
        means = [member.predict(x) for member in self.members]
        within = np.mean([member.variance(x) for member in self.members], axis=0)
        return within + np.var(means, axis=0)


def few_rows(tally: Tally | None, targets: Targets) -> ScaledRows | None:
    """Return the rows of a tally that keeps them."""
    if tally is None or tally.z is None or tally.t is None:
        return None
    return ScaledRows(tally.z, tally.t, targets.weighted(tally.t, tally.weights))


def largest_first(values: Sequence[Floats]) -> Floats:
    """Return the numbers of all arrays, sorted, the largest first."""
    return np.sort(np.concatenate(values))[::-1]
