"""The fits of a path of penalties, and their leave-one-out error."""

from __future__ import annotations

from dataclasses import dataclass, fields

from onegrad.arrays import Array, ops_of
from onegrad.ridge.factor import Spectral


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
