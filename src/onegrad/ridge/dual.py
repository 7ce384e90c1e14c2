r"""Ridge from a kernel matrix over the rows, for fewer rows than features.

.. math:: \hat f(x) = \sum_i \alpha_i K(x, x_i) + a_0,\qquad \alpha = (K + n\lambda)^{-1}(y - a_0)

with K = F F^T for features F; an intercept centres K and y.
"""

from __future__ import annotations

from collections.abc import Sequence

from onegrad.arrays import Array, ops_of, symmetric
from onegrad.ridge.equations import Fit
from onegrad.ridge.shifted import Spectral, solve_shifted


def solve_dual(
    K: Array, y: Array, ridges: Sequence[float], intercept: bool, leave_one_out: bool = False
) -> Fit:
    """Return the path of penalties for a kernel K (B, n, n) and labels y (B, n).

    K is read in its upper triangle and overwritten.
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
