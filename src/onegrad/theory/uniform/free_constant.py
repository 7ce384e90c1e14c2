r"""A constant that ridge fits without a penalty.

It is one more neuron, of constant output, whose penalty goes to zero: in the space of functions of
the index :math:`\Xi \to \Xi + \tau ee^\top`, e the constant function, :math:`\tau\to\infty`. With
:math:`R = (\mathcal P^{-1} + \Xi)^{-1}`,

.. math::
    R \to R - \frac{Re\,e^\top R}{e^\top Re}, \qquad
    R\,Y \to R\,(Y - ce), \quad c = \frac{e^\top RY}{e^\top Re}

c is the constant that is fitted. Nothing depends on the means of the features any more, since the
new R does not see e. The minimum over c is stationary: its response to the weights of the samples
is that at fixed c.
"""

from __future__ import annotations

import numpy as np

from onegrad.theory.uniform.gauss_nodes import Numbers


def without_constant(X: Numbers, W: Numbers, e: Numbers) -> tuple[Numbers, Numbers]:
    r"""Return X and Y of `Resolvents` with the constant, of coordinates e, taken out.

    :math:`L = \Pi^{-1}R` becomes :math:`L - Le\,e^\top\Pi L/e^\top\Pi Le`.
    """
    column = e - X @ (W @ e)  # L e; X and W are symmetric
    X = X + np.outer(column, column) / (e @ W @ column)
    return X, np.eye(len(e)) - X @ W


def fitted_constant(fit: Numbers, fit_of_constant: Numbers, K: int) -> Numbers:
    """Return c from R Y and R e; the constant function is one on the first K nodes."""
    return np.asarray(fit[:K].sum() / fit_of_constant[:K].sum())
