r"""Ridge regression from moments.

.. math:: \min_{a,\,a_0}\ \frac{1}{\sum w}\sum_i w_i\,(y_i - a_0 - a\cdot f_i)^2 + \lambda\,|a|^2

The intercept is not penalised: it leaves with the means. Without it the means are zero.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.linalg

from onegrad.arrays.backend import to_numpy
from onegrad.errors import NotConverged
from onegrad.ridge.moments import Floats, Moments


@dataclass(frozen=True)
class Readout:
    """The minimiser: prediction F @ coef + intercept."""

    ridge: float
    coef: Floats  # (N, K)
    intercept: Floats  # (K,)


@dataclass(frozen=True)
class NormalEquations:
    """G a = v with G = Cov(f), v = Cov(f, y); solved for any ridge."""

    G: Floats  # (N, N)
    v: Floats  # (N, K)
    f_mean: Floats
    y_mean: Floats
    y_square: Floats  # (K,) variance of the targets (second moment without intercept)
    weight: float  # sum of the rows' weights

    @classmethod
    def of(cls, m: Moments, intercept: bool = True) -> NormalEquations:
        f, y = to_numpy(m.F1) / m.weight, to_numpy(m.y1) / m.weight
        if not intercept:
            f, y = np.zeros_like(f), np.zeros_like(y)
        G = to_numpy(m.FtF) / m.weight
        G -= np.outer(f, f)
        v = to_numpy(m.Fty) / m.weight - np.outer(f, y)
        return cls(G, v, f, y, to_numpy(m.yty) / m.weight - y * y, m.weight)

    @cached_property
    def scale(self) -> float:
        """Mean variance of a feature, which relative ridges multiply; one where all is constant."""
        trace = float(np.trace(self.G)) / len(self.G)
        return trace if trace > 1e-300 else 1.0

    def solve(self, ridge: float, factor: Floats | None = None) -> Readout:
        """One ridge, by a Cholesky factor (its own, where it is known)."""
        L = self.factor(ridge) if factor is None else factor
        a = scipy.linalg.cho_solve((L, True), self.v, check_finite=False)
        return Readout(ridge, a, self.y_mean - self.f_mean @ a)

    def factor(self, ridge: float) -> Floats:
        """Lower Cholesky factor of G + ridge."""
        A = self.G.copy()
        A[np.diag_indices_from(A)] += ridge
        try:
            L: Floats = scipy.linalg.cholesky(A, lower=True, overwrite_a=True, check_finite=False)
            return L
        except np.linalg.LinAlgError:
            raise NotConverged(
                f"ridge {ridge:g} is too small for features of mean variance {self.scale:g}: "
                "the normal equations are singular"
            ) from None

    def worth(self, readout: Readout, factor: Floats) -> Floats:
        r"""(N,) what the penalised loss would grow by without a feature.

        .. math:: \sum_k a_{ik}^2 \,/\, [(G + \lambda)^{-1}]_{ii}
        """
        inverse, _ = scipy.linalg.lapack.dtrtri(factor, lower=1)
        diagonal = np.einsum("ij,ij->j", inverse, inverse)  # of L^-T L^-1
        worth: Floats = (readout.coef**2).sum(1) / diagonal
        return worth

    def residual_variance(self, a: Floats) -> Floats:
        """(K,) mean squared residual of coefficients a: Var y - 2 a.v + a.G.a."""
        square = self.y_square - 2 * (a * self.v).sum(0) + (a * (self.G @ a)).sum(0)
        return np.asarray(np.maximum(square, 0.0))

    def leverage(self, F: Floats, factor: Floats) -> Floats:
        r"""(n,) :math:`\frac1{\sum w}\,(f-\bar f)^\top(G+\lambda)^{-1}(f-\bar f)` of features F."""
        half = scipy.linalg.solve_triangular(
            factor, (F - self.f_mean).T, lower=True, overwrite_b=True, check_finite=False
        )
        leverage: Floats = (half * half).sum(0) / self.weight
        return leverage

    def eigenvalues(self) -> Floats:
        """(N,) of G, largest first."""
        values: Floats = scipy.linalg.eigvalsh(self.G, check_finite=False)[::-1]
        return values
