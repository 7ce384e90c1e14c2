r"""Ridge regression from moments.

.. math:: \min_{a,\,a_0}\ \frac{1}{\sum w}\sum_i w_i\,(y_i - a_0 - a\cdot f_i)^2 + \lambda\,|a|^2

The intercept is not penalised: it leaves with the means. Without it the means are zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np
import scipy.linalg

from onegrad.arrays import Array, Floats, ops_of, symmetric, to_numpy
from onegrad.exceptions import NotConverged
from onegrad.ridge.moments import Moments
from onegrad.ridge.shifted import Factor, Spectral, solve_shifted


@dataclass(frozen=True)
class Readout:
    """The minimiser: the prediction is F @ coef + intercept."""

    ridge: float
    coef: Floats  # (N, K)
    intercept: Floats  # (K,)

    def scaled(self, factor: float) -> Readout:
        """Return the readout whose predictions are multiplied by a factor."""
        return Readout(self.ridge, factor * self.coef, factor * self.intercept)


@dataclass(frozen=True)
class Fit:
    """A stack of B fits, R penalties: the prediction for features f is `f @ coef + intercept`.

    In the dual the features of x are the kernel K(x, x_i) with the m = n rows of the fit.
    """

    coef: Array  # (B, m, R)
    intercept: Array  # (B, R)
    train: Array  # (B, R) the objective at its minimum
    squared_loss: Array  # (B, R) its first term
    leave_one_out: Array | None = None  # (B, R)

    def of_matrices(self, part: slice) -> Fit:
        """Return the fits of some matrices of the stack."""
        arrays = (getattr(self, f.name) for f in fields(self))
        return Fit(*(None if x is None else x[part] for x in arrays))


@dataclass(frozen=True)
class LeaveOneOut:
    r"""The terms of :math:`\sum_i ((y_i - \hat f_i)/(1 - h_i))^2`, for a second pass over the rows.

    :math:`h_i = \frac1n (f_i-\bar f)^\top(\mathrm{Cov} f+\lambda)^{-1}(f_i-\bar f)`, plus 1/n with
    an intercept.
    """

    fit: Fit
    spectral: Spectral  # of Cov f
    f_mean: Array | None  # (B, N); None without an intercept
    rows: int

    def squares(self, F: Array, y: Array) -> Array:
        """Return the sum, (B, R), over rows with features F (B, rows, N) and labels y (B, rows)."""
        exact = ops_of(self.fit.coef)
        F, y = exact.cast(F), exact.cast(y)
        centred = F if self.f_mean is None else F - self.f_mean[:, None]
        h = (self.spectral.forms(centred) + (self.f_mean is not None)) / self.rows
        residual = y[..., None] - F @ self.fit.coef - self.fit.intercept[:, None]
        return ((residual / (1 - h)) ** 2).sum(-2)


@dataclass(frozen=True)
class NormalEquations:
    """G a = v with G = Cov(f), v = Cov(f, y); solved for any ridge. Leading axes are stacks."""

    G: Array  # (N, N)
    v: Array  # (N, K)
    f_mean: Array
    y_mean: Array
    y_square: Array  # (K,) variance of the targets (second moment without intercept)
    rows: int
    weight: float
    intercept: bool

    @classmethod
    def of(cls, m: Moments, intercept: bool = True, overwrite: bool = False) -> NormalEquations:
        """Return the equations of moments; if they may be overwritten, G takes the place of FtF."""
        f, y = intercept * m.F1 / m.weight, intercept * m.y1 / m.weight
        if overwrite:
            G = m.FtF
            G /= m.weight
        else:
            G = m.FtF / m.weight
        if intercept:
            G -= f[..., :, None] * f[..., None, :]
        v = m.Fty / m.weight - f[..., :, None] * y[..., None, :]
        return cls(G, v, f, y, m.yty / m.weight - y * y, m.rows, m.weight, intercept)

    @cached_property
    def scale(self) -> float:
        """Mean variance of a feature, which relative ridges multiply; one if all are constant."""
        trace = float(to_numpy(self.G.diagonal()).sum()) / len(self.G)
        return trace if trace > 1e-300 else 1.0

    # -- one ridge ---------------------------------------------------------------------------

    def factor(self, ridge: float) -> Factor:
        """Return the Cholesky factor of G + ridge."""
        U, definite = ops_of(self.G).shifted_cholesky(self.G, [ridge])
        if not definite[0]:
            raise NotConverged(
                f"ridge {ridge:g} is too small for features of mean variance {self.scale:g}: "
                "the normal equations are singular"
            )
        return Factor(U[0])

    def solve(self, ridge: float, factor: Factor | None = None) -> Readout:
        """Return the minimiser, from the Cholesky factor of G + ridge if that is known already."""
        a = (factor or self.factor(ridge)).solve(self.v)
        return Readout(ridge, to_numpy(a), to_numpy(self.y_mean - self.f_mean @ a))

    def removal_cost(self, readout: Readout, factor: Factor) -> Floats:
        r"""Return, for each feature (N,), how much the penalised loss would grow without it.

        .. math:: \sum_k a_{ik}^2 \,/\, [(G + \lambda)^{-1}]_{ii}
        """
        return (readout.coef**2).sum(1) / to_numpy(factor.inverse_diagonal())

    def leverage(self, F: Floats, factor: Factor) -> Floats:
        r"""Return the leverage of the rows f of F, shape (n,).

        .. math:: \frac1{\sum w}\,(f-\bar f)^\top(G+\lambda)^{-1}(f-\bar f)
        """
        half = self.whiten(F, factor)
        return (half * half).sum(1) / self.weight

    def whiten(self, F: Floats, factor: Factor) -> Floats:
        """Return the centred rows of F in the units of a factor: their squares are leverages."""
        return factor.solve_lower(F - self.f_mean)

    def eigenvalues(self, leading: int | None = None) -> Floats:
        """Return the eigenvalues of G, largest first: all, or the `leading` ones by Lanczos."""
        G = to_numpy(self.G)
        if leading is None or 2 * leading >= len(G):
            return scipy.linalg.eigvalsh(G, check_finite=False)[::-1]
        from scipy.sparse.linalg import eigsh

        start = np.ones(len(G), G.dtype)  # the same result every time
        return np.sort(eigsh(G, leading, v0=start, return_eigenvectors=False))[::-1]

    # -- a path of ridges, one target, matrices in a stack -------------------------------------

    def path(self, ridges: Sequence[float]) -> Fit:
        """Return the fits for a path of penalties; G is overwritten."""
        return self._fit(solve_shifted(self.G, ridges, self.v[..., 0]), ridges)

    def leave_one_out(self, ridges: Sequence[float]) -> LeaveOneOut:
        """Return the fits and what a second pass over the rows needs, by one eigendecomposition."""
        spectral = Spectral.of(self.G, ops_of(self.G).asarray(ridges))
        fit = self._fit(spectral.solve(self.v[..., 0]), ridges)
        return LeaveOneOut(fit, spectral, self.f_mean if self.intercept else None, self.rows)

    def _fit(self, A: Array, ridges: Sequence[float]) -> Fit:
        lams = ops_of(A).asarray(ridges)
        train = self.y_square - (self.v * A).sum(-2)  # Var y - v.a: the objective at its minimum
        intercept = self.y_mean - (self.f_mean[:, None] @ A)[:, 0]
        return Fit(A, intercept, train, train - lams * (A * A).sum(-2))


def solve_dual(
    K: Array, y: Array, ridges: Sequence[float], intercept: bool, leave_one_out: bool = False
) -> Fit:
    r"""Return the path of penalties for a kernel K (B, n, n) over n rows and labels y (B, n).

    .. math:: \hat f(x) = \sum_i \alpha_i K(x, x_i) + a_0,\qquad
        \alpha = (K + n\lambda)^{-1}(y - a_0)

    With K = F F^T it is the fit to features F, and faster where there are fewer rows than features;
    an intercept centres K and y. K is read in its upper triangle and overwritten.
    """
    n, lams, shift = y.shape[-1], ops_of(y).asarray(ridges), 0.0 * y[:, :1]
    means, size = 0.0 * y, 0.0
    if intercept:
        K, means = _centred(K)
        shift = y.mean(-1)[:, None]
        # z is orthogonal to 1, which K now maps to zero; mapping it to size * 1 instead changes no
        # solution and keeps 1 - h below free of cancellation
        size = K.diagonal(0, -2, -1).sum(-1)[:, None, None]
        K += size / n
    z, loo = y - shift, None
    if leave_one_out:  # y_i - f_(-i) = n lam alpha_i / (1 - h_i), 1 - h_i = n lam R_ii
        spectral = Spectral.of(K, n * lams)
        alpha = spectral.solve(z)
        along = intercept / (n * (size + n * lams))  # the part of R_ii in the direction of 1
        loo = ((alpha / (spectral.inverse_diagonal() - along)) ** 2).mean(-2)
    else:
        alpha = solve_shifted(K, [n * lam for lam in ridges], z)
    return Fit(
        alpha,
        shift - (means[:, None, :] @ alpha)[:, 0],
        lams * (z[:, None, :] @ alpha)[:, 0],  # lam y^T (K + n lam)^-1 y
        n * lams**2 * (alpha * alpha).sum(-2),
        loo,
    )


def _centred(K: Array) -> tuple[Array, Array]:
    """Return (I - 11^T/n) K (I - 11^T/n) and the row means of K."""
    full = symmetric(K)
    means = full.mean(-1)
    full -= means[..., None]
    full -= means[..., None, :]
    full += means.mean(-1)[..., None, None]
    return full, means
