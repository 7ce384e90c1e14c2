r"""Kernel ridge baselines, in the units of N features: ridge means the same as for the network.

* `ntk`: tangent features of the first layer,
  :math:`K = \tfrac1d XX'^\top \odot S\,\mathrm{diag}(Na_i^2)\,S'^\top` with
  :math:`S=\sigma'(XW_0^\top)`
* `inner-product-kernel`: infinitely many untrained neurons,
  :math:`K = N k(x\cdot x'/d)`, :math:`k(t) = \sum_k k!\,c_k^2 t^k`
* `rbf-kernel`: :math:`K = N\exp(-\|x-x'\|^2/2d)`
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from onegrad.arrays import Array, Floats, namespace, to_numpy
from onegrad.functions.function import Function
from onegrad.networks.network import Network
from onegrad.networks.sampling import RowSet
from onegrad.networks.streams import Purpose
from onegrad.ridge import Fit, solve_dual

SERIES_TERMS = 12  # of k; x . x'/d is small off the diagonal and about one on it


def kernel(name: str, network: Network, X: Array, Y: Array) -> Array:
    """Return the kernel of this name between rows X (B, m, d) and Y (B, n, d), as (B, m, n)."""
    ops, p = network.sampler.ops, network.sampler.problem
    products = ops.product(X, Y)
    if name == "ntk":
        S, T = (ops.product(rows, network.W, p.sigma.derivative) for rows in (X, Y))
        return (products / p.d) * ops.product(S * (p.N * network.a * network.a)[:, None, :], T)
    if name == "rbf-kernel":
        squares = (X * X).sum(-1)[..., None] + (Y * Y).sum(-1)[..., None, :]
        return p.N * namespace(X).exp((products - squares / 2) / p.d)
    t = products / p.d
    total = 0.0 * t
    for term in reversed(_dual_activation(p.sigma)):  # Horner
        total = total * t + term
    return p.N * total


def _dual_activation(sigma: Function) -> list[float]:
    r"""Return the terms of :math:`k(t) = \sum_k k!\,c_k^2t^k`, its tail in one power.

    With the tail, :math:`k(1)=E\sigma^2`. A polynomial with non-negative coefficients, hence
    positive definite for inputs of any length.
    """
    terms = [math.factorial(k) * float(sigma.c[k]) ** 2 for k in range(SERIES_TERMS)]
    return [*terms, max(sigma.second_moment - sum(terms), 0.0)]


def kernel_fit(
    name: str, network: Network, ridges: Sequence[float], n_test: int, leave_one_out: bool
) -> tuple[Fit, Floats]:
    """Fit kernel ridge on the rows of the ridge fit; return it and its risk (B, R) on test rows."""
    sampler, cast = network.sampler, network.sampler.ops.exact.cast
    rows = sampler.all_ridge_rows()
    K = cast(kernel(name, network, rows.X, rows.X))
    fit = solve_dual(K, cast(rows.y), ridges, sampler.problem.intercept, leave_one_out)
    del K
    total = np.zeros((sampler.stack_size, len(ridges)))
    for block in sampler.blocks(RowSet(Purpose.TEST, n_test)):
        f = cast(kernel(name, network, block.X, rows.X)) @ fit.coef
        r = block.clean[..., None] - f - fit.intercept[:, None]
        total += to_numpy((r * r).sum(-2))
    return fit, total / n_test
