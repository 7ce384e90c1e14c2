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
from collections.abc import Callable, Sequence

import numpy as np

from onegrad.arrays import Array, Floats, namespace, to_numpy
from onegrad.functions.function import Function
from onegrad.networks.input_rows import RowSet
from onegrad.networks.network import Network
from onegrad.networks.streams import Purpose
from onegrad.ridge import Fit, solve_dual

Kernel = Callable[[Array, Array], Array]  # (B, m, d), (B, n, d) -> (B, m, n)

SERIES_TERMS = 12  # of k; x . x'/d is small off the diagonal and about one on it


def kernel(name: str, network: Network) -> Kernel:
    """Return the kernel of this name, for a stack of networks."""
    ops, p, d = network.sampler.ops, network.sampler.problem, network.sampler.problem.d
    if name == "ntk":
        scaled = p.N * network.a * network.a

        def tangent(X: Array, Y: Array) -> Array:
            S = ops.product(X, network.W, p.sigma.derivative) * scaled[:, None, :]
            T = ops.product(Y, network.W, p.sigma.derivative)
            return (ops.product(X, Y) / d) * ops.product(S, T)

        return tangent
    if name == "rbf-kernel":

        def rbf(X: Array, Y: Array) -> Array:
            squares = (X * X).sum(-1)[..., None] + (Y * Y).sum(-1)[..., None, :]
            return p.N * namespace(X).exp((ops.product(X, Y) - squares / 2) / d)

        return rbf
    terms = _dual_activation(p.sigma)

    def inner(X: Array, Y: Array) -> Array:
        t = ops.product(X, Y) / d
        total = 0.0 * t
        for term in reversed(terms):  # Horner
            total = total * t + term
        return p.N * total

    return inner


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
    sampler, k = network.sampler, kernel(name, network)
    rows = sampler.all_ridge_rows()
    cast = sampler.ops.exact.cast
    K = cast(k(rows.X, rows.X))
    fit = solve_dual(K, cast(rows.y), ridges, sampler.problem.intercept, leave_one_out)
    del K
    total = np.zeros((sampler.stack_size, len(ridges)))
    for block in sampler.blocks(RowSet(Purpose.TEST, n_test)):
        f = cast(k(block.X, rows.X)) @ fit.coef
        r = block.clean[..., None] - f - fit.intercept[:, None]
        total += to_numpy((r * r).sum(-2))
    return fit, total / n_test
